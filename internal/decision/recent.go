package decision

import (
	"slices"
	"sync"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

// mostRecent is how many decisions are cached. A reader that is further behind reads
// the log.
const mostRecent = 8192

// Recent caches the decisions that this process recorded last, as telemetry shows them:
// without arguments, paths, labels, failures, messages and addresses. Reading them from
// the log would cost as much as storing them did. What is not cached is in the log.
type Recent struct {
	mu   sync.Mutex
	runs map[string]run // by log
	kept int            // decisions in all of them
}

// run is the decisions among consecutive entries of a log, all appended by this process.
type run struct {
	epoch    int64
	from, to int64 // the entries
	records  []Record
}

// NewRecent makes an empty cache, to be the follower of the audit log.
func NewRecent() *Recent { return &Recent{runs: map[string]run{}} }

// Take returns cached decisions of a log, whose head the caller has read, starting at
// an index and without gaps, and drops those before it. If it returns none, the log may
// still have some. It returns none after another process appended to the log, which
// may have erased a payload.
func (r *Recent) Take(head audit.Head, from int64, limit int) []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := head.Log
	kept, ok := r.runs[log]
	if !ok || kept.epoch != head.Epoch || from < kept.from || kept.to < head.Size {
		return nil
	}
	passed := 0
	for passed < len(kept.records) && kept.records[passed].Index < from {
		passed++
	}
	r.kept -= passed
	kept.from, kept.records = from, letGo(kept.records, passed)
	r.runs[log] = kept
	count := min(limit, len(kept.records))
	return kept.records[:count:count]
}

// letGo drops the first records. It copies the rest once most were dropped, because
// they name people and must not stay in memory.
func letGo(records []Record, passed int) []Record {
	switch left := records[passed:]; {
	case len(left) == 0:
		return nil
	case passed >= len(left):
		return slices.Clone(left)
	default:
		return left
	}
}

// Committed adds the decisions among new entries of a log. After a gap, which another
// process left, it starts anew.
func (r *Recent) Committed(log string, epoch, from, to int64, notes []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, ok := r.runs[log]
	if !ok || kept.epoch != epoch || kept.to != from {
		r.kept -= len(kept.records)
		kept = run{epoch: epoch, from: from}
	}
	kept.to = to
	for _, note := range notes {
		if d, ok := note.(*Record); ok {
			kept.records = append(kept.records, *d)
			r.kept++
		}
	}
	r.runs[log] = kept
	r.bound()
}

// Erased drops the decisions of a log, because a payload of it was erased.
func (r *Recent) Erased(log string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept -= len(r.runs[log].records)
	delete(r.runs, log)
}

// bound drops everything if it is not taken fast enough.
func (r *Recent) bound() {
	if r.kept > mostRecent || len(r.runs) > mostRecent {
		r.runs, r.kept = map[string]run{}, 0
	}
}

// shown is a decision as Recent caches it. Its index is not known yet.
func shown(tx *database.Tx, by principal.Principal, d *Record) *Record {
	kept := *d
	kept.KeyID, kept.At = by.ActorID(), database.Time(database.Micros(tx.Now()))
	kept.Arguments, kept.Digest, kept.Paths, kept.Failed, kept.Labels, kept.Message, kept.Email = nil, nil, nil, nil,
		nil, "", ""
	kept.Duration = kept.Duration.Truncate(time.Microsecond)
	return &kept
}
