package database_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// TestStatementsAreKept: what is run often works in every transaction, after
// rollbacks, and after its table has changed.
func TestStatementsAreKept(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		must := func(do func(ctx context.Context, tx *database.Tx) error) {
			t.Helper()
			if err := db.Write(t.Context(), database.Change{Do: do}); err != nil {
				t.Fatal(err)
			}
		}
		must(func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `CREATE TABLE often (n BIGINT NOT NULL)`)
			return err
		})
		const add, sum = `INSERT INTO often (n) VALUES ($1)`, `SELECT COALESCE(SUM(n), 0) FROM often`
		want := int64(0)
		for round := range int64(4) {
			stop := errors.New("stop")
			err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
				_, err := tx.ExecOften(ctx, add, 1000)
				return errors.Join(err, stop)
			}})
			if !errors.Is(err, stop) {
				t.Fatalf("a rollback: %v", err)
			}
			want += round
			must(func(ctx context.Context, tx *database.Tx) error {
				if n, err := tx.ExecOften(ctx, add, round); err != nil || n != 1 {
					return fmt.Errorf("%d rows: %w", n, err)
				}
				var got int64
				if err := tx.QueryRowOften(ctx, sum).Scan(&got); err != nil || got != want {
					return fmt.Errorf("round %d: the sum is %d, want %d: %w", round, got, want, err)
				}
				return nil
			})
			if round == 1 {
				must(func(ctx context.Context, tx *database.Tx) error {
					_, err := tx.Exec(ctx, `ALTER TABLE often ADD COLUMN more TEXT`)
					return err
				})
			}
		}
		for i := range 200 { // more than are kept
			must(func(ctx context.Context, tx *database.Tx) error {
				_, err := tx.ExecOften(ctx, fmt.Sprintf(`UPDATE often SET n = %d WHERE n = -1`, i))
				return err
			})
		}
		err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			var got int64
			return tx.QueryRowOften(ctx, `SELECT n FROM nowhere`).Scan(&got)
		}})
		if err == nil {
			t.Error("a table that does not exist was read")
		}
	})
}
