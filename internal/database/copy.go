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

// Copy inserts many rows into a table: by COPY on PostgreSQL, by Insert on SQLite.
// Names of table and columns are the caller's own.
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

// copyPostgres reaches through database/sql to the connection the transaction
// runs on.
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

// reach runs do on the driver's connection. Raw closes that connection when its
// function panics or calls it bad, and waits for the transaction to end first, which is
// its caller's to end: it is told neither.
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

// begin starts a transaction on a connection of its own, which Copy needs. On SQLite
// database/sql does not roll it back when ctx ends: what goes straight to the
// connection would then be outside of any transaction. Whoever began it does that.
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
