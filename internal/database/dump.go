package database

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/jackc/pgx/v5"
)

// DumpPostgres copies a PostgreSQL database to a file with pg_dump, which does
// it from one snapshot while others write.
func DumpPostgres(ctx context.Context, url, path string) error {
	return runPostgresTool(ctx, url, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file="+path)
}

// RestorePostgres reads such a file into an empty database, whole or not at all.
func RestorePostgres(ctx context.Context, url, path string) error {
	if err := requireEmpty(ctx, url); err != nil {
		return err
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return errUnreadableURL
	}
	return runPostgresTool(ctx, url, "pg_restore", "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges",
		"--dbname="+config.Database, path)
}

// errUnreadableURL stands for pgx's own message, which may quote the password.
var errUnreadableURL = errors.New("DATABASE_URL cannot be read as a PostgreSQL URL")

func requireEmpty(ctx context.Context, url string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return errUnreadableURL
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return classify(err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	var tables int
	const count = `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()`
	if err := conn.QueryRow(ctx, count).Scan(&tables); err != nil {
		return classify(err)
	}
	if tables > 0 {
		return fmt.Errorf("the PostgreSQL database is not empty: restore into a new one")
	}
	return nil
}

// runPostgresTool gives the connection to the tool by environment: arguments
// are visible to every user of the machine, and the URL holds a password.
func runPostgresTool(ctx context.Context, url, tool string, args ...string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return errUnreadableURL
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Env = append(os.Environ(),
		"PGHOST="+config.Host, fmt.Sprintf("PGPORT=%d", config.Port), "PGUSER="+config.User,
		"PGPASSWORD="+config.Password, "PGDATABASE="+config.Database, "PGSSLMODE="+sslMode(config))
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%s is not installed: install PostgreSQL's client programs", tool)
		}
		return fmt.Errorf("%s: %w: %s", tool, err, strings.TrimSpace(complaint.String()))
	}
	return nil
}

// sslMode asks for TLS where the URL did. The certificate is then checked by
// the tool's own settings (PGSSLROOTCERT).
func sslMode(config *pgx.ConnConfig) string {
	switch {
	case config.TLSConfig == nil:
		return "prefer"
	case config.TLSConfig.InsecureSkipVerify:
		return "require"
	}
	return "verify-full"
}
