package database_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
)

// away takes a file of an open database out of its place, and gives what puts it back.
type away func(t *testing.T, path string) (back func())

func moveAway(t *testing.T, path string) (back func()) {
	t.Helper()
	rename(t, path, path+".away")
	return func() { rename(t, path+".away", path) }
}

// replaceByCopy puts a copy there at once, as mv over a file does.
func replaceByCopy(t *testing.T, path string) (back func()) {
	t.Helper()
	if err := os.Link(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".copy", content, 0o600); err != nil {
		t.Fatal(err)
	}
	rename(t, path+".copy", path)
	return func() { rename(t, path+".away", path) }
}

func moveFolderAway(t *testing.T, path string) (back func()) {
	t.Helper()
	return moveAway(t, filepath.Dir(path))
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// SQLite goes on in a file that was removed or replaced. What it commits there is lost with the process.
func TestSQLiteFilesOutOfPlace(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]away{"moved": moveAway, "replaced": replaceByCopy} {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			t.Run(name+suffix, func(t *testing.T) {
				t.Parallel()
				testOutOfPlace(t, func(t *testing.T, path string) (back func()) {
					t.Helper()
					return take(t, path+suffix)
				})
			})
		}
	}
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		testOutOfPlace(t, moveFolderAway)
	})
}

func testOutOfPlace(t *testing.T, take away) {
	t.Helper()
	o := database.Options{SQLitePath: filepath.Join(t.TempDir(), "data", "writ.db")}
	if err := os.Mkdir(filepath.Dir(o.SQLitePath), 0o700); err != nil {
		t.Fatal(err)
	}
	db := dbtest.Open(t, o)
	makeTable(t, db)
	write(t, db, insert(1))
	back := take(t, o.SQLitePath)
	for _, lane := range []database.Lane{database.Urgent, database.Ordinary} {
		err := db.Write(t.Context(), database.Change{Lane: lane, Do: insert(2)})
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("a change: %v, want unavailable", err)
		}
	}
	if err := db.Maintain(t.Context(), insert(3)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("maintenance: %v, want unavailable", err)
	}
	if err := db.Ping(t.Context()); !fault.Is(err, fault.Unavailable) || !db.IsFailing() {
		t.Errorf("ping: %v, failing %t, want unavailable", err, db.IsFailing())
	}
	back()
	write(t, db, insert(4))
	if err := errors.Join(db.Ping(t.Context()), db.CheckWritable(t.Context()), db.Close()); err != nil {
		t.Errorf("with the file in its place again: %v", err)
	}
	if n := count(t, dbtest.Open(t, o)); n != 2 {
		t.Errorf("%d rows, want the two that were acknowledged", n)
	}
}

// A connection that is made anew while another file is there must not go on with that one, also when the first is back.
func TestSQLiteConnectsToItsOwnFileOnly(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	db := dbtest.Open(t, o)
	makeTable(t, db)
	back := replaceByCopy(t, o.SQLitePath)
	if err := database.LoseWritingConnection(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), database.Change{Do: insert(1)}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a change: %v, want unavailable", err)
	}
	back()
	write(t, db, insert(2))
	if n := count(t, db); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// The last connection that closes removes the log: the next one begins another.
func TestSQLiteConnectsAnewWithAnotherLog(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	db := dbtest.Open(t, o)
	if err := database.LoseWritingConnection(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	makeTable(t, db)
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	write(t, db, insert(1))
}

// What is committed when the file is gone already is not acknowledged.
func TestSQLiteFileGoneDuringAChange(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	db := dbtest.Open(t, o)
	makeTable(t, db)
	var back func()
	released := false
	err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		tx.AfterCommit(func() { released = true })
		back = moveAway(t, o.SQLitePath)
		return insert(1)(ctx, tx)
	}})
	if !fault.Is(err, fault.Unavailable) || released {
		t.Errorf("%v, released %t, want unavailable, and nothing released", err, released)
	}
	back()
	write(t, db, insert(2))
}

// Only the log's name is gone: what was acknowledged is in the file once the database has closed.
func TestSQLiteLogRemoved(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	db := dbtest.Open(t, o)
	makeTable(t, db)
	write(t, db, insert(1))
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(o.SQLitePath + suffix); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Write(t.Context(), database.Change{Do: insert(2)}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a change: %v, want unavailable", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := dbtest.Open(t, o)
	write(t, again, insert(3))
	if n := count(t, again); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}
