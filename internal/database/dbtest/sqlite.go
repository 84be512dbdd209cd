package dbtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"writ/internal/database"
)

// MigratedSQLite writes a migrated file of a store where there is none, which costs a
// hundredth of migrating. Migrations have tests of their own.
func MigratedSQLite(t testing.TB, path string, store database.Store) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("look for the database: %v", err)
	}
	migrated, known := sqliteTemplates[store]
	if !known {
		t.Fatalf("no SQLite template of the store %q", store)
	}
	content, err := migrated()
	if err != nil {
		t.Fatalf("prepare the SQLite template: %v", err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatalf("copy the SQLite template: %v", err)
	}
}

// sqliteTemplates are the contents of migrated files, each made once a test program.
var sqliteTemplates = map[database.Store]func() ([]byte, error){
	database.Main:      sync.OnceValues(func() ([]byte, error) { return migratedFile(database.Main) }),
	database.Telemetry: sync.OnceValues(func() ([]byte, error) { return migratedFile(database.Telemetry) }),
}

func migratedFile(store database.Store) (content []byte, err error) {
	dir, err := os.MkdirTemp("", "template")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "writ.db")
	db, err := database.Open(context.Background(), database.Options{Store: store, SQLitePath: path})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	// The last connection that closes empties the log into the file and removes it.
	if _, err := os.Stat(path + "-wal"); err == nil {
		return nil, errors.New("the template's log was not emptied")
	}
	return os.ReadFile(path)
}
