// Package dbtest runs a test on every database Writ supports: SQLite in a
// temporary file, and PostgreSQL in a database of the test's own on the server
// TEST_POSTGRES_URL names, both copied from a migrated template.
//
// A missing PostgreSQL fails the test; it is never skipped. `make test` and
// scripts/with-postgres start one.
package dbtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"writ/internal/database"
)

const serverVariable = "TEST_POSTGRES_URL"

// patience is how long a change may take: a busy machine must not decide a test. Where the database goes away
// (PostgresOnALine), the limit is that of the product.
const patience = time.Minute

// Each runs the test body once on each engine, in parallel.
func Each(t *testing.T, body func(t *testing.T, db *database.DB)) {
	t.Helper()
	EachOptions(t, func(t *testing.T, o database.Options) {
		body(t, Open(t, o))
	})
}

// EachOptions is Each for tests that open the database themselves, perhaps
// more than once.
func EachOptions(t *testing.T, body func(t *testing.T, o database.Options)) {
	t.Helper()
	t.Run(string(database.SQLite), func(t *testing.T) {
		t.Parallel()
		body(t, SQLite(t))
	})
	t.Run(string(database.PostgreSQL), func(t *testing.T) {
		t.Parallel()
		body(t, Postgres(t))
	})
}

// Open opens a database for the length of the test. A file that is not there yet
// is copied from a migrated one.
func Open(t testing.TB, o database.Options) *database.DB {
	t.Helper()
	if o.PostgresURL == "" {
		MigratedSQLite(t, o.SQLitePath, cmp.Or(o.Store, database.Main))
	}
	db, err := database.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open %s: %v", t.Name(), err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
		db = nil // testing keeps this function to the program's end
	})
	return db
}

// SQLite names a database file of the test's own.
func SQLite(t testing.TB) database.Options {
	t.Helper()
	return database.Options{SQLitePath: filepath.Join(t.TempDir(), "writ.db"), ChangeLimit: patience}
}

// Postgres makes a migrated PostgreSQL database of the test's own.
func Postgres(t testing.TB) database.Options {
	t.Helper()
	server := serverURL(t)
	template, err := makeTemplate()
	if err != nil {
		t.Fatalf("prepare the PostgreSQL template: %v", err)
	}
	return createDatabase(t, server, "TEMPLATE "+template)
}

// EmptyPostgres makes a PostgreSQL database without our tables.
func EmptyPostgres(t testing.TB) database.Options {
	t.Helper()
	return createDatabase(t, serverURL(t), "")
}

func serverURL(t testing.TB) string {
	t.Helper()
	server := os.Getenv(serverVariable)
	if server == "" {
		t.Fatalf("%s is not set: run `make test`, or `scripts/with-postgres go test ...`", serverVariable)
	}
	return server
}

func createDatabase(t testing.TB, server, clause string) database.Options {
	t.Helper()
	name := "writ_test_" + randomName()
	if err := execute(server, fmt.Sprintf(`CREATE DATABASE %s %s`, name, clause)); err != nil {
		t.Fatalf("create a PostgreSQL database: %v", err)
	}
	t.Cleanup(func() {
		if err := execute(server, fmt.Sprintf(`DROP DATABASE %s WITH (FORCE)`, name)); err != nil {
			t.Errorf("drop %s: %v", name, err)
		}
	})
	return database.Options{PostgresURL: withDatabase(server, name), ChangeLimit: patience}
}

// makeTemplate migrates one template for this test program, once.
var makeTemplate = sync.OnceValues(func() (string, error) { return migratedTemplate(os.Getenv(serverVariable)) })

// migratedTemplate names a template by its schema, so that all test programs of a run share
// it; the first one makes it.
func migratedTemplate(server string) (string, error) {
	name := "writ_template_" + database.SchemaDigest()[:12]
	making := name + "_" + randomName()
	if exists, err := databaseExists(server, name); err != nil || exists {
		return name, err
	}
	if err := execute(server, `CREATE DATABASE `+making); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, store := range []database.Store{database.Main, database.Telemetry} {
		db, err := database.Open(ctx, database.Options{Store: store, PostgresURL: withDatabase(server, making)})
		if err != nil {
			return "", err
		}
		if err := db.Close(); err != nil {
			return "", err
		}
	}
	// A rename is atomic: the second program drops its own and uses the first.
	err := execute(server, fmt.Sprintf(`ALTER DATABASE %s RENAME TO %s`, making, name))
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "42P04" {
		return name, execute(server, `DROP DATABASE `+making)
	}
	return name, err
}

func databaseExists(server, name string) (exists bool, err error) {
	err = withServer(server, func(ctx context.Context, db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)`,
			name).Scan(&exists)
	})
	return exists, err
}

func execute(server, statement string) error {
	return withServer(server, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, statement)
		return err
	})
}

func withServer(server string, do func(ctx context.Context, db *sql.DB) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("pgx", server)
	if err != nil {
		return err
	}
	defer db.Close()
	return do(ctx, db)
}

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(fmt.Sprintf("%s is not a URL: %v", serverVariable, err))
	}
	u.Path = "/" + name
	return u.String()
}

func randomName() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
