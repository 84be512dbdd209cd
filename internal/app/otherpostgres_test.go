package app_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/app"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// foreign is a PostgreSQL database of another program, which may have a table of migrations, too.
func foreign(t *testing.T, statement string) (o database.Options, tables func() int) {
	t.Helper()
	o = dbtest.EmptyPostgres(t)
	db, err := sql.Open("pgx", o.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	return o, func() (n int) {
		if err := db.QueryRowContext(t.Context(), `
			SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// TestOtherPostgres: a database without Writ is neither copied as if it were one, nor made one by a command that looks.
func TestOtherPostgres(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"empty":       `SELECT 1`,
		"no digest":   `CREATE TABLE schema_migration (version TEXT)`,
		"other types": `CREATE TABLE schema_migration (version TEXT, digest TEXT)`,
		"no step":     `CREATE TABLE schema_migration (version BIGINT, digest TEXT)`,
		"other step": `CREATE TABLE schema_migration AS SELECT 1::bigint AS version, 'x' AS digest;
			CREATE SCHEMA telemetry; CREATE TABLE telemetry.schema_migration AS SELECT 1::bigint AS version, 'x' AS digest`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other, tables := foreign(t, statement)
			before := tables()
			o := options(t, other)
			refusesOther(t, o, "DATABASE_URL")
			_, err := app.RestorePresent(t.Context(), o)
			wantOther(t, "--present", err, "DATABASE_URL")
			o = options(t, dbtest.Postgres(t), "TELEMETRY_DATABASE_URL", other.PostgresURL)
			if err := app.Backup(t.Context(), o, filepath.Join(t.TempDir(), "backup")); err != nil {
				t.Errorf("backup without the telemetry: %v", err)
			}
			refusesOther(t, o, "TELEMETRY_DATABASE_URL")
			if after := tables(); after != before {
				t.Errorf("%d tables, and there were %d", after, before)
			}
		})
	}
}

// refusesOther checks that neither commands nor a copy of the telemetry go on.
func refusesOther(t *testing.T, o app.Options, setting string) {
	t.Helper()
	wantOther(t, "a command", app.RequireDatabase(t.Context(), o.Config), setting)
	path := filepath.Join(t.TempDir(), "backup")
	wantOther(t, "backup --telemetry", app.BackupTelemetry(t.Context(), o, path), setting)
	if setting == "DATABASE_URL" {
		wantOther(t, "backup", app.Backup(t.Context(), o, path), setting)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused backup left a file: %v", err)
	}
}

func wantOther(t *testing.T, what string, err error, setting string) {
	t.Helper()
	want := "the PostgreSQL database holds none of Writ: set " + setting + " as for the server"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// TestOwnPostgres: commands work with a database of Writ, also while the telemetry elsewhere is away.
func TestOwnPostgres(t *testing.T) {
	t.Parallel()
	own := dbtest.Postgres(t)
	away := strings.Replace(own.PostgresURL, "writ_test_", "no_such_", 1)
	for name, o := range map[string]app.Options{
		"one":              options(t, own),
		"two":              options(t, own, "TELEMETRY_DATABASE_URL", dbtest.Postgres(t).PostgresURL),
		"telemetry's away": options(t, own, "TELEMETRY_DATABASE_URL", away),
	} {
		if err := app.RequireDatabase(t.Context(), o.Config); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := app.RequireDatabase(t.Context(), options(t, database.Options{PostgresURL: away}).Config); err == nil ||
		errors.Is(err, database.ErrNoWrit) {
		t.Errorf("a database that is away: %v, want that it cannot be reached", err)
	}
}

func TestSQLiteIsNotRestoredIntoPostgres(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "backup.db")
	dbtest.MigratedSQLite(t, path, database.Main)
	_, err := app.Restore(t.Context(), options(t, dbtest.EmptyPostgres(t)), path)
	if err == nil || !strings.Contains(err.Error(), "is a backup of SQLite, which is restored where DATABASE_URL is not set") {
		t.Errorf("%v, want that it is a backup of SQLite", err)
	}
}
