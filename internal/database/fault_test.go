package database_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
)

func TestPostgresAwayAndBack(t *testing.T) {
	t.Parallel()
	o, line := dbtest.PostgresOnALine(t)
	db := dbtest.Open(t, o)
	makeTable(t, db)
	line.Cut()
	if err := db.Write(t.Context(), database.Change{Do: insert(1)}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("write while away: %v, want unavailable", err)
	}
	if err := db.Ping(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("ping while away: %v, want unavailable", err)
	}
	line.Mend()
	if err := db.Ping(t.Context()); err != nil {
		t.Errorf("ping after return: %v", err)
	}
	write(t, db, insert(2))
	if n := count(t, db); n != 1 {
		t.Errorf("%d rows, want only the one acknowledged", n)
	}
}

func TestPostgresCutInsideATransaction(t *testing.T) {
	t.Parallel()
	o, line := dbtest.PostgresOnALine(t)
	db := dbtest.Open(t, o)
	makeTable(t, db)
	err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		if err := insert(1)(ctx, tx); err != nil {
			return err
		}
		line.Cut()
		return insert(2)(ctx, tx)
	}})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("err = %v, want unavailable", err)
	}
	line.Mend()
	if n := count(t, db); n != 0 {
		t.Errorf("%d rows of a change that was cut, want 0", n)
	}
}

func TestSQLiteFull(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, dbtest.SQLite(t))
	makeTable(t, db)
	write(t, db, insert(1))
	write(t, db, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `PRAGMA max_page_count = 1`) // clamps to the present size
		return err
	})
	err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO thing (id, note) VALUES (2, $1)`, strings.Repeat("x", 1<<20))
		return err
	}})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("err = %v, want unavailable", err)
	}
	write(t, db, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `PRAGMA max_page_count = 1000000`)
		return err
	})
	write(t, db, insert(3))
	if n := count(t, db); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

func TestSQLiteLockedByAnotherProcess(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	db := dbtest.Open(t, o)
	makeTable(t, db)
	unlock := lockSQLite(t, o.SQLitePath)
	if err := db.Write(t.Context(), database.Change{Do: insert(1)}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("err = %v, want unavailable", err)
	}
	unlock()
	write(t, db, insert(2))
}

// lockSQLite keeps every other writer from a file until unlock, as another
// process would.
func lockSQLite(t *testing.T, path string) (unlock func()) {
	t.Helper()
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	lock, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := lock.ExecContext(t.Context(), `ROLLBACK`); err != nil {
			t.Fatal(err)
		}
		lock.Close()
	}
}

func TestSQLiteFileGone(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	db := dbtest.Open(t, o)
	if err := os.Remove(o.SQLitePath); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("ping: %v, want unavailable", err)
	}
}

func TestSQLiteFileIsPrivate(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	dbtest.Open(t, o)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(o.SQLitePath + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s%s has mode %o, want 600", filepath.Base(o.SQLitePath), suffix, mode)
		}
	}
}

func TestBadURLKeepsItsPassword(t *testing.T) {
	t.Parallel()
	_, err := database.Open(t.Context(), database.Options{PostgresURL: "postgres://u:hunter2@[bad/x"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("err = %v, want one without the password", err)
	}
}

func TestBackupWhileWriting(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	db := dbtest.Open(t, o)
	makeTable(t, db)
	write(t, db, insert(1))
	path := filepath.Join(t.TempDir(), "copy.db")
	release := hold(t, db)
	err := database.BackupSQLite(t.Context(), o.SQLitePath, path)
	release()
	if err != nil {
		t.Fatalf("backup: %v", err)
	}
	write(t, db, insert(2))
	if n := count(t, dbtest.Open(t, database.Options{SQLitePath: path})); n != 1 {
		t.Errorf("%d rows in the copy, want 1", n)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the copy: %v, %v", info.Mode(), err)
	}
}

func TestLostCommitIsNotRunAgain(t *testing.T) {
	t.Parallel()
	o, line := dbtest.PostgresOnALine(t)
	db := dbtest.Open(t, o)
	write(t, db, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE event (note TEXT NOT NULL)`) // nothing refuses a second row
		return err
	})
	release := hold(t, db)
	results := make([]error, 10)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			results[i] = db.Write(context.Background(), database.Change{Lane: database.Urgent, Do: func(
				ctx context.Context, tx *database.Tx,
			) error {
				_, err := tx.Exec(ctx, `INSERT INTO event (note) VALUES ($1)`, "x")
				return err
			}})
		})
	}
	waitQueued(t, db, len(results))
	line.LoseCommits(true)
	release()
	wg.Wait()
	line.LoseCommits(false)
	line.Mend()
	answered := 0
	for _, err := range results {
		if err == nil {
			answered++
		} else if !fault.Is(err, fault.Unavailable) {
			t.Errorf("err = %v, want unavailable", err)
		}
	}
	var rows int
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM event`).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if rows > len(results) || answered > rows {
		t.Errorf("%d rows of %d changes, %d acknowledged: a change ran twice or was lost", rows, len(results), answered)
	}
	if answered == len(results) {
		t.Error("no commit was lost; the test shows nothing")
	}
}

func TestAChangeIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	o.ChangeLimit = database.ChangeLimit
	db := dbtest.Open(t, o)
	makeTable(t, db)
	unlock := lockSQLite(t, o.SQLitePath)
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := db.Write(context.Background(), database.Change{
				Do: insert(i),
			}); !fault.Is(err, fault.Unavailable) {
				t.Errorf("err = %v, want unavailable", err)
			}
		})
	}
	wg.Wait()
	// Twenty changes one after the other would take many times their limit.
	if took := time.Since(begun); took > 4*database.ChangeLimit {
		t.Errorf("the last answer came after %s", took)
	}
	unlock()
	write(t, db, insert(99))
	if n := count(t, db); n != 1 {
		t.Errorf("%d rows, want only the one made after the lock", n)
	}
}
