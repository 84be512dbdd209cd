package database

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DumpPostgres copies a PostgreSQL database to a file with pg_dump, from one snapshot
// while others write.
func DumpPostgres(ctx context.Context, address, path string) error {
	return runPostgresTool(ctx, address, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file="+path)
}

// RestorePostgres reads such a file into an empty database, whole or not at all. No server opens it before EndRestore.
func RestorePostgres(ctx context.Context, address, path string) error {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return errUnreadableURL
	}
	tables, ours, err := countTables(ctx, config)
	switch {
	case err != nil:
		return err
	case ours > 0:
		return errors.New("the PostgreSQL database is not empty: restore into a new one; or, if a restore that failed has " +
			"loaded the backup into it, go on with writd restore --loaded")
	case tables > 0:
		return errors.New("the PostgreSQL database is not empty: restore into a new one")
	}
	err = runPostgresTool(ctx, address, "pg_restore", "--single-transaction", "--exit-on-error", "--no-owner",
		"--no-privileges", "--dbname="+config.Database, path)
	if err != nil {
		return err
	}
	// pg_restore is content with some files that hold nothing.
	if _, ours, err := countTables(ctx, config); err != nil || ours == 0 {
		return errors.Join(fmt.Errorf("%s holds no database of Writ", path), err)
	}
	return markUnfinished(ctx, config)
}

// RequireLoaded refuses a PostgreSQL database that nothing of ours was put into: opening it would make a new one.
func RequireLoaded(ctx context.Context, address string) error {
	err := RequirePostgresOf(ctx, address, Main)
	if errors.Is(err, ErrNoWrit) {
		return fmt.Errorf("%w: put the backup into it first", ErrNoWrit)
	}
	return err
}

// ErrNoWrit refuses a PostgreSQL database that is not ours.
var ErrNoWrit = errors.New("the PostgreSQL database holds none of Writ")

// RequirePostgresOf refuses a PostgreSQL database without a store: opening it would make one, and a copy of it is worth
// nothing. A table of migrations alone says little: other programs have one, too.
func RequirePostgresOf(ctx context.Context, address string, store Store) error {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return errUnreadableURL
	}
	if store == Telemetry {
		config.RuntimeParams["search_path"] = string(Telemetry)
	}
	steps, err := loadMigrations(embedded(store), PostgreSQL)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return classify(err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	var digest string
	const first = `SELECT coalesce(digest::text, '') FROM schema_migration WHERE version::text = $1`
	err = conn.QueryRow(ctx, first, strconv.Itoa(steps[0].version)).Scan(&digest)
	pg, refused := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil && digest == steps[0].digest:
		return nil
	case err == nil, errors.Is(err, pgx.ErrNoRows):
		return ErrNoWrit
	case refused && (pg.Code == "42P01" || pg.Code == "42703"): // there is no such table, or no such column
		return ErrNoWrit
	}
	return fmt.Errorf("look for Writ in the PostgreSQL database: %w", classify(err))
}

// errUnreadableURL replaces pgx's own message, which may quote the password.
var errUnreadableURL = errors.New("DATABASE_URL cannot be read as a PostgreSQL URL")

// countTables counts the tables, and those that every database of ours has.
func countTables(ctx context.Context, config *pgx.ConnConfig) (all, ours int, err error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return 0, 0, classify(err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	err = conn.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE tablename = 'audit_head')
		FROM pg_tables
		WHERE schemaname = current_schema()`).Scan(&all, &ours)
	return all, ours, classify(err)
}

// runPostgresTool passes the connection by environment: every user of the machine sees
// arguments, and the URL holds a password.
func runPostgresTool(ctx context.Context, address, tool string, args ...string) error {
	settings, err := postgresSettings(address)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Env = append(os.Environ(), settings...)
	return runTool(cmd)
}

// runTool runs a program of PostgreSQL. Its error says what the program said.
func runTool(cmd *exec.Cmd) error {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		tool := cmd.Args[0]
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%s is not installed: install PostgreSQL's client programs, or run it where they are "+
				"(docs/operations.md, Backup and restore)", tool)
		}
		return fmt.Errorf("%s: %w: %s", tool, err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// postgresSettings are the variables by which PostgreSQL's programs connect as the URL
// says. What it leaves open they decide as pgx does, by the same environment.
func postgresSettings(address string) ([]string, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errUnreadableURL
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errUnreadableURL
	}
	settings := []string{
		"PGHOST=" + config.Host, fmt.Sprintf("PGPORT=%d", config.Port), "PGUSER=" + config.User,
		"PGPASSWORD=" + config.Password, "PGDATABASE=" + config.Database,
	}
	for _, name := range []string{"sslmode", "sslrootcert", "sslcert", "sslkey"} {
		if value := u.Query().Get(name); value != "" {
			settings = append(settings, "PG"+strings.ToUpper(name)+"="+value)
		}
	}
	return settings, nil
}
