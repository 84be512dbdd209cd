package decision

import (
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
// taken yet, without what an argument may make large. Whoever follows the log takes
// them from here, where reading them again would cost as much as storing them did.
// It promises nothing: what is not here, the log tells.
type Recent struct {
	mu   sync.Mutex
	runs map[string]run // by log
	kept int
}

// run are decisions of one log that stand in it one behind the other.
type run struct {
	epoch   int64
	records []Record
}

// recentKey finds them among what a database shares.
type recentKey struct{}

// Follow has decisions kept from now on, for one who takes them.
func Follow(db *database.DB) *Recent {
	r := &Recent{runs: map[string]run{}}
	db.Share(recentKey{}, r)
	return r
}

// Take gives the decisions of a log from an index on, as far as they are here one
// behind the other, and forgets those before it. Arguments, their digest and paths are
// left out.
func (r *Recent) Take(orgID string, epoch, from int64, limit int) []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := audit.LogOf(orgID)
	kept := r.runs[log]
	if len(kept.records) == 0 || kept.epoch != epoch || from < kept.records[0].Index {
		return nil
	}
	passed := int(min(from-kept.records[0].Index, int64(len(kept.records))))
	r.kept -= passed
	if kept.records = kept.records[passed:]; len(kept.records) == 0 {
		delete(r.runs, log)
		return nil
	}
	r.runs[log] = kept
	return kept.records[:min(limit, len(kept.records)):min(limit, len(kept.records))]
}

// add keeps decisions of one log that were committed together. A gap before one
// means that others append too, and that those before it are better read.
func (r *Recent) add(epoch int64, records []Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept+len(records) > mostRecent {
		r.runs, r.kept = map[string]run{}, 0 // nobody takes them, or not fast enough
	}
	for _, one := range records {
		log := audit.LogOf(one.OrgID)
		kept := r.runs[log]
		if n := len(kept.records); n > 0 && (kept.epoch != epoch || kept.records[n-1].Index+1 != one.Index) {
			r.kept -= n
			kept.records = nil
		}
		r.runs[log] = run{epoch, append(kept.records, one)}
		r.kept++
	}
}

// committing are the decisions of one log in a transaction.
type committing struct {
	epoch   int64
	records []Record
}

// committingKey finds them among the locals of a transaction.
type committingKey string

// remember keeps the decision once the transaction is committed, if anyone follows.
func remember(tx *database.Tx, by principal.Principal, d *Record, at *audit.Appended) {
	recent, ok := tx.Shared(recentKey{}).(*Recent)
	if !ok {
		return
	}
	c := tx.Local(committingKey(d.OrgID), func() any {
		c := &committing{epoch: at.Epoch()}
		tx.AfterCommit(func() { recent.add(c.epoch, c.records) })
		return c
	}).(*committing)
	kept := *d
	kept.KeyID, kept.Index, kept.At = by.ActorID(), at.Index, database.Time(database.Micros(tx.Now()))
	kept.Arguments, kept.Digest, kept.Paths = nil, nil, nil
	kept.Duration = kept.Duration.Truncate(time.Microsecond)
	c.records = append(c.records, kept)
}
