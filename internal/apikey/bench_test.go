package apikey_test

import (
	"testing"
	"time"

	"writ/internal/apikey"
	"writ/internal/database/dbtest"
	"writ/internal/testenv"
)

// BenchmarkResolve is the request of an agent that was here a moment ago.
func BenchmarkResolve(b *testing.B) { benchmarkResolve(b, func(*testenv.Env) {}) }

// BenchmarkResolveUncached asks SQLite every time, as the first request of a
// second does.
func BenchmarkResolveUncached(b *testing.B) {
	benchmarkResolve(b, func(e *testenv.Env) { e.Pass(time.Second) })
}

func benchmarkResolve(b *testing.B, before func(e *testenv.Env)) {
	e := testenv.New(b, dbtest.SQLite(b))
	owner := testenv.Person(e.User("ada@example.org"), "", "")
	keys := newService(e.DB)
	issued, err := keys.Create(b.Context(), owner, apikey.NewKey{Name: "k"})
	if err != nil {
		b.Fatal(err)
	}
	presented := issued.Secret.Reveal()
	b.ReportAllocs()
	for b.Loop() {
		before(e)
		if _, err := keys.Resolve(b.Context(), presented); err != nil {
			b.Fatal(err)
		}
	}
}
