package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Copy inserts many rows into a table: by COPY on PostgreSQL, by one prepared
// statement on SQLite. Names of table and columns are the caller's own.
func (tx *Tx) Copy(ctx context.Context, table string, columns []string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	if tx.engine == PostgreSQL {
		return tx.copyPostgres(ctx, table, columns, rows)
	}
	return tx.copySQLite(ctx, table, columns, rows)
}

const (
	// rowsPerInsert is how many rows one statement inserts on SQLite: with more,
	// the cost of a statement hardly matters any longer.
	rowsPerInsert = 20
	// manyRows are so many that preparing such a statement pays.
	manyRows = 100
)

// copySQLite inserts many rows by statements of rowsPerInsert, what is left one by one.
func (tx *Tx) copySQLite(ctx context.Context, table string, columns []string, rows [][]any) error {
	many := 0
	if len(rows) >= manyRows {
		many = len(rows) / rowsPerInsert * rowsPerInsert
	}
	if err := tx.insertSQLite(ctx, table, columns, rows[:many], rowsPerInsert); err != nil {
		return err
	}
	return tx.insertSQLite(ctx, table, columns, rows[many:], 1)
}

// insertSQLite marks parameters with ?, because SQLite takes $1 for a name and looks
// it up for every value. The driver starts a goroutine for each statement that can
// be cancelled, so ours cannot, and we look in between.
func (tx *Tx) insertSQLite(ctx context.Context, table string, columns []string, rows [][]any, each int) error {
	if len(rows) == 0 {
		return nil
	}
	row := "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
	insert, err := tx.tx.PrepareContext(ctx, fmt.Sprintf(`INSERT INTO %s (%s) VALUES %s%s`,
		table, strings.Join(columns, ", "), row, strings.Repeat(", "+row, each-1)))
	if err != nil {
		return fmt.Errorf("prepare the copy into %s: %w", table, err)
	}
	defer insert.Close()
	uncancelled := context.WithoutCancel(ctx)
	for chunk := range slices.Chunk(rows, each) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("copy into %s: %w", table, err)
		}
		if _, err := insert.ExecContext(uncancelled, slices.Concat(chunk...)...); err != nil {
			return fmt.Errorf("copy into %s: %w", table, err)
		}
	}
	return nil
}

// copyPostgres reaches through database/sql to the connection the transaction
// runs on.
func (tx *Tx) copyPostgres(ctx context.Context, table string, columns []string, rows [][]any) error {
	return tx.conn.Raw(func(driverConn any) error {
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

// begin starts a transaction on a connection of its own, which Copy needs.
func (db *DB) begin(ctx context.Context) (*sql.Conn, *sql.Tx, error) {
	conn, err := db.writes.Conn(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("begin: %w", err)
	}
	return conn, tx, nil
}
