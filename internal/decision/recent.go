package decision

import (
	"slices"
	"sync"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

// mostRecent is how many decisions are kept for who follows the log. Who is
// further behind reads the log.
const mostRecent = 8192

// Recent are the decisions that this process recorded last and that nobody has
// taken yet, with what telemetry shows of them: no arguments, paths, labels, failures,
// messages and addresses. Whoever follows the log takes them from here, where reading
// them again would cost as much as storing them did. It promises nothing: what is not
// here, the log tells.
type Recent struct {
	mu   sync.Mutex
	runs map[string]run // by log
	kept int            // decisions in all of them
}

// run are the decisions among the entries of a log that this process appended one
// behind the other.
type run struct {
	epoch    int64
	from, to int64 // the entries
	records  []Record
}

// NewRecent makes an empty one, to be the follower of the audit log.
func NewRecent() *Recent { return &Recent{runs: map[string]run{}} }

// Take gives the decisions of a log, whose head the caller has read, from an index
// on, as far as it is known here that there are no others between them, and forgets
// those before it. None says nothing: the log may have some. So it does where others
// appended since, for that may have erased what is remembered here.
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

// letGo is what is left of records without the first ones, which nothing holds on
// to for long: they tell of people.
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

// Committed adds the decisions among new entries of a log. A gap before them means
// that others append too, and that what is before it is better read.
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

// Erased forgets a log: what is left of its decisions is read.
func (r *Recent) Erased(log string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept -= len(r.runs[log].records)
	delete(r.runs, log)
}

// bound forgets everything where nobody takes it, or not fast enough.
func (r *Recent) bound() {
	if r.kept > mostRecent || len(r.runs) > mostRecent {
		r.runs, r.kept = map[string]run{}, 0
	}
}

// shown is a decision as Recent keeps it. Its index is not known yet.
func shown(tx *database.Tx, by principal.Principal, d *Record) *Record {
	kept := *d
	kept.KeyID, kept.At = by.ActorID(), database.Time(database.Micros(tx.Now()))
	kept.Arguments, kept.Digest, kept.Paths, kept.Failed, kept.Labels, kept.Message, kept.Email = nil, nil, nil, nil,
		nil, "", ""
	kept.Duration = kept.Duration.Truncate(time.Microsecond)
	return &kept
}
