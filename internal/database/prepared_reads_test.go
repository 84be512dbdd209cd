package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// TestPreparedReads: a prepared read sees every commit, by many at once, also after
// its table has changed and when there are more texts than are prepared.
func TestPreparedReads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		write := func(statement string, args ...any) {
			t.Helper()
			err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
				_, err := tx.Exec(ctx, statement, args...)
				return err
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		write(`CREATE TABLE prepared (n BIGINT NOT NULL)`)
		number := func(row database.Scanner) (n int64, err error) {
			err = row.Scan(&n)
			return n, err
		}
		for round := range int64(4) {
			write(`INSERT INTO prepared (n) VALUES ($1)`, round)
			var readers sync.WaitGroup
			for range 8 {
				readers.Go(func() {
					if got, err := sumOf(t.Context(), db); err != nil || got != round*(round+1)/2 {
						t.Errorf("round %d: the sum is %d, %v", round, got, err)
					}
					got, err := database.Collect(t.Context(), db.Prepared(), number,
						`SELECT n FROM prepared WHERE n >= $1 ORDER BY n`, round)
					if err != nil || len(got) != 1 || got[0] != round {
						t.Errorf("round %d: read %v, %v", round, got, err)
					}
				})
			}
			readers.Wait()
			if round == 1 {
				write(`ALTER TABLE prepared ADD COLUMN more TEXT`)
			}
		}
		for i := range 200 { // more than are prepared
			var got int
			if err := db.Prepared().QueryRow(t.Context(), fmt.Sprintf(`SELECT %d`, i)).Scan(&got); err != nil ||
				got != i {
				t.Fatalf("SELECT %d is %d, %v", i, got, err)
			}
		}
	})
}

func sumOf(ctx context.Context, db *database.DB) (sum int64, err error) {
	err = db.Prepared().QueryRow(ctx, `SELECT COALESCE(SUM(n), 0) FROM prepared`).Scan(&sum)
	return sum, err
}

// What fails fails as an ordinary read does.
func TestPreparedReadsFail(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var n int
		if err := db.Prepared().QueryRow(t.Context(), `SELECT 1 WHERE 1 = 0`).Scan(&n); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("no row: %v", err)
		}
		if err := db.Prepared().QueryRow(t.Context(), `SELECT n FROM nowhere`).Scan(&n); err == nil {
			t.Error("a table that does not exist was read")
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := db.Prepared().Query(ended, `SELECT 1`); !errors.Is(err, context.Canceled) {
			t.Errorf("after its end: %v", err)
		}
	})
}
