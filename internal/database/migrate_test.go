package database_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"writ/internal/database"
	"writ/internal/database/dbtest"
)

func TestEmbeddedMigrationsLoad(t *testing.T) {
	t.Parallel()
	for _, store := range []database.Store{database.Main, database.Telemetry} {
		for _, engine := range []database.Engine{database.SQLite, database.PostgreSQL} {
			steps, err := database.LoadMigrations(database.Embedded(store), engine)
			if err != nil || len(steps) == 0 {
				t.Errorf("%s on %s: %d steps, %v", store, engine, len(steps), err)
			}
		}
	}
}

func TestMigrationNames(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{
		"gap":         {"0001_a.sql", "0003_c.sql"},
		"twice":       {"0001_a.sql", "0001_b.sql"},
		"no number":   {"first.sql"},
		"wrong start": {"0002_b.sql"},
	} {
		tree := fstest.MapFS{}
		for _, file := range files {
			tree[file] = &fstest.MapFile{Data: []byte("SELECT 1")}
		}
		if _, err := database.LoadMigrations(tree, database.SQLite); err == nil {
			t.Errorf("%s: %v accepted", name, files)
		}
	}
	pair := fstest.MapFS{
		"0001_a.sql":          {Data: []byte("SELECT 1")},
		"0002_b.sqlite.sql":   {Data: []byte("SELECT 2")},
		"0002_b.postgres.sql": {Data: []byte("SELECT 3")},
	}
	if steps, err := database.LoadMigrations(pair, database.PostgreSQL); err != nil || len(steps) != 2 {
		t.Errorf("pair: %d steps, %v", len(steps), err)
	}
}

func TestAlteredOrNewerPastIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		// The database already has the embedded steps; other files are another past.
		other := fstest.MapFS{"0001_audit.sql": {Data: []byte("SELECT 1")}}
		if err := database.Migrate(db, t.Context(), other); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("fewer steps than applied: %v", err)
		}
		steps, err := database.LoadMigrations(database.Embedded(database.Main), db.Engine())
		if err != nil {
			t.Fatal(err)
		}
		altered := fstest.MapFS{}
		for i := range steps {
			altered[fmt.Sprintf("%04d_x.sql", i+1)] = &fstest.MapFile{Data: []byte("SELECT 1")}
		}
		if err := database.Migrate(db, t.Context(), altered); err == nil ||
			!strings.Contains(err.Error(),
				"another build of Writ made it; start that one, or begin with an empty data folder") {
			t.Errorf("altered step: %v", err)
		}
	})
}

func TestFailedStepLeavesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		names, err := fs.Glob(database.Embedded(database.Main), "*.sql")
		if err != nil {
			t.Fatal(err)
		}
		tree := fstest.MapFS{}
		for _, name := range names {
			data, err := fs.ReadFile(database.Embedded(database.Main), name)
			if err != nil {
				t.Fatal(err)
			}
			tree[name] = &fstest.MapFile{Data: data}
		}
		tree[fmt.Sprintf("%04d_bad.sql",
			len(names)+
				1)] = &fstest.MapFile{Data: []byte(`CREATE TABLE half (id BIGINT); CREATE TABLE half (id BIGINT)`)}
		if err := database.Migrate(db, t.Context(), tree); err == nil {
			t.Fatal("a failing step was applied")
		}
		var id int
		if err := db.QueryRow(t.Context(), `SELECT id FROM half`).Scan(&id); err == nil ||
			!strings.Contains(err.Error(), "half") {
			t.Errorf("the table of the failed step: %v, want that it does not exist", err)
		}
	})
}

func TestReplicasStartingAtOnceMigrateOnce(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) { t.Parallel(); openAtOnce(t, dbtest.EmptyPostgres(t), database.PostgreSQL) })
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); openAtOnce(t, dbtest.SQLite(t), database.SQLite) })
}

func openAtOnce(t *testing.T, o database.Options, engine database.Engine) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := database.Open(context.Background(), o)
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	wg.Wait()
	steps, err := database.LoadMigrations(database.Embedded(database.Main), engine)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := dbtest.Open(t, o).QueryRow(t.Context(), `SELECT count(*) FROM schema_migration`).Scan(&n); err != nil ||
		n != len(steps) {
		t.Errorf("%d migrations recorded (%v), want %d", n, err, len(steps))
	}
}
