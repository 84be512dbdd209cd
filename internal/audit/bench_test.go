package audit_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
)

// benchDB is an SQLite database with a log of so many entries.
func benchDB(b *testing.B, entries int) (*database.DB, *audit.Service) {
	b.Helper()
	db, err := database.Open(context.Background(), database.Options{SQLitePath: filepath.Join(b.TempDir(), "writ.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	s := open(b, db)
	fill(b, db, s.Log, "org", 0, entries)
	return db, s
}

// BenchmarkAppend appends decisions from 32 callers at once, each of which waits
// for its commit and takes its receipt. The cost must not grow with the log:
// compare the sizes.
func BenchmarkAppend(b *testing.B) {
	for _, entries := range []int{1_000, 100_000, 1_000_000} {
		// once for all rounds
		open := sync.OnceValues(func() (*database.DB, *audit.Service) { return benchDB(b, entries) })
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			db, s := open()
			var n atomic.Int64
			b.SetParallelism(32)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					appended, err := decide(context.Background(), db, s.Log, decision("org", int(n.Add(1))))
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := appended[0].Receipt(); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkReceipt makes a receipt of a committed entry.
func BenchmarkReceipt(b *testing.B) {
	db, s := benchDB(b, 1000)
	appended := mustDecide(b, db, s.Log, decision("org", 1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := appended[0].Receipt(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEntry proves an old entry, which is read from tiles.
func BenchmarkEntry(b *testing.B) {
	for _, entries := range []int{1_000, 100_000} {
		service := sync.OnceValue(func() *audit.Service { _, s := benchDB(b, entries); return s })
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			s := service()
			for i := 0; b.Loop(); i++ {
				if _, _, err := s.Entry(context.Background(), "org", int64(i*7919%entries)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCheckProof checks the proof of a receipt, without the signature that
// a holder checks once a checkpoint.
func BenchmarkCheckProof(b *testing.B) {
	_, s := benchDB(b, 10_000)
	entry, receipt, err := s.Entry(context.Background(), "org", 1234)
	if err != nil {
		b.Fatal(err)
	}
	c, err := receipt.Check(keysOf(b, s))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		leaf := ledger.LeafHash([]byte(entry.Record))
		if err := ledger.CheckInclusion(receipt.Proof, receipt.Index, leaf, c.Size, c.Root); err != nil {
			b.Fatal(err)
		}
	}
}
