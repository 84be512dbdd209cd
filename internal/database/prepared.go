package database

import (
	"context"
	"database/sql"
	"errors"
)

// Prepared statements are compiled once and kept with their connection: on SQLite
// compiling a short statement costs more than running it. (pgx does the same for
// PostgreSQL by itself.) Their texts must not vary, and hold one statement each.

// Prepared reads as the database itself does, with prepared statements. On SQLite a step from row to row cannot be
// cancelled: they are for reads that find their rows by a key.
func (db *DB) Prepared() Reader {
	if db.engine == PostgreSQL {
		return db
	}
	return preparedReads{db}
}

type preparedReads struct{ db *DB }

// Query reads rows outside a transaction.
func (p preparedReads) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.db.Query(preparedContext{ctx}, query, args...)
}

// QueryRow reads one row outside a transaction.
func (p preparedReads) QueryRow(ctx context.Context, query string, args ...any) Row {
	return p.db.QueryRow(preparedContext{ctx}, query, args...)
}

// Prepared runs prepared statements within a transaction. On SQLite they cannot be
// cancelled: the driver has a goroutine watch for that, which costs as much as a short
// statement. Time is checked between them, and before the commit. The rows of one must
// be read before it runs again.
type Prepared struct{ tx *Tx }

// Prepared runs statements that many changes run.
func (tx *Tx) Prepared() Prepared { return Prepared{tx} }

// Exec is Tx.Exec with a prepared statement.
func (p Prepared) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if p.tx.engine == PostgreSQL {
		return p.tx.Exec(ctx, query, args...)
	}
	return p.tx.execPrepared(ctx, query, args)
}

// Query is Tx.Query with a prepared statement. Prefer Collect.
func (p Prepared) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.tx.Query(p.uncancelled(ctx), query, args...)
}

// QueryRow is Tx.QueryRow with a prepared statement.
func (p Prepared) QueryRow(ctx context.Context, query string, args ...any) Row {
	return p.tx.QueryRow(p.uncancelled(ctx), query, args...)
}

func (p Prepared) uncancelled(ctx context.Context) context.Context {
	if p.tx.engine == PostgreSQL {
		return ctx
	}
	return preparedContext{context.WithoutCancel(ctx)}
}

// preparedContext tells preparingConn, through database/sql, to prepare the statement.
type preparedContext struct{ context.Context }

// execPrepared runs a statement with the values of some rows. It goes straight to the
// connection: database/sql would look at each value, of which a commit has tens of
// thousands, and copy them twice. Only on SQLite.
func (tx *Tx) execPrepared(ctx context.Context, query string, rows ...[]any) (changed int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if tx.ended {
		return 0, sql.ErrTxDone
	}
	err = tx.reach(func(driverConn any) error {
		conn, ok := driverConn.(*preparingConn)
		if !ok {
			return errors.New("not the connection that writes to SQLite")
		}
		conn.broken = true // unless it returns
		changed, err = conn.exec(ctx, query, rows)
		conn.broken = false
		return err
	})
	return changed, err
}
