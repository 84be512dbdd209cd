package telemetry

import (
	"sync"

	"github.com/google/uuid"
)

// tagBits is the part of a row key that distinguishes writers.
const tagBits = 10

// keys makes the row keys of traces: the microsecond of receipt, then a tag of this writer. They rise with time, so
// that rows are stored in the order of receipt, and no two writers make the same key.
type keys struct {
	tag int64

	mu   sync.Mutex // guards last
	last int64      // microseconds of the newest key
}

func newKeys(writerID int64) *keys { return &keys{tag: writerID & (1<<tagBits - 1)} }

// take reserves n keys at or after a time, and returns the first. The others follow one microsecond apart.
func (k *keys) take(now int64, n int) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := max(now, k.last+1)
	k.last = first + int64(n) - 1
	return first
}

// at is the key of a time that take returned.
func (k *keys) at(micros int64) int64 { return micros<<tagBits | k.tag }

// receivedAt is the time at which a key was made.
func receivedAt(pk int64) int64 { return pk >> tagBits }

// receivedDay is the day of a time: rows are stored and removed by day.
func receivedDay(micros int64) int64 { return floor(micros, dayMicros) }

// uuidBytes is the binary form of a valid UUID.
func uuidBytes(text string) []byte {
	id := uuid.MustParse(text)
	return id[:]
}
