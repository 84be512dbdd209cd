package database_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
)

func TestAfterCommitRunsOnlyThen(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		ran, refused := 0, errors.New("no")
		change := func(result error) database.Change {
			return database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
				tx.AfterCommit(func() { ran++ })
				if err := insert(1)(ctx, tx); err != nil {
					return err
				}
				return result
			}}
		}
		if err := db.Write(t.Context(), change(refused)); !errors.Is(err, refused) || ran != 0 {
			t.Errorf("after a rollback: %v, ran %d times", err, ran)
		}
		if err := db.Write(t.Context(), change(nil)); err != nil || ran != 1 {
			t.Errorf("after a commit: %v, ran %d times", err, ran)
		}
		if err := db.Write(t.Context(), change(nil)); !database.IsUnique(err) || ran != 1 {
			t.Errorf("after a refused statement: %v, ran %d times", err, ran)
		}
	})
}

// TestPerTx: what one owner keeps in a transaction is its own, and ends with it.
func TestPerTx(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var owners struct{ one, other database.PerTx[[]int] }
		add := func(end error) (one, other int) {
			t.Helper()
			err := db.Write(t.Context(), database.Change{Do: func(_ context.Context, tx *database.Tx) error {
				for range 2 {
					kept := owners.one.In(tx)
					*kept = append(*kept, 1)
				}
				one, other = len(*owners.one.In(tx)), len(*owners.other.In(tx))
				return end
			}})
			if !errors.Is(err, end) {
				t.Fatal(err)
			}
			return one, other
		}
		for _, end := range []error{nil, errors.New("rolled back"), nil} {
			if one, other := add(end); one != 2 || other != 0 {
				t.Errorf("%d of the one, %d of the other, want 2 and 0", one, other)
			}
		}
	})
}

func TestPreparedExec(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		add := func(ids ...int) error {
			return db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
				for _, id := range ids {
					if n, err := tx.Prepared().Exec(ctx, `INSERT INTO thing (id, note) VALUES ($1, 'x')`,
						id); err != nil ||
						n != 1 {
						return errors.Join(fmt.Errorf("%d rows changed", n), err)
					}
				}
				return nil
			}})
		}
		if err := add(1, 2, 3); err != nil {
			t.Fatal(err)
		}
		if err := add(4, 4); !database.IsUnique(err) {
			t.Errorf("err = %v, want that it is there already", err)
		}
		if err := add(5); err != nil {
			t.Error(err)
		}
		if n := count(t, db); n != 4 {
			t.Errorf("%d rows, want 4", n)
		}
		if err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Prepared().Exec(ctx, `INSERT INTO nothing VALUES (1)`)
			return err
		}}); err == nil {
			t.Error("a statement that cannot be is run")
		}
	})
}
