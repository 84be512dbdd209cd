package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// writingConn is the connection on which the committer writes to SQLite, with what it
// has compiled there. Statements that only write go straight to the driver:
// database/sql would look at each of their values, of which a commit has tens of
// thousands, and copy them twice. The transaction is database/sql's as ever.
type writingConn struct {
	sqliteConn
	compiled map[string]execStatement // closed with the connection
	args     []driver.NamedValue      // of the running statement: one buffer for all
	broken   bool                     // a statement did not return
}

// sqliteConn is what database/sql uses of the driver's connection.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type execStatement interface {
	driver.Stmt
	driver.StmtExecContext
}

// writingConnector opens such connections.
type writingConnector struct{ driver.Connector }

// openWriting is sql.Open for the one connection that writes.
func openWriting(dsn string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	writes := sql.OpenDB(writingConnector{connector})
	writes.SetMaxOpenConns(1)
	return writes, nil
}

// Connect opens a connection.
func (w writingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := opened.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the SQLite driver's connection is a %T, which lacks a method", opened),
			opened.Close())
	}
	return &writingConn{sqliteConn: conn, compiled: map[string]execStatement{}}, nil
}

// IsValid has a connection dropped on which a statement panicked.
func (c *writingConn) IsValid() bool { return !c.broken && c.sqliteConn.IsValid() }

// Close closes what was compiled, then the connection.
func (c *writingConn) Close() error {
	var errs []error
	for _, statement := range c.compiled {
		errs = append(errs, statement.Close())
	}
	clear(c.compiled)
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

// exec runs a statement whose text is one of few with the values of some rows, and
// tells how many rows it changed. It cannot be cancelled: the driver starts a
// goroutine for each statement that can be.
func (c *writingConn) exec(ctx context.Context, query string, rows ...[]any) (changed int64, err error) {
	statement, kept, err := c.compile(ctx, query)
	if err != nil {
		return 0, err
	}
	if !kept {
		defer func() { err = errors.Join(err, statement.Close()) }()
	}
	args, err := c.gather(rows)
	if err != nil {
		return 0, err
	}
	defer release(args)
	result, err := statement.ExecContext(context.WithoutCancel(ctx), args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// compile gives a statement that is kept, or is the caller's to close.
func (c *writingConn) compile(ctx context.Context, query string) (_ execStatement, kept bool, err error) {
	if statement, ok := c.compiled[query]; ok {
		return statement, true, nil
	}
	prepared, err := c.PrepareContext(ctx, positional(query))
	if err != nil {
		return nil, false, err
	}
	statement, ok := prepared.(execStatement)
	if !ok {
		return nil, false, errors.Join(fmt.Errorf("the SQLite driver's statement is a %T, which lacks a method",
			prepared), prepared.Close())
	}
	if len(c.compiled) >= maxKept {
		return statement, false, nil
	}
	c.compiled[query] = statement
	return statement, true, nil
}

// gather makes the values of some rows the driver's.
func (c *writingConn) gather(rows [][]any) ([]driver.NamedValue, error) {
	n := 0
	for _, row := range rows {
		for _, value := range row {
			switch value.(type) {
			case nil, int64, string, []byte: // as they are
			default:
				converted, err := driver.DefaultParameterConverter.ConvertValue(value)
				if err != nil {
					return nil, fmt.Errorf("parameter %d: %w", n+1, err)
				}
				value = converted
			}
			if n == len(c.args) {
				c.args = append(c.args, driver.NamedValue{Ordinal: n + 1})
			}
			c.args[n].Value = value
			n++
		}
	}
	return c.args[:n], nil
}

// release lets go of the values: they would hold on to what was stored last.
func release(args []driver.NamedValue) {
	for i := range args {
		args[i].Value = nil
	}
}

// execKept runs a statement that is kept. Only on SQLite.
func (tx *Tx) execKept(ctx context.Context, query string, rows ...[]any) (changed int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if tx.ended {
		return 0, sql.ErrTxDone
	}
	err = tx.reach(func(driverConn any) error {
		conn, ok := driverConn.(*writingConn)
		if !ok {
			return errors.New("not the connection that writes to SQLite")
		}
		conn.broken = true
		changed, err = conn.exec(ctx, query, rows...)
		conn.broken = false
		return err
	})
	return changed, err
}
