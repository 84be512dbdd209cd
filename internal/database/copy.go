package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Copy inserts many rows into a table: by COPY on PostgreSQL, by Insert on SQLite. The
// names of table and columns must not come from outside.
func (tx *Tx) Copy(ctx context.Context, table string, columns []string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	if tx.engine == PostgreSQL {
		return tx.copyPostgres(ctx, table, columns, rows)
	}
	if err := tx.Insert(ctx, copyHead(table, columns), rows, ""); err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}

func (tx *Tx) copyPostgres(ctx context.Context, table string, columns []string, rows [][]any) error {
	return tx.reach(func(driverConn any) error {
		conn, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return errors.New("copy: not a PostgreSQL connection")
		}
		_, err := conn.Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		if err != nil {
			return fmt.Errorf("copy into %s: %w", table, err)
		}
		return nil
	})
}

// reach runs do on the driver's connection. When its function panics or returns a bad
// connection, Raw closes it, and waits for the transaction to end, which only our caller
// ends: so Raw gets to know neither.
func (tx *Tx) reach(do func(driverConn any) error) (err error) {
	var panicked any
	unreached := tx.conn.Raw(func(driverConn any) error {
		defer func() {
			if r := recover(); r != nil {
				panicked = fmt.Sprintf("%v\n%s", r, debug.Stack())
			}
		}()
		err = do(driverConn)
		return nil
	})
	switch {
	case panicked != nil:
		panic(panicked)
	case err == nil:
		err = unreached
	}
	return err
}

// begin starts a transaction on a connection of its own, which Copy needs. On SQLite it
// is not rolled back when ctx ends, but by its caller: what goes straight to the
// connection would be outside of any transaction.
func (db *DB) begin(ctx context.Context) (*sql.Conn, *sql.Tx, error) {
	conn, err := db.writes.Conn(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	if db.engine == SQLite {
		ctx = context.WithoutCancel(ctx)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("begin: %w", err)
	}
	return conn, tx, nil
}

// ExecEach runs a statement once for each row of arguments. PostgreSQL gets all of them before it is waited for.
func (tx *Tx) ExecEach(ctx context.Context, query string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	if tx.engine != PostgreSQL {
		for _, args := range rows {
			if _, err := tx.Prepared().Exec(ctx, query, args...); err != nil {
				return err
			}
		}
		return nil
	}
	return tx.reach(func(driverConn any) error {
		conn, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return errors.New("execute: not a PostgreSQL connection")
		}
		batch := &pgx.Batch{}
		for _, args := range rows {
			batch.Queue(query, args...)
		}
		return conn.Conn().SendBatch(ctx, batch).Close()
	})
}
