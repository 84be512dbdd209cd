package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Down is a database that could not be opened: every read and every change is refused as unavailable, until Reopen
// succeeds. It lets a server work without a store that it can do without.
func Down(o Options, cause error) *DB {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	db := &DB{engine: SQLite, now: o.Now, inserts: newInserts(), gate: &gate{options: o, cause: cause}}
	if o.PostgresURL != "" {
		db.engine = PostgreSQL
	}
	db.locate(o)
	db.reads, db.writes = sql.OpenDB(gateway{db.gate, false}), sql.OpenDB(gateway{db.gate, true})
	db.writer = startWriter(db, o)
	return db
}

// IsDown reports whether the database could not be opened, and was not since.
func (db *DB) IsDown() bool { return db.gate != nil && db.gate.to.Load() == nil }

// Reopen tries again to open a database that is down. Before anybody else uses it, ready prepares it. Only one
// goroutine may call it.
func (db *DB) Reopen(ctx context.Context, ready func(ctx context.Context, opened *DB) error) error {
	if !db.IsDown() {
		return nil
	}
	o := db.gate.options
	opened, err := Open(ctx, o)
	if err != nil {
		return err
	}
	if err := errors.Join(ready(ctx, opened), opened.Close()); err != nil {
		return fmt.Errorf("prepare the database%s: %w", db.named(), err)
	}
	c, err := connectorsOf(o)
	if err != nil {
		return err
	}
	db.size()
	if db.engine == SQLite {
		db.checkpointer.Store(startCheckpointer(db, o.Logger))
	}
	db.files.Store(c.files)
	db.gate.to.Store(&c)
	return nil
}

// gate lets connections through once the database could be opened.
type gate struct {
	options Options
	cause   error
	to      atomic.Pointer[connectors] // nil: it is down
}

// gateway is a connector of one of the handles behind a gate.
type gateway struct {
	*gate
	writes bool
}

func (g gateway) Connect(ctx context.Context) (driver.Conn, error) {
	to := g.to.Load()
	switch {
	case to == nil:
		return nil, unavailable(g.cause, "this store is down since the server started")
	case g.writes:
		return to.writes.Connect(ctx)
	}
	return to.reads.Connect(ctx)
}

func (g gateway) Driver() driver.Driver { return g }

func (g gateway) Open(string) (driver.Conn, error) { return g.Connect(context.Background()) }
