// Package testenv assembles what the tests of most areas stand on: a database on both
// engines with a clock that stands still, organizations, users and keys in it, and reads
// of what is stored.
package testenv

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/secret"
)

// Env is a database and its clock. Its methods end the test when they fail.
type Env struct {
	*Clock
	T       testing.TB
	DB      *database.DB
	Options database.Options // those DB was opened with
	Log     *audit.Log       // without a key
}

// Each runs the test body once on each engine, in parallel.
func Each(t *testing.T, body func(t *testing.T, e *Env)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) { body(t, New(t, o)) })
}

// New opens one database. Its clock shows noon.
func New(t testing.TB, o database.Options) *Env {
	t.Helper()
	clock := new(Clock)
	clock.Set(time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC))
	o.Now = clock.Now
	db := dbtest.Open(t, o)
	return &Env{
		Clock:   clock,
		T:       t,
		DB:      db,
		Options: o,
		Log:     audit.Unsigned(db),
	}
}

// Replica opens the same database as another process does.
func (e *Env) Replica() *Env {
	e.T.Helper()
	other := *e
	other.DB = dbtest.Open(e.T, e.Options)
	other.Log = audit.Unsigned(other.DB)
	return &other
}

// SignedLog opens the log with a key, which is the same in all tests.
func (e *Env) SignedLog(follower audit.Follower) *audit.Log {
	e.T.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	log, err := audit.Open(e.T.Context(), e.DB, func(context.Context, *audit.Log) (ed25519.PrivateKey, error) {
		return key, nil
	}, follower)
	if err != nil {
		e.T.Fatalf("open the log: %v", err)
	}
	return log
}

// OpenEmpty opens a further database of the same engine, with the same clock.
func (e *Env) OpenEmpty(store database.Store) *database.DB {
	e.T.Helper()
	options := dbtest.SQLite
	if e.DB.Engine() == database.PostgreSQL {
		options = dbtest.Postgres
	}
	o := options(e.T)
	o.Store, o.Now = store, e.Now
	return dbtest.Open(e.T, o)
}

// Write makes a change that appends to a log, or to none.
func (e *Env) Write(log string, do func(ctx context.Context, tx *database.Tx) error) {
	e.T.Helper()
	change := database.Change{Do: do}
	if log != "" {
		change.Logs = []string{log}
	}
	if err := e.DB.Write(e.T.Context(), change); err != nil {
		e.T.Fatalf("write: %v", err)
	}
}

// Exec changes the database behind the service's back.
func (e *Env) Exec(query string, args ...any) {
	e.T.Helper()
	e.Write("", func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// Sealer is a sealer under a master key that repeats one byte.
func Sealer(t testing.TB, fill byte) *secret.Sealer {
	t.Helper()
	sealer, err := secret.NewSealer(bytes.Repeat([]byte{fill}, secret.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	return sealer
}

// Clock stands still until a test moves it.
type Clock struct{ micros atomic.Int64 }

// Now is what the clock shows.
func (c *Clock) Now() time.Time { return database.Time(c.micros.Load()) }

// Set moves the clock to an instant.
func (c *Clock) Set(at time.Time) { c.micros.Store(database.Micros(at)) }

// Pass moves the clock by a duration.
func (c *Clock) Pass(d time.Duration) { c.micros.Add(d.Microseconds()) }
