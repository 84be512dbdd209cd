package database_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
)

// What columns hold in another form comes back as Go's own type, on both engines.
func TestColumnsReadAsGoTypes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		at := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
		micros := database.Micros(at)
		var (
			when             time.Time
			some, none       *time.Time
			yes, no          = false, true
			text, empty      string
			unset, untouched = "before", at
		)
		none = &untouched
		write(t, db, func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `
				CREATE TABLE form (at BIGINT, since BIGINT, ended BIGINT, is_on BIGINT, is_off BIGINT, name TEXT, word TEXT, gone TEXT)`)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `INSERT INTO form VALUES ($1, $2, NULL, $3, $4, 'a', '', NULL)`,
				micros, micros, database.Bit(true), database.Bit(false))
			return err
		})
		err := db.QueryRow(t.Context(), `SELECT at, since, ended, is_on, is_off, name, word, gone FROM form`).Scan(
			database.ToTime(&when), database.ToOptionalTime(&some), database.ToOptionalTime(&none),
			database.ToBool(&yes), database.ToBool(&no),
			database.ToText(&text), database.ToText(&empty), database.ToText(&unset))
		if err != nil {
			t.Fatalf("scan: %v", err)
		}
		if !when.Equal(at) || some == nil || !some.Equal(at) || none != nil {
			t.Errorf("instants are %v, %v and %v", when, some, none)
		}
		if !yes || no || text != "a" || empty != "" || unset != "" {
			t.Errorf("read %t, %t, %q, %q and %q", yes, no, text, empty, unset)
		}
		err = db.QueryRow(t.Context(), `SELECT ended FROM form`).Scan(database.ToTime(&when))
		if err == nil {
			t.Error("a missing instant was read as one")
		}
		names, err := database.Collect(t.Context(), db, database.Column[string], `SELECT name FROM form`)
		if err != nil || !slices.Equal(names, []string{"a"}) {
			t.Errorf("Column = %v, %v", names, err)
		}
	})
}

func TestErrorsOfReads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		missing := fault.New(fault.NotFound, "no such thing")
		var id string
		absent := db.QueryRow(t.Context(), `SELECT id FROM organization WHERE id = 'x'`).Scan(&id)
		broken := db.QueryRow(t.Context(), `SELECT nothing FROM organization`).Scan(&id)
		if err := database.OrMissing(absent, missing, "load %s", "x"); !errors.Is(err, missing) {
			t.Errorf("a missing row is %v", err)
		}
		if err := database.OrMissing(absent, nil, "load %s", "x"); err != nil {
			t.Errorf("a row that may be absent is %v", err)
		}
		if err := database.OrMissing(nil, missing, "load %s", "x"); err != nil {
			t.Errorf("a row that was read is %v", err)
		}
		err := database.OrMissing(broken, missing, "load %s", "x")
		if !errors.Is(err, broken) || err.Error() != "load x: "+broken.Error() {
			t.Errorf("a failed read is %v", err)
		}
	})
}

func TestWhere(t *testing.T) {
	t.Parallel()
	var w database.Where
	if w.String() != "" {
		t.Errorf("without conditions it is %q", w.String())
	}
	w.And("a = ?", 1)
	w.And("b IS NULL")
	w.And("(c, d) < (?, ?)", 2, "x")
	if got, want := w.String(), " WHERE a = $1 AND b IS NULL AND (c, d) < ($2, $3) "; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	if got := w.Bind(9); got != "$4" || !slices.Equal(w.Args, []any{1, 2, "x", 9}) {
		t.Errorf("Bind = %q, arguments %v", got, w.Args)
	}
}

// A statement that is run in slices changes everything, and says how much.
func TestExecInSlices(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		write(t, db, func(ctx context.Context, tx *database.Tx) error {
			return tx.Insert(ctx, insertThing, things(1, 25), "")
		})
		for _, want := range []int64{25, 0} {
			n, err := db.ExecInSlices(t.Context(), 10,
				`DELETE FROM thing WHERE id IN (SELECT id FROM thing WHERE id > $1 ORDER BY id LIMIT $2)`, 0, 10)
			if err != nil || n != want {
				t.Errorf("ExecInSlices = %d, %v; want %d", n, err, want)
			}
		}
		if n := count(t, db); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}
