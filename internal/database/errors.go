package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"writ/internal/fault"
)

// IsUnique reports whether err is the violation of a unique index or key.
func IsUnique(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	return false
}

// isCollision reports whether another transaction was in the way, so that the same
// change may succeed when it runs again.
func isCollision(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "40001" || pg.Code == "40P01" // serialization failure, deadlock
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		code := lite.Code() & 0xff
		return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
	}
	return false
}

// classify turns a driver's error into a fault when the database is away, busy or full.
func classify(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, isFault := errors.AsType[*fault.Error](err); isFault {
		return err
	}
	if isDamaged(err) {
		return unavailable(err, "the file of the database is damaged, or is no database: restore a backup of it")
	}
	if isAway(err) || isCollision(err) {
		return unavailable(err, "the database cannot be reached or written right now")
	}
	return err
}

// isDamaged reports whether SQLite cannot read its file, which no waiting mends.
func isDamaged(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	code := lite.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// isAway reports whether the database cannot be reached, gave up, or cannot write, so
// that nothing is wrong with the statement itself.
func isAway(err error) bool {
	// Whatever a server says while it refuses a connection: it accepts none, the password has changed, the database is
	// being renamed.
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgIsAway(pg.Code)
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
			sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT:
			return true
		}
		return isDamaged(err)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	for _, gone := range []error{
		errMoved, errOutcomeUnknown, driver.ErrBadConn, sql.ErrConnDone, sql.ErrTxDone, io.EOF, io.ErrUnexpectedEOF,
		context.DeadlineExceeded, context.Canceled, net.ErrClosed,
	} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return pgconn.SafeToRetry(err)
}

func pgIsAway(code string) bool {
	switch {
	case strings.HasPrefix(code, "08"), // connection exception
		strings.HasPrefix(code, "53"),  // insufficient resources: disk, memory, connections
		strings.HasPrefix(code, "57P"), // shutdown, crash, cannot connect now
		strings.HasPrefix(code, "58"):  // system error outside PostgreSQL
		return true
	}
	switch code {
	case "57014", // statement timeout
		"55P03", // lock timeout
		"25006": // read-only: a standby
		return true
	}
	return false
}
