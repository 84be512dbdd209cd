package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	restEvery = 500 * time.Millisecond // how often it is looked whether the server rests
	// restBytes is less than a server allocates in that time that does anything but its scheduled work.
	restBytes = 2 << 20
	// burstBytes are so many that giving back what they have left is worth a collection.
	burstBytes = 16 << 20
	// restAfter is how long nothing is collected for this reason after it was.
	restAfter = 2 * time.Second
)

// GiveBackMemory gives memory back to the system when the server rests after a burst, until ctx ends. The collector
// lets the heap grow to three times of what is live and would leave it so: a thousand sessions that nobody uses would
// hold the memory that opening them took.
func GiveBackMemory(ctx context.Context) {
	r := rest{allocated: allocated()}
	every(ctx, restEvery, func() {
		if !r.isDue(allocated(), time.Now()) {
			return
		}
		debug.FreeOSMemory()
		r.given(allocated(), time.Now())
	})
}

// rest knows when the server rests.
type rest struct {
	allocated uint64    // bytes, since the process began, when it was last looked
	last      uint64    // the same when memory was last given back
	after     time.Time // before this nothing is given back
}

// isDue reports whether the server rests after a burst.
func (r *rest) isDue(allocated uint64, now time.Time) bool {
	since := allocated - r.allocated
	r.allocated = allocated
	return since < restBytes && allocated-r.last >= burstBytes && !now.Before(r.after)
}

// given notes that memory was given back.
func (r *rest) given(allocated uint64, now time.Time) {
	r.allocated, r.last, r.after = allocated, allocated, now.Add(restAfter)
}

// allocated is how many bytes the process has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
