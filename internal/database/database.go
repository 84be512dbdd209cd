// Package database stores for every area: in SQLite by default, in PostgreSQL when
// DATABASE_URL names one, with one SQL text for both.
//
// Reads go through a Reader at any time. Every change goes through Write, a bounded
// queue with two lanes in front of one committer a process: urgent changes
// (decisions) go first, and changes that wait together share one commit. When a
// change fails, it is rolled back and the others run again alone. Nothing is
// acknowledged before its commit is durable.
//
// A change declares the audit logs it appends to. Their locks are taken first and in
// one order, on every replica, so that appends neither fork a log nor deadlock. Driver
// errors are classified once, here, by code: a database that cannot be reached or
// written right now is a fault.Unavailable.
//
// The SQL uses $1 placeholders, instants as BIGINT microseconds UTC taken from the
// transaction, ids as lower-case UUID text, nothing hashed in a JSON column, no now().
package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"writ/internal/fault"
)

// Engine is the kind of database behind a DB.
type Engine string

// The two engines.
const (
	SQLite     Engine = "sqlite"
	PostgreSQL Engine = "postgres"
)

// Store is a set of tables with a committer of its own.
type Store string

// The stores. Telemetry is separate, so that bulk never delays a decision: its own
// file on SQLite, its own schema on PostgreSQL.
const (
	Main      Store = "main"
	Telemetry Store = "telemetry"
)

// Options say which database to open. PostgresURL wins over SQLitePath.
type Options struct {
	Store       Store // Main unless set
	SQLitePath  string
	PostgresURL string // holds a password: never logged, never in an error
	Now         func() time.Time
	Logger      *slog.Logger
	Alone       bool          // refuse a PostgreSQL that a server uses, and keep servers from it: for a restore
	ChangeLimit time.Duration // of a change, from its queueing to its answer; changeLimit unless set
}

// DB is an open, migrated database.
type DB struct {
	engine Engine
	reads  *sql.DB // SQLite: read-only connections; PostgreSQL: the ordinary pool
	writes *sql.DB // the committer's one connection
	writer *writer
	// What only the committer uses.
	inserts      *inserts
	checkpointer atomic.Pointer[checkpointer] // nil on PostgreSQL

	commits commits // what the committer last achieved
	gate    *gate   // of a database that was down at first; else nil

	path   string                      // of the SQLite file
	files  atomic.Pointer[sqliteFiles] // nil on PostgreSQL, and while the database is down
	schema string                      // on PostgreSQL, where it is not the database's own default
	now    func() time.Time
}

// named is the database's file, for errors. A server's address may hold a password.
func (db *DB) named() string {
	if db.path == "" {
		return ""
	}
	return " " + db.path
}

// Open opens the database, applies the migrations it lacks and starts the
// committer. Close it.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Store == "" {
		o.Store = Main
	}
	db, err := connect(o)
	if err != nil {
		return nil, err
	}
	if err := db.migrate(ctx, embedded(o.Store)); err != nil {
		return nil, errors.Join(fmt.Errorf("migrate the database%s: %w", db.named(), err), db.closeHandles())
	}
	db.inserts = newInserts()
	if db.engine == SQLite {
		db.emptyLog(ctx, o.Logger)
		db.checkpointer.Store(startCheckpointer(db, o.Logger))
	}
	db.writer = startWriter(db, o)
	return db, nil
}

// connect makes the handles of a database, without dialling a server yet.
func connect(o Options) (*DB, error) {
	c, err := connectorsOf(o)
	if err != nil {
		return nil, err
	}
	db := &DB{engine: SQLite, now: o.Now, reads: sql.OpenDB(c.reads), writes: sql.OpenDB(c.writes)}
	if o.PostgresURL != "" {
		db.engine = PostgreSQL
	}
	db.files.Store(c.files)
	db.locate(o)
	db.size()
	return db, nil
}

// connectors open the connections of the two handles.
type connectors struct {
	reads, writes driver.Connector
	files         *sqliteFiles // which they open; nil on PostgreSQL
}

func connectorsOf(o Options) (connectors, error) {
	if o.PostgresURL != "" {
		return postgresConnectors(o)
	}
	return sqliteConnectors(o)
}

