package apikey_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/apikey"
	"writ/internal/database"
	"writ/internal/principal"
)

// BenchmarkResolve is the request of an agent that was here a moment ago.
func BenchmarkResolve(b *testing.B) { benchmarkResolve(b, func(*atomic.Int64) {}) }

// BenchmarkResolveUncached asks SQLite every time, as the first request of a
// second does.
func BenchmarkResolveUncached(b *testing.B) {
	benchmarkResolve(b, func(clock *atomic.Int64) { clock.Add(time.Second.Microseconds()) })
}

func benchmarkResolve(b *testing.B, before func(clock *atomic.Int64)) {
	clock := new(atomic.Int64)
	db, err := database.Open(b.Context(), database.Options{
		SQLitePath: filepath.Join(b.TempDir(), "writ.db"),
		Now:        func() time.Time { return database.Time(clock.Load()) },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	owner := database.NewID()
	err = db.Write(b.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx,
			`INSERT INTO user_account (id, email, name, password_hash, created_at) VALUES ($1, 'a@example.org', '', '', 1)`, owner)
		return err
	}})
	if err != nil {
		b.Fatal(err)
	}
	keys := newService(db)
	issued, err := keys.Create(b.Context(), principal.Principal{Kind: principal.User, UserID: owner}, apikey.NewKey{
		Name: "k",
	})
	if err != nil {
		b.Fatal(err)
	}
	presented := issued.Secret.Reveal()
	b.ReportAllocs()
	for b.Loop() {
		before(clock)
		if _, err := keys.Resolve(b.Context(), presented); err != nil {
			b.Fatal(err)
		}
	}
}
