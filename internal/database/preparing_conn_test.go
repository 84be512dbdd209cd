package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// What goes straight to the driver is stored as database/sql would store it.
func TestInsertStoresValuesOfAnyType(t *testing.T) {
	t.Parallel()
	type text string
	number := int64(7)
	db := dbtest.Open(t, dbtest.SQLite(t))
	write(t, db, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE one (way TEXT NOT NULL, value)`)
		return err
	})
	for _, value := range []any{
		nil, 1, int64(-1), uint8(2), 1.5, true, false, "a text", "", text("its own type"), []byte("bytes"), []byte{},
		[]byte(nil), &number, (*int64)(nil),
		sql.NullString{}, sql.NullString{String: "there", Valid: true}, sql.NullInt64{Int64: 3, Valid: true},
	} {
		name := fmt.Sprintf("%T %v", value, value)
		write(t, db, func(ctx context.Context, tx *database.Tx) error {
			if _, err := tx.Exec(ctx, `DELETE FROM one`); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO one (way, value) VALUES ($1, $2)`, "exec", value); err != nil {
				return err
			}
			if _, err := tx.Prepared().Exec(ctx, `INSERT INTO one (way, value) VALUES ($1, $2)`, "prepared",
				value); err != nil {
				return err
			}
			return tx.Insert(ctx, `INSERT INTO one (way, value)`, [][]any{{"insert", value}}, "")
		})
		var rows, distinct int
		err := db.QueryRow(t.Context(),
			`SELECT count(*), count(DISTINCT typeof(value) || ' ' || quote(value)) FROM one`).Scan(&rows, &distinct)
		if err != nil || rows != 3 || distinct != 1 {
			t.Errorf("%s: %d rows with %d values, err = %v", name, rows, distinct, err)
		}
	}
	err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		return tx.Insert(ctx, `INSERT INTO one (way, value)`, [][]any{{"insert", make(chan int)}}, "")
	}})
	if err == nil {
		t.Error("a channel was stored")
	}
}

// A change whose time ends is absent as a whole, whatever it still does.
func TestNothingIsStoredAfterTime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		err := database.TransactWithin(ctx, db, func(ctx context.Context, tx *database.Tx) error {
			cancel()
			for i := range int64(100) {
				if err := tx.Insert(context.WithoutCancel(ctx), insertThing, things(i*10, i*10+9), ""); err != nil {
					break // the transaction may have ended by itself
				}
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) && !errors.Is(err, sql.ErrTxDone) || count(t, db) != 0 {
			t.Errorf("err = %v, %d rows", err, count(t, db))
		}
		write(t, db, insert(1))
	})
}

// What was compiled belongs to its connection, and is compiled anew for the next.
func TestInsertOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		for round := range int64(3) {
			write(t, db, func(ctx context.Context, tx *database.Tx) error {
				if _, err := tx.Prepared().Exec(ctx, `UPDATE thing SET note = $1`, "seen"); err != nil {
					return err
				}
				return tx.Insert(ctx, insertThing, things(round*100, round*100+41), "")
			})
			if err := database.LoseWritingConnection(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		}
		if got := count(t, db); got != 3*42 {
			t.Errorf("%d rows", got)
		}
	})
}
