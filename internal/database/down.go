package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"time"
)

// Down is a database that could not be opened: every read and every change is refused as unavailable. It lets a server
// work without a store that it can do without.
func Down(o Options, cause error) *DB {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	db := &DB{engine: SQLite, now: o.Now, inserts: newInserts(), isDown: true}
	if o.PostgresURL != "" {
		db.engine = PostgreSQL
	}
	db.reads, db.writes = sql.OpenDB(down{cause}), sql.OpenDB(down{cause})
	db.writer = startWriter(db, o.Logger)
	return db
}

// IsDown reports whether the database could not be opened.
func (db *DB) IsDown() bool { return db.isDown }

// down is a connector that connects to nothing.
type down struct{ cause error }

func (d down) Connect(context.Context) (driver.Conn, error) {
	return nil, unavailable(d.cause, "this store is down since the server started")
}

func (d down) Driver() driver.Driver { return d }

func (d down) Open(string) (driver.Conn, error) { return d.Connect(context.Background()) }
