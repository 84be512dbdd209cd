package database

import (
	"context"
	"database/sql"
	"fmt"
)

// Snapshot reads several times from one state of the database. It keeps old rows alive
// meanwhile, so it is for an operator's commands, not for requests.
func (db *DB) Snapshot(ctx context.Context, do func(ctx context.Context, r Reader) error) error {
	conn, err := db.reads.Conn(ctx)
	if err != nil {
		return classify(fmt.Errorf("connect: %w", err))
	}
	defer conn.Close()
	options := &sql.TxOptions{ReadOnly: true}
	if db.engine == PostgreSQL {
		options.Isolation = sql.LevelRepeatableRead
	}
	tx, err := conn.BeginTx(ctx, options)
	if err != nil {
		return classify(fmt.Errorf("begin: %w", err))
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	if err := db.liftTimeout(ctx, tx); err != nil {
		return classify(err)
	}
	return classify(do(ctx, &Tx{
		engine: db.engine,
		conn:   conn,
		tx:     tx,
		now:    db.Now(),
	}))
}

// Maintain runs one long transaction for an operator's command. This process commits
// nothing else meanwhile.
func (db *DB) Maintain(ctx context.Context, do func(ctx context.Context, tx *Tx) error) error {
	conn, sqlTx, err := db.begin(ctx)
	if err != nil {
		return classify(err)
	}
	defer conn.Close()
	defer sqlTx.Rollback() //nolint:errcheck // after Commit this is a no-op
	if err := db.liftTimeout(ctx, sqlTx); err != nil {
		return classify(err)
	}
	if err := db.checkFiles(); err != nil {
		return err
	}
	tx := &Tx{
		engine:  db.engine,
		conn:    conn,
		tx:      sqlTx,
		now:     db.Now(),
		inserts: newInserts(), // not the committer's
	}
	if err := do(ctx, tx); err != nil {
		return classify(err)
	}
	for _, fn := range tx.beforeCommit {
		if err := fn(ctx); err != nil {
			return classify(err)
		}
	}
	return classify(db.end(sqlTx))
}

// liftTimeout removes the time limit of statements for one transaction.
func (db *DB) liftTimeout(ctx context.Context, tx *sql.Tx) error {
	if db.engine != PostgreSQL {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `SET LOCAL statement_timeout = 0`); err != nil {
		return fmt.Errorf("lift the time limit: %w", err)
	}
	return nil
}
