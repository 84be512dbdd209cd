package database

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// freshCommit is how long a commit shows that the database can be written, and a failed one that it cannot. Within
	// that time CheckWritable writes nothing, however often it is called.
	freshCommit = 2 * time.Second
	// probeBytes is about what a decision writes.
	probeBytes = 16 << 10
)

// errNotWritten is why a probe is not tried again so soon.
var errNotWritten = errors.New("the last change could not be written")

// commits is what the committer last achieved.
type commits struct {
	made   atomic.Int64 // Unix nanoseconds of the last commit
	failed atomic.Int64 // likewise, of the last change that the database could not write

	mu sync.Mutex // one probe at a time
}

// note remembers the outcome of a transaction. An error of the change itself says nothing about the database.
func (c *commits) note(err error) {
	switch now := time.Now().UnixNano(); {
	case err == nil:
		c.made.Store(now)
	case isAway(err):
		c.failed.Store(now)
	}
}

// isFailing reports whether the last outcome was a failure.
func (c *commits) isFailing() bool { return c.failed.Load() > c.made.Load() }

// IsFailing reports whether the last change could not be written.
func (db *DB) IsFailing() bool { return db.commits.isFailing() }

// CheckWritable checks that a change can be committed. Reads and old commits do not show it: a disk may be full. It
// commits a change of its own, unless a commit has just succeeded or failed. Only the main store has the table for it.
func (db *DB) CheckWritable(ctx context.Context) error {
	db.commits.mu.Lock()
	defer db.commits.mu.Unlock()
	since := time.Now().Add(-freshCommit).UnixNano()
	switch made, failed := db.commits.made.Load(), db.commits.failed.Load(); {
	case failed > made && failed > since:
		return unavailable(errNotWritten, "the database cannot be written")
	case made > since:
		return nil
	}
	return db.Write(ctx, Change{Lane: Urgent, Do: probe})
}

// probe writes as much as a decision does, and also needs room that the file does not have yet.
func probe(ctx context.Context, tx *Tx) error {
	random := make([]byte, probeBytes/2)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	filler := hex.EncodeToString(random)
	const write = `INSERT INTO probe (id, filler) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET filler = excluded.filler`
	for _, id := range []int{1, 2} {
		if _, err := tx.Exec(ctx, write, id, filler); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM probe WHERE id = 2`)
	return err
}
