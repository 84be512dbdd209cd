package database_test

import (
	"context"
	"path/filepath"
	"testing"

	"writ/internal/database"
)

// benchDB is an SQLite database with a table of things.
func benchDB(b *testing.B) *database.DB {
	b.Helper()
	db, err := database.Open(context.Background(), database.Options{SQLitePath: filepath.Join(b.TempDir(), "writ.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	benchWrite(b, db, func(ctx context.Context, tx *database.Tx) error {
		if _, err := tx.Exec(ctx, `CREATE TABLE thing (id BIGINT PRIMARY KEY, note TEXT NOT NULL)`); err != nil {
			return err
		}
		return tx.Insert(ctx, insertThing, things(1, 1000), "")
	})
	return db
}

func benchWrite(b *testing.B, db *database.DB, do func(ctx context.Context, tx *database.Tx) error) {
	b.Helper()
	if err := db.Write(context.Background(), database.Change{Do: do}); err != nil {
		b.Fatal(err)
	}
}

const selectThing = `SELECT note FROM thing WHERE id = $1`

// BenchmarkStatements runs statements by their key, in transactions of a hundred and
// beside them.
func BenchmarkStatements(b *testing.B) {
	db := benchDB(b)
	inTx := func(do func(ctx context.Context, tx *database.Tx, n int64) error) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for left := b.N; left > 0; left -= 100 {
				benchWrite(b, db, func(ctx context.Context, tx *database.Tx) error {
					for i := range int64(min(left, 100)) {
						if err := do(ctx, tx, i+1); err != nil {
							return err
						}
					}
					return nil
				})
			}
		}
	}
	b.Run("exec", inTx(func(ctx context.Context, tx *database.Tx, n int64) error {
		_, err := tx.Prepared().Exec(ctx, `UPDATE thing SET note = $2 WHERE id = $1`, n, "x")
		return err
	}))
	b.Run("read", inTx(func(ctx context.Context, tx *database.Tx, n int64) error {
		var note string
		return tx.Prepared().QueryRow(ctx, selectThing, n).Scan(&note)
	}))
	b.Run("insert", inTx(func(ctx context.Context, tx *database.Tx, n int64) error {
		return tx.Insert(ctx, `INSERT OR REPLACE INTO thing (id, note)`, things(n*40, n*40+39), "")
	}))
	b.Run("beside", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				var note string
				if err := db.Prepared().QueryRow(context.Background(), selectThing, 7).Scan(&note); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
