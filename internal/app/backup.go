package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"writ/internal/database"
	"writ/internal/secret"
)

// Backup copies the database to a new file, beside a running server. It never overwrites
// a file.
func Backup(ctx context.Context, o Options, path string) error {
	return backUp(ctx, o.Config.DatabaseURL, database.Main, databasePath(o.Config), path)
}

// BackupTelemetry is Backup for the telemetry store.
func BackupTelemetry(ctx context.Context, o Options, path string) error {
	url, store := o.Config.DatabaseURL, database.Main // which holds both
	if o.Config.TelemetryURL.IsSet() {
		url, store = o.Config.TelemetryURL, database.Telemetry
	}
	return backUp(ctx, url, store, telemetryPath(o.Config), path)
}

// backUp copies a PostgreSQL database that holds a store, or else an SQLite file.
func backUp(ctx context.Context, postgres secret.Text, store database.Store, sqlite, path string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the backup file: %w: name another file", err)
	}
	if err != nil {
		return fmt.Errorf("make the backup file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if err := file.Close(); err != nil {
		return err
	}
	if postgres.IsSet() {
		if err := requirePostgresOf(ctx, postgres, store); err != nil {
			return fmt.Errorf("pg_dump was not run: %w", err)
		}
		return database.DumpPostgres(ctx, postgres.Reveal(), path)
	}
	if err := refuseHiddenDatabase(sqlite); err != nil {
		return err
	}
	if _, err := os.Stat(sqlite); err != nil {
		return noDatabase(sqlite)
	}
	return copySQLite(ctx, sqlite, path)
}

// copySQLite copies an SQLite file. The engine gives neither the path nor the reason of a file that it cannot open.
func copySQLite(ctx context.Context, sqlite, path string) error {
	err := database.BackupSQLite(ctx, sqlite, path)
	if err == nil {
		return nil
	}
	file, denied := os.OpenFile(sqlite, os.O_RDWR, 0)
	if denied != nil {
		return hiddenDatabase(denied)
	}
	return errors.Join(fmt.Errorf("%s: %w", sqlite, err), file.Close())
}
