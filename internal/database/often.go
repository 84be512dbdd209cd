package database

import (
	"context"
	"database/sql"
	"sync"
)

// Often reads as the database itself does, with statements that are compiled once
// and kept: on SQLite that costs a read by its key more than the reading. (pgx
// keeps PostgreSQL's itself.) It is for queries whose text is one of few.
func (db *DB) Often() Reader {
	if db.engine == PostgreSQL || db.often == nil {
		return db
	}
	return db.often
}

// often keeps the statements of reads. Unlike the committer's, many goroutines use
// them at once; database/sql compiles each on every connection that needs it.
type often struct {
	db   *DB
	mu   sync.RWMutex
	kept map[string]*sql.Stmt // closed with the handle
}

func newOften(db *DB) *often { return &often{db: db, kept: map[string]*sql.Stmt{}} }

// Query reads rows with a kept statement.
func (o *often) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	statement := o.statement(ctx, query)
	if statement == nil {
		return o.db.Query(ctx, query, args...)
	}
	rows, err := statement.QueryContext(ctx, args...)
	return rows, classify(err)
}

// QueryRow reads one row with a kept statement.
func (o *often) QueryRow(ctx context.Context, query string, args ...any) Row {
	statement := o.statement(ctx, query)
	if statement == nil {
		return o.db.QueryRow(ctx, query, args...)
	}
	return Row{statement.QueryRowContext(ctx, args...)}
}

// statement is the query compiled; nil where it is not kept and cannot be now: then
// it is compiled where it is used, and fails there.
func (o *often) statement(ctx context.Context, query string) *sql.Stmt {
	o.mu.RLock()
	statement, full := o.kept[query], len(o.kept) >= maxKept
	o.mu.RUnlock()
	if statement != nil || full {
		return statement
	}
	// Not under the lock: it waits for a connection.
	compiled, err := o.db.reads.PrepareContext(ctx, positional(query))
	if err != nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if first := o.kept[query]; first != nil || len(o.kept) >= maxKept {
		compiled.Close() // someone else was first
		return first
	}
	o.kept[query] = compiled
	return compiled
}
