package database_test

import (
	"context"
	"errors"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
)

func TestCheckWritable(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for range 3 {
			if err := db.CheckWritable(t.Context()); err != nil {
				t.Errorf("a database that works: %v", err)
			}
		}
		own := errors.New("an error of the change itself")
		err := db.Write(t.Context(), database.Change{Do: func(context.Context, *database.Tx) error { return own }})
		if !errors.Is(err, own) || db.IsFailing() || db.CheckWritable(t.Context()) != nil {
			t.Errorf("after a change that failed by itself: %v, failing %t", err, db.IsFailing())
		}
	})
}

// A full disk lets reads and commits without content pass. Both the probe and a change that failed show it.
func TestCheckWritableOnAFullDisk(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, dbtest.SQLite(t))
	pages := func(n string) {
		write(t, db, func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `PRAGMA max_page_count = `+n)
			return err
		})
	}
	unwritable := func() bool { return fault.Is(db.CheckWritable(t.Context()), fault.Unavailable) }
	pages("1") // clamps to the present size
	database.ForgetCommits(db)
	if !unwritable() || !db.IsFailing() || db.Ping(t.Context()) != nil {
		t.Error("the probe did not find out that the disk is full, or reads fail too")
	}
	if !unwritable() {
		t.Error("soon after that it counts as writable")
	}
	pages("1000000")
	database.ForgetCommits(db)
	if err := db.CheckWritable(t.Context()); err != nil || db.IsFailing() {
		t.Errorf("after there is room again: %v, failing %t", err, db.IsFailing())
	}
}

func TestDown(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		cause := errors.New("broken")
		db := database.Down(o, cause)
		defer db.Close()
		var one int
		read := db.QueryRow(t.Context(), `SELECT 1`).Scan(&one)
		changed := db.Write(t.Context(), database.Change{Do: func(context.Context, *database.Tx) error { return nil }})
		_, prepared := db.Prepared().Query(t.Context(), `SELECT 1`)
		for what, err := range map[string]error{
			"read": read, "write": changed, "prepared": prepared, "ping": db.Ping(t.Context()),
		} {
			if !fault.Is(err, fault.Unavailable) || !errors.Is(err, cause) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if !db.IsDown() || db.LogBytes() != 0 {
			t.Error("it does not say that it is down")
		}
	})
}

// TestReopen opens a database that was down, and uses it beside callers that never stopped asking.
func TestReopen(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		db := database.Down(o, errors.New("broken"))
		defer db.Close()
		ended, asked := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(asked)
			for {
				select {
				case <-ended:
					return
				default:
					_ = db.Ping(t.Context())
					_ = db.Write(t.Context(), database.Change{
						Do: func(context.Context, *database.Tx) error { return nil },
					})
				}
			}
		}()
		notYet := errors.New("not yet")
		err := db.Reopen(t.Context(), func(context.Context, *database.DB) error { return notYet })
		if !errors.Is(err, notYet) || !db.IsDown() {
			t.Errorf("what is not ready: %v, down %t", err, db.IsDown())
		}
		if err := db.Reopen(t.Context(), func(ctx context.Context, opened *database.DB) error {
			if !db.IsDown() {
				t.Error("it is used before it is ready")
			}
			return opened.Ping(ctx)
		}); err != nil || db.IsDown() {
			t.Fatalf("reopened: %v, down %t", err, db.IsDown())
		}
		close(ended)
		<-asked
		if err := errors.Join(db.Ping(t.Context()), db.CheckWritable(t.Context())); err != nil || db.IsFailing() {
			t.Errorf("it is up: %v, failing %t", err, db.IsFailing())
		}
		if err := db.Reopen(t.Context(), func(context.Context, *database.DB) error { return notYet }); err != nil {
			t.Errorf("reopened again: %v", err)
		}
	})
}
