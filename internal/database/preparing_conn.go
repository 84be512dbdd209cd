package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"modernc.org/sqlite"
)

// maxPrepared bounds what a mistake could fill: statements whose text varies.
const maxPrepared = 100

// preparingConn is a connection to SQLite that keeps the statements it has prepared.
type preparingConn struct {
	sqliteConn
	statements map[string]sqliteStatement // closed with the connection
	args       []driver.NamedValue        // of the running statement: one buffer for all
	broken     bool                       // a statement did not return
	files      *sqliteFiles
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

type sqliteStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// preparingConnector opens such connections.
type preparingConnector struct {
	driver.Connector
	files *sqliteFiles
}

// newPreparing makes a connector of database files.
func newPreparing(files *sqliteFiles, dsn string) (driver.Connector, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return preparingConnector{connector, files}, nil
}

// Connect opens a connection.
func (p preparingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	var opened driver.Conn
	err := p.files.opening(func() (err error) {
		opened, err = p.Connector.Connect(ctx)
		return err
	}, func() error { return opened.Close() })
	if err != nil {
		return nil, err
	}
	conn, ok := opened.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the SQLite driver's connection is a %T, which lacks a method", opened),
			p.files.closing(opened.Close))
	}
	return &preparingConn{sqliteConn: conn, statements: map[string]sqliteStatement{}, files: p.files}, nil
}

// IsValid has database/sql drop a connection on which a statement panicked.
func (c *preparingConn) IsValid() bool { return !c.broken && c.sqliteConn.IsValid() }

// Close closes the statements, then the connection.
func (c *preparingConn) Close() error {
	var errs []error
	for _, statement := range c.statements {
		errs = append(errs, statement.Close())
	}
	clear(c.statements)
	return errors.Join(append(errs, c.files.closing(c.sqliteConn.Close))...)
}

// QueryContext reads rows, with a prepared statement where the context says so. The driver has a goroutine watch for
// the end of a context, which costs as much as a short statement: for prepared ones database/sql alone does, between
// rows.
func (c *preparingConn) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	var statement sqliteStatement
	if _, ok := ctx.(preparedContext); ok {
		var err error
		if statement, err = c.prepare(ctx, query); err != nil {
			return nil, err
		}
	}
	if statement == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	return statement.QueryContext(context.WithoutCancel(ctx), args)
}

// exec runs a prepared statement with the values of some rows, and tells how many rows
// it changed.
func (c *preparingConn) exec(ctx context.Context, query string, rows [][]any) (changed int64, err error) {
	args, err := c.gather(rows)
	if err != nil {
		return 0, err
	}
	defer release(args)
	ctx = context.WithoutCancel(ctx)
	statement, err := c.prepare(ctx, query)
	if err != nil {
		return 0, err
	}
	var result driver.Result
	if statement != nil {
		result, err = statement.ExecContext(ctx, args)
	} else {
		result, err = c.ExecContext(ctx, query, args)
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// prepare gives a statement to be kept, or nil where there are too many.
func (c *preparingConn) prepare(ctx context.Context, query string) (sqliteStatement, error) {
	if statement, ok := c.statements[query]; ok {
		return statement, nil
	}
	if len(c.statements) >= maxPrepared {
		return nil, nil
	}
	prepared, err := c.PrepareContext(ctx, positional(query))
	if err != nil {
		return nil, err
	}
	statement, ok := prepared.(sqliteStatement)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the SQLite driver's statement is a %T, which lacks a method", prepared),
			prepared.Close())
	}
	c.statements[query] = statement
	return statement, nil
}

// positional is the query with ? for $1, $2, ... where these come once each and in
// order: SQLite takes $1 for a name, and looks it up for every value.
func positional(query string) string {
	parts := strings.Split(query, "$")
	var text strings.Builder
	text.WriteString(parts[0])
	for i, part := range parts[1:] {
		rest, ok := strings.CutPrefix(part, strconv.Itoa(i+1))
		if !ok || rest != "" && '0' <= rest[0] && rest[0] <= '9' {
			return query
		}
		text.WriteByte('?')
		text.WriteString(rest)
	}
	return text.String()
}

// gather makes the values of some rows the driver's.
func (c *preparingConn) gather(rows [][]any) ([]driver.NamedValue, error) {
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

// release lets go of the values: the buffer would hold on to what was stored last.
func release(args []driver.NamedValue) {
	for i := range args {
		args[i].Value = nil
	}
}
