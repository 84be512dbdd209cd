package database_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// TestPreparedStatements: a prepared statement works in every transaction, after
// rollbacks, and after its table has changed.
func TestPreparedStatements(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		must := func(do func(ctx context.Context, tx *database.Tx) error) {
			t.Helper()
			if err := db.Write(t.Context(), database.Change{Do: do}); err != nil {
				t.Fatal(err)
			}
		}
		must(func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `CREATE TABLE prepared (n BIGINT NOT NULL)`)
			return err
		})
		const add, sum = `INSERT INTO prepared (n) VALUES ($1)`, `SELECT COALESCE(SUM(n), 0) FROM prepared`
		want := int64(0)
		for round := range int64(4) {
			stop := errors.New("stop")
			err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
				_, err := tx.Prepared().Exec(ctx, add, 1000)
				return errors.Join(err, stop)
			}})
			if !errors.Is(err, stop) {
				t.Fatalf("a rollback: %v", err)
			}
			want += round
			must(func(ctx context.Context, tx *database.Tx) error {
				if n, err := tx.Prepared().Exec(ctx, add, round); err != nil || n != 1 {
					return fmt.Errorf("%d rows: %w", n, err)
				}
				var got int64
				if err := tx.Prepared().QueryRow(ctx, sum).Scan(&got); err != nil || got != want {
					return fmt.Errorf("round %d: the sum is %d, want %d: %w", round, got, want, err)
				}
				return nil
			})
			if round == 1 {
				must(func(ctx context.Context, tx *database.Tx) error {
					_, err := tx.Exec(ctx, `ALTER TABLE prepared ADD COLUMN more TEXT`)
					return err
				})
			}
		}
		for i := range 200 { // more than are prepared
			must(func(ctx context.Context, tx *database.Tx) error {
				_, err := tx.Prepared().Exec(ctx, fmt.Sprintf(`UPDATE prepared SET n = %d WHERE n = -1`, i))
				return err
			})
		}
		err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			var got int64
			return tx.Prepared().QueryRow(ctx, `SELECT n FROM nowhere`).Scan(&got)
		}})
		if err == nil {
			t.Error("a table that does not exist was read")
		}
	})
}
