package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// Change is one unit of writing: whole or absent.
type Change struct {
	// Lane is Ordinary unless an agent waits: for a decision, or for a result that is recorded before it gets it.
	Lane Lane
	// Logs are the audit logs this change appends to. Their locks are held from
	// before Do runs until the end of the transaction.
	Logs []string
	// Do makes the change. It may run more than once and must set its results anew
	// each time. It must use the given context and transaction, do nothing outside
	// the database, and take no more than about ten milliseconds.
	Do func(ctx context.Context, tx *Tx) error
}

// Tx is the transaction of a change, shared with the changes in the same commit.
type Tx struct {
	engine       Engine
	conn         *sql.Conn // the connection of tx
	tx           *sql.Tx
	now          time.Time
	logs         []string // of the change running now
	inserts      *inserts
	inserted     int       // rows, by Insert
	states       []txState // see PerTx
	beforeCommit []func(ctx context.Context) error
	afterCommit  []func()
	ended        bool // what goes straight to the connection is no longer part of it
}

// Engine is for the few statements that differ.
func (tx *Tx) Engine() Engine { return tx.engine }

// Now is the instant of the transaction: every row it writes carries the same.
func (tx *Tx) Now() time.Time { return tx.now }

// Exec runs a statement and returns how many rows it changed.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := tx.tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Query reads rows inside the transaction. Prefer Collect.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.tx.QueryContext(ctx, query, args...)
}

// QueryRow reads one row inside the transaction.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) Row {
	return Row{tx.tx.QueryRowContext(ctx, query, args...)}
}

// HoldsLog reports whether the running change declared this log, so that its
// lock is held.
func (tx *Tx) HoldsLog(name string) bool { return slices.Contains(tx.logs, name) }

// BeforeCommit runs fn after the last change and before the commit. An error
// rolls everything back.
func (tx *Tx) BeforeCommit(fn func(ctx context.Context) error) {
	tx.beforeCommit = append(tx.beforeCommit, fn)
}

// AfterCommit runs fn once the commit is durable, before callers are answered. What
// must not leave the process when the commit fails is released here.
func (tx *Tx) AfterCommit(fn func()) { tx.afterCommit = append(tx.afterCommit, fn) }

// transact runs the changes in one transaction and commits it.
func (db *DB) transact(ctx context.Context, changes []*pending) error {
	conn, sqlTx, err := db.begin(ctx)
	if err != nil {
		return err
	}
	defer db.inserts.release()
	defer conn.Close()     // gives the connection back
	defer sqlTx.Rollback() //nolint:errcheck // after Commit this is a no-op, and a failed rollback drops the connection
	tx := &Tx{
		engine:  db.engine,
		conn:    conn,
		tx:      sqlTx,
		now:     db.Now(),
		inserts: db.inserts,
	}
	if db.engine == PostgreSQL {
		if err := lockLogs(ctx, sqlTx, changes); err != nil {
			return err
		}
	}
	// What is read or written beside the path must not decide anything.
	if err := db.checkFiles(); err != nil {
		return err
	}
	for _, p := range changes {
		tx.logs = p.change.Logs
		if err := p.change.Do(ctx, tx); err != nil {
			return err
		}
	}
	for _, fn := range tx.beforeCommit {
		if err := fn(ctx); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err // not after its callers heard that time ran out
	}
	tx.ended = true
	if err := db.end(sqlTx); err != nil {
		return err
	}
	if c := db.checkpointer.Load(); c != nil {
		c.committed(tx.inserted)
	}
	for _, fn := range tx.afterCommit {
		fn()
	}
	return nil
}

// end commits. What was committed to a file that is gone by then is not acknowledged; if the file is put back, it was
// made all the same.
func (db *DB) end(tx *sql.Tx) error {
	if err := tx.Commit(); err != nil {
		return commitError(err)
	}
	if err := db.checkFiles(); err != nil {
		return fmt.Errorf("commit: %w: %w", errOutcomeUnknown, err)
	}
	return nil
}

// commitError tells a commit that the database refused from one it never answered.
func commitError(err error) error {
	_, byPostgres := errors.AsType[*pgconn.PgError](err)
	_, bySQLite := errors.AsType[*sqlite.Error](err)
	if byPostgres || bySQLite {
		return fmt.Errorf("commit: %w", err)
	}
	return fmt.Errorf("commit: %w: %w", errOutcomeUnknown, err)
}
