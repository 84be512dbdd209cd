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

func TestShared(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		type key struct{}
		read := func() (value any) {
			write(t, db, func(_ context.Context, tx *database.Tx) error {
				value = tx.Shared(key{})
				return nil
			})
			return value
		}
		if got := read(); got != nil {
			t.Errorf("nobody shared %v", got)
		}
		db.Share(key{}, "first")
		db.Share(key{}, "second")
		if got := read(); got != "second" {
			t.Errorf("shared = %v", got)
		}
	})
}

func TestExecOften(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		add := func(ids ...int) error {
			return db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
				for _, id := range ids {
					if n, err := tx.ExecOften(ctx, `INSERT INTO thing (id, note) VALUES ($1, 'x')`, id); err != nil ||
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
			_, err := tx.ExecOften(ctx, `INSERT INTO nothing VALUES (1)`)
			return err
		}}); err == nil {
			t.Error("a statement that cannot be is run")
		}
	})
}
