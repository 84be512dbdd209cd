package database

import (
	"context"
	"log/slog"
	"sync"
)

const (
	// checkpointRows is how many inserted rows make the checkpointer copy the log into
	// the file. A commit counts as commitRows more: it logs each page it touches whole.
	checkpointRows = 8000
	commitRows     = 20
	// checkpointPages is how long the log may become, in pages of 4 KiB, before the
	// committer copies the rest itself. Under a load that never pauses only that lets
	// the log begin anew. But it waits for the disk meanwhile: at 16,000 pages, a tenth
	// of its time under telemetry. Hence bulkCheckpointPages, 100 MB, which the next
	// start reads after a crash: at 200 MB that took two seconds on a busy machine.
	checkpointPages     = 16000
	bulkCheckpointPages = 24000
	// logKept is how much of the log's file, in bytes, stays when the log begins anew.
	logKept = 64 << 20
)

// emptyLog copies into the file what a crash left in the log, so that a start reads it only once.
func (db *DB) emptyLog(ctx context.Context, logger *slog.Logger) {
	if _, err := db.writes.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		logger.Warn("the log of the database could not be copied into its file", "error", err)
	}
}

// checkpointer copies the log of an SQLite database into its file. The committer would
// spend an eighth of its time on it, and delay that commit by two syncs.
type checkpointer struct {
	rows int           // since the last signal; the committer's
	due  chan struct{} // holds one signal
	done chan struct{} // closed when the goroutine has ended
	once sync.Once     // a database may be closed twice
}

func startCheckpointer(db *DB, logger *slog.Logger) *checkpointer {
	c := &checkpointer{due: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for range c.due {
			// PASSIVE waits for nobody. What it cannot copy stays in the log.
			if _, err := db.reads.ExecContext(context.Background(), `PRAGMA wal_checkpoint(PASSIVE)`); err != nil {
				logger.Warn("the log of the database could not be copied into its file", "error", err)
			}
		}
	}()
	return c
}

// committed notes a commit that inserted so many rows.
func (c *checkpointer) committed(rows int) {
	if c.rows += rows + commitRows; c.rows < checkpointRows {
		return
	}
	c.rows = 0
	select {
	case c.due <- struct{}{}:
	default: // one is due already
	}
}

// stop waits for the goroutine; the committer has ended.
func (c *checkpointer) stop() {
	c.once.Do(func() { close(c.due) })
	<-c.done
}
