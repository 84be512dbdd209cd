package database_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// TestStartAfterACrash opens a copy of a telemetry store whose write-ahead log has grown to its bound, as a
// crash leaves it. The next start reads all of it, finds every commit, and leaves a log that is short again.
func TestStartAfterACrash(t *testing.T) {
	t.Parallel()
	o := dbtest.SQLite(t)
	o.Store = database.Telemetry
	db := dbtest.Open(t, o)
	makeTable(t, db)
	// A reader keeps the log from beginning anew, as a long export would.
	fill := strings.Repeat("x", 1<<20)
	held, err := db.Query(t.Context(), `SELECT id FROM thing`)
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for ; db.LogBytes() < database.MaxLogBytes; rows++ {
		write(t, db, func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO thing (id, note) VALUES ($1, $2)`, rows, fill)
			return err
		})
	}
	crashed := database.Options{Store: database.Telemetry, SQLitePath: filepath.Join(t.TempDir(), "telemetry.db")}
	for _, part := range []string{"", "-wal"} {
		copyFile(t, o.SQLitePath+part, crashed.SQLitePath+part)
	}
	held.Close()
	began := time.Now()
	again := dbtest.Open(t, crashed)
	took := time.Since(began)
	if n := count(t, again); int64(n) != rows {
		t.Errorf("%d rows after the crash, want %d", n, rows)
	}
	t.Logf("a start with a log of %d MB took %s", database.MaxLogBytes>>20, took)
	if left := again.LogBytes(); left > 0 {
		t.Errorf("the log still has %d bytes after the start", left)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
}
