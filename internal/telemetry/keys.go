package telemetry

import (
	"sync"

	"github.com/google/uuid"
)

// tagBits is the part of a row key that tells writers apart.
const tagBits = 10

// keys makes the row keys of traces: microseconds of receipt above a tag of this
// writer. They rise with time, so that rows are stored in the order they come,
// and no two writers make the same one.
type keys struct {
	tag int64

	mu   sync.Mutex // guards last
	last int64      // microseconds of the newest key
}

func newKeys(writerID int64) *keys { return &keys{tag: writerID & (1<<tagBits - 1)} }

// take reserves n keys at or after an instant, and gives the first. The others
// follow at distances of one microsecond.
func (k *keys) take(now int64, n int) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := max(now, k.last+1)
	k.last = first + int64(n) - 1
	return first
}

// at is the key of an instant that take gave.
func (k *keys) at(micros int64) int64 { return micros<<tagBits | k.tag }

// receivedAt is the instant a key was made at.
func receivedAt(pk int64) int64 { return pk >> tagBits }

// receivedDay is the day of an instant, by which rows are kept and dropped.
func receivedDay(micros int64) int64 { return floor(micros, dayMicros) }

// uuidBytes is the binary form of a checked UUID.
func uuidBytes(text string) []byte {
	id := uuid.MustParse(text)
	return id[:]
}