// locate notes where the tables are.
func (db *DB) locate(o Options) {
	switch {
	case db.engine == SQLite:
		db.path = absolute(o.SQLitePath)
	case o.Store == Telemetry:
		db.schema = string(Telemetry)
	}
}

// size bounds the connections of the handles.
func (db *DB) size() {
	db.writes.SetMaxOpenConns(1)
	if db.engine == SQLite {
		db.reads.SetMaxOpenConns(sqliteReaders)
		db.reads.SetMaxIdleConns(sqliteReaders)
		return
	}
	db.reads.SetMaxOpenConns(postgresReaders)
	db.reads.SetMaxIdleConns(postgresReaders / 2)
	db.reads.SetConnMaxIdleTime(5 * time.Minute)
}

// Engine is for the few places where it matters.
func (db *DB) Engine() Engine { return db.engine }

// Now is the instant a transaction begun right now would carry.
func (db *DB) Now() time.Time { return instant(db.now()) }

// Close lets queued changes finish, then closes every connection.
func (db *DB) Close() error {
	db.writer.stop()
	if c := db.checkpointer.Load(); c != nil {
		c.stop()
	}
	return db.closeHandles()
}

func (db *DB) closeHandles() error { return errors.Join(db.reads.Close(), db.writes.Close()) }

// Ping checks that the database answers a read and has a writing connection.
func (db *DB) Ping(ctx context.Context) error {
	var one int
	if err := db.QueryRow(ctx, `SELECT 1`).Scan(&one); err != nil {
		return err
	}
	return db.checkFiles() // one PostgreSQL is behind both handles
}

// checkFiles refuses where what SQLite has open is no longer at its path.
func (db *DB) checkFiles() error {
	if files := db.files.Load(); files != nil {
		return files.check()
	}
	return nil
}

// QueueLength is how many changes wait for the committer.
func (db *DB) QueueLength() int { return len(db.writer.urgent) + len(db.writer.ordinary) }

// LogBytes is the length of SQLite's write-ahead log; 0 on PostgreSQL.
func (db *DB) LogBytes() int64 {
	if db.engine != SQLite {
		return 0
	}
	info, err := os.Stat(db.path + "-wal")
	if err != nil {
		return 0 // there is none yet
	}
	return info.Size()
}

// Query reads rows outside a transaction. Prefer Collect.
func (db *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := db.reads.QueryContext(ctx, query, args...)
	return rows, classify(err)
}

// QueryRow reads one row outside a transaction.
func (db *DB) QueryRow(ctx context.Context, query string, args ...any) Row {
	return Row{db.reads.QueryRowContext(ctx, query, args...)}
}

// Reader is the database, or a transaction whose own changes a read must see.
type Reader interface {
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) Row
}

// Scanner is one row being read.
type Scanner interface{ Scan(dest ...any) error }

// Row is the result of QueryRow.
type Row struct{ row *sql.Row }

// Scan copies the row's columns. Without a row it is sql.ErrNoRows.
func (r Row) Scan(dest ...any) error { return classify(r.row.Scan(dest...)) }

// Collect reads every row of a query through scan. The result is never nil: an empty
// list stays one in JSON.
func Collect[T any](
	ctx context.Context, r Reader, scan func(Scanner) (T, error), query string, args ...any,
) ([]T, error) {
	rows, err := r.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	items := []T{}
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, classify(err)
		}
		items = append(items, item)
	}
	return items, classify(rows.Err())
}

// Micros is how an instant is stored.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Time is the instant stored as micros.
func Time(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// OptionalMicros stores an instant that may be absent as NULL.
func OptionalMicros(t *time.Time) sql.NullInt64 {
	if t == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: Micros(*t), Valid: true}
}

// OptionalTime reads an instant that may be absent.
func OptionalTime(micros sql.NullInt64) *time.Time {
	if !micros.Valid {
		return nil
	}
	t := Time(micros.Int64)
	return &t
}

// OptionalText stores the empty string as NULL.
func OptionalText(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// instant is t as the database stores it.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// unavailable is the fault of a database that cannot serve right now.
func unavailable(cause error, message string) error {
	f := fault.Wrap(cause, fault.Unavailable, "%s", message)
	f.RetryAfter = time.Second
	return f
}
