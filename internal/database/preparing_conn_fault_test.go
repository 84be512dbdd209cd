package database_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// bomb is a value that panics, or says that the connection is bad, when it is asked
// for what to store.
type bomb struct{ err error }

func (b bomb) Value() (driver.Value, error) {
	if b.err == nil {
		panic("no value")
	}
	return nil, b.err
}

// The committer outlives a panic wherever in a change it comes from, also from within
// what goes straight to the connection.
func TestCommitterOutlivesAPanickingValue(t *testing.T) {
	t.Parallel()
	testCommitterOutlives(t, bomb{})
}

// The transaction still holds the connection when a value calls it bad.
func TestCommitterOutlivesABadConnection(t *testing.T) {
	t.Parallel()
	testCommitterOutlives(t, bomb{driver.ErrBadConn})
}

func testCommitterOutlives(t *testing.T, value bomb) {
	t.Helper()
	db := dbtest.Open(t, dbtest.SQLite(t))
	makeTable(t, db)
	err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		if err := tx.Insert(ctx, insertThing, things(1, 5), ""); err != nil {
			return err
		}
		return tx.Insert(ctx, insertThing, [][]any{{int64(6), value}}, "")
	}})
	if err == nil || count(t, db) != 0 {
		t.Errorf("err = %v, %d rows", err, count(t, db))
	}
	write(t, db, insert(1))
}

// What comes after the commit is outside of the transaction, and so is not stored.
func TestNothingIsStoredAfterTheCommit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		var late error
		write(t, db, func(ctx context.Context, tx *database.Tx) error {
			tx.AfterCommit(func() { late = tx.Insert(ctx, insertThing, things(2, 2), "") })
			return tx.Insert(ctx, insertThing, things(1, 1), "")
		})
		if late == nil || count(t, db) != 1 {
			t.Errorf("err = %v, %d rows", late, count(t, db))
		}
	})
}

// A statement that fails leaves nothing behind that keeps it from running again, or
// the file from being closed whole.
func TestFailedStatementsRunAgain(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	db := dbtest.Open(t, o)
	makeTable(t, db)
	fails := func(rows ...[]any) {
		t.Helper()
		err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			if err := tx.Insert(ctx, insertThing, things(100, 131), ""); err != nil {
				return err
			}
			return tx.Copy(ctx, "thing", []string{"id", "note"}, rows)
		}})
		if err == nil {
			t.Error("stored what it must not")
		}
	}
	for range 3 {
		fails(append(things(1, 31), []any{int64(1), "again"})...)
		fails(append(things(1, 7), []any{int64(8), nil})...)
		fails([]any{int64(1), make(chan int)})
		fails([]any{int64(1)}, []any{int64(2)})
	}
	if got := count(t, db); got != 0 {
		t.Errorf("%d rows", got)
	}
	write(t, db, func(ctx context.Context, tx *database.Tx) error {
		if _, err := tx.Exec(ctx, `ALTER TABLE thing ADD COLUMN more TEXT`); err != nil {
			return err
		}
		return tx.Copy(ctx, "thing", []string{"id", "note"}, things(1, 41))
	})
	if got := count(t, db); got != 41 {
		t.Errorf("%d rows", got)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(o.SQLitePath + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log is left: %v", err)
	}
}
