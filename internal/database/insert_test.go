package database_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// things are rows with ids from first to last.
func things(first, last int64) (rows [][]any) {
	for id := first; id <= last; id++ {
		rows = append(rows, []any{id, "a note"})
	}
	return rows
}

const insertThing = `INSERT INTO thing (id, note)`

// Any number of rows is inserted once, also by statements that were kept from
// before and when the table has changed since.
func TestInsertTakesAnyNumberOfRows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		want := 0
		for round, n := range []int64{0, 1, 7, 8, 9, 31, 32, 33, 100, 4001, 1, 100} {
			if round == 10 {
				write(t, db, func(ctx context.Context, tx *database.Tx) error {
					_, err := tx.Exec(ctx, `ALTER TABLE thing ADD COLUMN more TEXT`)
					return err
				})
			}
			write(t, db, func(ctx context.Context, tx *database.Tx) error {
				return tx.Insert(ctx, insertThing, things(int64(round)*10_000, int64(round)*10_000+n-1), "")
			})
			if want += int(n); count(t, db) != want {
				t.Fatalf("%d rows after %d more, want %d", count(t, db), n, want)
			}
		}
	})
}

func TestInsertReturningTellsWhatIsNew(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		for _, step := range []struct{ first, last, from int64 }{{1, 50, 1}, {1, 50, 51}, {21, 90, 51}} {
			var fresh []int64
			write(t, db, func(ctx context.Context, tx *database.Tx) (err error) {
				fresh, err = database.InsertReturning(ctx, tx, func(row database.Scanner) (id int64, err error) {
					err = row.Scan(&id)
					return id, err
				}, insertThing, things(step.first, step.last), `ON CONFLICT DO NOTHING RETURNING id`)
				return err
			})
			var want []int64
			for id := step.from; id <= step.last; id++ {
				want = append(want, id)
			}
			if !slices.Equal(fresh, want) {
				t.Errorf("%d to %d: new are %v, want %v", step.first, step.last, fresh, want)
			}
		}
	})
}

// A copy that fails in the middle leaves nothing, whatever rows went before.
func TestCopyIsWholeOrAbsent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		for name, bad := range map[string][]any{"twice": {int64(3), "again"}, "null": {int64(1000), nil}} {
			rows := append(things(1, 60), bad)
			err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
				return tx.Copy(ctx, "thing", []string{"id", "note"}, rows)
			}})
			if err == nil || count(t, db) != 0 {
				t.Errorf("%s: err = %v, %d rows", name, err, count(t, db))
			}
		}
	})
}

func TestInsertHeedsItsContext(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return tx.Insert(ctx, insertThing, things(1, 5), "")
		}})
		if err == nil || count(t, db) != 0 {
			t.Errorf("err = %v, %d rows", err, count(t, db))
		}
	})
}

// The log of a store that takes bulk is copied into its file while it is open, long
// before the committer would do that itself.
func TestCheckpointerCopiesTheLog(t *testing.T) {
	t.Parallel()
	options := dbtest.SQLite(t)
	options.Store = database.Telemetry
	db := dbtest.Open(t, options)
	makeTable(t, db)
	fileSize := func() int64 {
		info, err := os.Stat(options.SQLitePath)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := fileSize()
	const most = 300 // thousand rows, which are far from what the committer waits for
	for n := int64(0); fileSize() == before; n++ {
		if n == most {
			t.Fatal("the file does not grow")
		}
		rows := things(n*1000, n*1000+999)
		for _, row := range rows {
			row[1] = strings.Repeat("n", 100)
		}
		write(t, db, func(ctx context.Context, tx *database.Tx) error { return tx.Insert(ctx, insertThing, rows, "") })
	}
}

func TestInsertNewTellsHowManyWere(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		for _, step := range []struct{ first, last, want int64 }{{1, 50, 50}, {1, 50, 0}, {21, 90, 40}} {
			var inserted int64
			write(t, db, func(ctx context.Context, tx *database.Tx) (err error) {
				inserted, err = tx.InsertNew(ctx, insertThing, things(step.first, step.last))
				return err
			})
			if inserted != step.want {
				t.Errorf("%d to %d: %d were new, want %d", step.first, step.last, inserted, step.want)
			}
		}
		if got := count(t, db); got != 90 {
			t.Errorf("%d rows", got)
		}
	})
}
