package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/secret"
)

// makeDataDir makes the data folder, readable by its owner only.
func makeDataDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	return nil
}

// lockDataDir keeps a second server from the same data. The system releases the lock when
// the process ends.
func lockDataDir(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, "writ.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write to the data folder, which must belong to the user who runs this: %w", err)
	}
	if err := tryLock(file); err != nil {
		file.Close()
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("the data folder %s is in use by another writd: stop that one first, or set WRIT_DATA_DIR", dir)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() error {
		// A process that is being started has a copy of the file for a moment, which would keep the lock.
		return errors.Join(releaseLock(file), file.Close())
	}, nil
}

// openSealer makes the sealer from the configured master key, else from the one in the
// data folder, which the first start makes.
func openSealer(c config.Config) (*secret.Sealer, error) {
	text := c.MasterKey
	if !text.IsSet() {
		var err error
		if text, err = masterKeyIn(c.DataDir); err != nil {
			return nil, err
		}
	}
	key, err := secret.ParseMasterKey(text.Reveal())
	if err != nil {
		return nil, fmt.Errorf("master key: %w", err)
	}
	return secret.NewSealer(key)
}

func masterKeyIn(dir string) (secret.Text, error) {
	path := filepath.Join(dir, "master.key")
	// A command and a server that start together must not make a key each: one of them
	// would be lost, with all it sealed.
	folder, err := lockFolder(dir)
	if err != nil {
		return secret.Text{}, fmt.Errorf("lock the data folder: %w", err)
	}
	defer folder.Close() // and with it the lock
	content, err := os.ReadFile(path)
	if err == nil {
		return secret.NewText(strings.TrimSpace(string(content))), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return secret.Text{}, fmt.Errorf("read the master key: %w", err)
	}
	// A new key would not open an existing database, and must not hide that its key is
	// missing.
	sealed := filepath.Join(dir, "writ.db")
	if hasContent(sealed) {
		return secret.Text{}, fmt.Errorf("%s is missing, but there is a database sealed with it; put it back or set WRIT_MASTER_KEY", path)
	}
	// The empty file comes first: a start that ends between the two must not look like a lost database.
	if err := touchPrivate(sealed); err != nil {
		return secret.Text{}, fmt.Errorf("make the database file: %w", err)
	}
	key := secret.NewMasterKey()
	if err := writePrivate(path, []byte(key.Reveal()+"\n")); err != nil {
		return secret.Text{}, fmt.Errorf("keep the new master key: %w", err)
	}
	return key, nil
}

// refuseMissingDatabase keeps a server from taking a data folder whose database was lost for a new one: it would make
// an empty database and new accounts. What an earlier start left there tells the two apart.
func refuseMissingDatabase(c config.Config) error {
	missing := databasePath(c)
	if c.UsesPostgres() || hasContent(missing) {
		return nil
	}
	left := []string{telemetryPath(c), FirstRunPath(c)}
	if _, err := os.Stat(missing); errors.Is(err, fs.ErrNotExist) {
		left = append(left, filepath.Join(c.DataDir, "master.key"))
	}
	for _, path := range left {
		if hasContent(path) {
			return fmt.Errorf("%s is missing or empty, but %s is there, so this is not a first run: restore a backup with `writd restore`, put the file back, or start anew with an empty WRIT_DATA_DIR", missing, path)
		}
	}
	return nil
}

// IsNewDatabase says whether opening the database will make one, as it does in a folder that is not the server's.
// PostgreSQL is named, and not found by chance.
func IsNewDatabase(c config.Config) bool { return !c.UsesPostgres() && !hasContent(databasePath(c)) }

// DatabaseFile is the database's whole path, for people.
func DatabaseFile(c config.Config) string {
	if whole, err := filepath.Abs(databasePath(c)); err == nil {
		return whole
	}
	return databasePath(c)
}

// MadeDatabase tells people of a new database, which may be in another folder than the server's.
func MadeDatabase(path string) string {
	return "made a new database: " + path + "; start the server with the same WRIT_DATA_DIR, or in this folder"
}

// RequireDatabase refuses a data folder, or a PostgreSQL, in which no server has begun: a command would make a database
// there, and find nothing in it.
func RequireDatabase(ctx context.Context, c config.Config) error {
	if c.UsesPostgres() {
		return requirePostgres(ctx, c)
	}
	if hasContent(databasePath(c)) {
		return nil
	}
	if err := refuseHiddenDatabase(databasePath(c)); err != nil {
		return err
	}
	if err := refuseMissingDatabase(c); err != nil {
		return err
	}
	return fmt.Errorf("%w; a new one begins with writd user create, or with writd serve", noDatabase(databasePath(c)))
}

func requirePostgres(ctx context.Context, c config.Config) error {
	err := requirePostgresOf(ctx, c.DatabaseURL, database.Main)
	if errors.Is(err, database.ErrNoWrit) {
		return fmt.Errorf("%w; a new one begins with writd user create, or with writd serve", err)
	}
	if err != nil || !c.TelemetryURL.IsSet() {
		return err
	}
	// Commands do without telemetry that is away. One that is there and not ours is not to be written to.
	err = requirePostgresOf(ctx, c.TelemetryURL, database.Telemetry)
	if errors.Is(err, database.ErrNoWrit) {
		return fmt.Errorf("%w; a server that starts makes its tables there", err)
	}
	return nil
}

// requirePostgresOf refuses a PostgreSQL without a store, and says which setting names it.
func requirePostgresOf(ctx context.Context, address secret.Text, store database.Store) error {
	err := database.RequirePostgresOf(ctx, address.Reveal(), store)
	setting := "DATABASE_URL"
	if store == database.Telemetry {
		setting = "TELEMETRY_DATABASE_URL"
	}
	if errors.Is(err, database.ErrNoWrit) {
		return fmt.Errorf("%w: set %s as for the server", err, setting)
	}
	return err
}

// refuseHiddenDatabase refuses a data folder that this user may not look into: a database that nobody sees is not one
// that is missing.
func refuseHiddenDatabase(path string) error {
	if _, err := os.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return hiddenDatabase(err)
	}
	return nil
}

// hiddenDatabase says what to do where this user may not look into the database.
func hiddenDatabase(err error) error {
	return fmt.Errorf("look for the database: run this as the user to whom the server's data folder belongs "+
		"(where a package installed Writ: sudo writ-admin): %w", err)
}

// noDatabase says what is wrong where a command runs in another folder than the server.
func noDatabase(path string) error {
	return fmt.Errorf("there is no database at %s: run this in the server's folder, or set WRIT_DATA_DIR or DATABASE_URL "+
		"as for the server", path)
}

func hasContent(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// touchPrivate makes an empty file that its owner alone can read, unless there is one.
func touchPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close(), syncDir(filepath.Dir(path)))
}

// writePrivate writes a file that its owner alone can read, whole or not at all,
// and on disk before it returns.
func writePrivate(path string, content []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, writeErr := file.Write(content)
	if err := errors.Join(writeErr, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
