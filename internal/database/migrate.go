package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"time"
)

//go:embed migrations/*/*.sql
var migrationFiles embed.FS

// embedded are the migrations of one store.
func embedded(store Store) fs.FS {
	sub, err := fs.Sub(migrationFiles, "migrations/"+string(store))
	if err != nil {
		panic(err) // the pattern above names the folder
	}
	return sub
}

// migrationTime bounds one start's migrations, which may rewrite tables.
const migrationTime = 10 * time.Minute

// migrationTries is how often a start tries while another one migrates.
const migrationTries = 20

// migration is one step of the schema: forward only, one transaction.
type migration struct {
	version int
	name    string
	sql     string
	digest  string
}

// fileName is 0007_name.sql for both engines, or a pair 0007_name.sqlite.sql
// and 0007_name.postgres.sql where one text cannot serve.
var fileName = regexp.MustCompile(`^(\d{4})_([a-z0-9_]+?)(?:\.(sqlite|postgres))?\.sql$`)

// loadMigrations reads the steps of one engine, in order and without gaps.
func loadMigrations(files fs.FS, engine Engine) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	slices.Sort(names)
	var steps []migration
	for _, name := range names {
		parts := fileName.FindStringSubmatch(name)
		if parts == nil {
			return nil, fmt.Errorf("migration %s: the name must look like 0001_name.sql", name)
		}
		if parts[3] != "" && parts[3] != string(engine) {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		version, _ := strconv.Atoi(parts[1])
		if version != len(steps)+1 {
			return nil, fmt.Errorf("migration %s: expected number %04d", name, len(steps)+1)
		}
		sum := sha256.Sum256(text)
		steps = append(steps, migration{version, parts[2], string(text), hex.EncodeToString(sum[:])})
	}
	return steps, nil
}

// migrate brings the schema up to date. Replicas that start together wait for the
// first one.
func (db *DB) migrate(ctx context.Context, files fs.FS) error {
	ctx, cancel := context.WithTimeout(ctx, migrationTime)
	defer cancel()
	for try := 1; ; try++ {
		err := db.migrateOnce(ctx, files)
		if try == migrationTries || !isCollision(err) {
			return err
		}
		// SQLite does not wait while another start turns the write-ahead log on.
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// migrateOnce applies what is missing. It may run again: a step is whole or absent.
func (db *DB) migrateOnce(ctx context.Context, files fs.FS) error {
	steps, err := loadMigrations(files, db.engine)
	if err != nil {
		return err
	}
	conn, err := db.writes.Conn(ctx)
	if err != nil {
		return classify(err)
	}
	defer conn.Close()
	lock := waitLonger
	if db.engine == PostgreSQL {
		lock = lockMigrations
	}
	unlock, err := lock(ctx, conn)
	if err != nil {
		return classify(err)
	}
	defer unlock()
	if db.schema != "" {
		if _, err := conn.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS `+db.schema); err != nil {
			return classify(fmt.Errorf("create the schema %s: %w", db.schema, err))
		}
	}
	return classify(applyMissing(ctx, conn, steps, db.Now()))
}

// lockMigrations waits for the advisory lock without the committer's timeouts, which
// are too short for another replica's migration. Unlocking restores them.
func lockMigrations(ctx context.Context, conn *sql.Conn) (unlock func(), err error) {
	if _, err := conn.ExecContext(ctx, `SET statement_timeout = 0; SET lock_timeout = 0`); err != nil {
		return nil, fmt.Errorf("lift timeouts: %w", err)
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
		return nil, fmt.Errorf("wait for the migration lock: %w", err)
	}
	return func() {
		end := context.WithoutCancel(ctx)
		_, unlockErr := conn.ExecContext(end, `SELECT pg_advisory_unlock($1)`, migrationLock)
		_, resetErr := conn.ExecContext(end, `RESET statement_timeout; RESET lock_timeout`)
		if errors.Join(unlockErr, resetErr) != nil {
			// Do not reuse a connection in doubt: closing it frees the lock.
			_ = conn.Raw(func(any) error { return errors.New("drop") })
		}
	}, nil
}

// waitLonger lets SQLite wait longer than the committer does for another process that
// migrates the same file.
func waitLonger(ctx context.Context, conn *sql.Conn) (restore func(), err error) {
	var before int
	if err := conn.QueryRowContext(ctx, `PRAGMA busy_timeout`).Scan(&before); err != nil {
		return nil, fmt.Errorf("read how long to wait: %w", err)
	}
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 60000`); err != nil {
		return nil, fmt.Errorf("wait longer: %w", err)
	}
	return func() {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(`PRAGMA busy_timeout = %d`,
			before)); err != nil {
			_ = conn.Raw(func(any) error { return errors.New("drop") }) // the next one has the right setting
		}
	}, nil
}

func applyMissing(ctx context.Context, conn *sql.Conn, steps []migration, now time.Time) error {
	const table = `CREATE TABLE IF NOT EXISTS schema_migration (
		version    BIGINT PRIMARY KEY,
		name       TEXT   NOT NULL,
		digest     TEXT   NOT NULL,
		applied_at BIGINT NOT NULL
	)`
	if _, err := conn.ExecContext(ctx, table); err != nil {
		return fmt.Errorf("create the table of migrations: %w", err)
	}
	applied, err := readApplied(ctx, conn)
	if err != nil {
		return err
	}
	if err := checkApplied(steps, applied); err != nil {
		return err
	}
	for _, step := range steps[len(applied):] {
		if err := applyStep(ctx, conn, step, now); err != nil {
			return fmt.Errorf("migration %04d_%s: %w", step.version, step.name, err)
		}
	}
	return nil
}

func readApplied(ctx context.Context, conn *sql.Conn) ([]migration, error) {
	rows, err := conn.QueryContext(ctx, `SELECT version, name, digest FROM schema_migration ORDER BY version`)
	if err != nil {
		return nil, fmt.Errorf("read applied migrations: %w", err)
	}
	defer rows.Close()
	var applied []migration
	for rows.Next() {
		var m migration
		if err := rows.Scan(&m.version, &m.name, &m.digest); err != nil {
			return nil, fmt.Errorf("read an applied migration: %w", err)
		}
		applied = append(applied, m)
	}
	return applied, rows.Err()
}

// checkApplied refuses a database of a newer Writ, or one that another file migrated.
func checkApplied(steps, applied []migration) error {
	if len(applied) > len(steps) {
		return fmt.Errorf("the database has %d migrations, this program knows %d: it was used by a newer Writ: "+
			"start that one, or restore a backup from before the upgrade (docs/upgrade.md, Back)", len(applied), len(steps))
	}
	for i, done := range applied {
		if done.version != steps[i].version || done.digest != steps[i].digest {
			return fmt.Errorf("migration %04d_%s in the database differs from this program's %04d_%s: another build of Writ made it; start that one, or begin with an empty data folder (WRIT_DATA_DIR) or database", done.version, done.name, steps[i].version, steps[i].name)
		}
	}
	return nil
}

// IsSQLiteOf reports whether a file has the database of a store: its first migration was the store's.
func IsSQLiteOf(ctx context.Context, path string, store Store) bool {
	steps, err := loadMigrations(embedded(store), SQLite)
	if err != nil {
		return false
	}
	var digest string
	err = ReadSQLite(path, func(r Reader) error {
		return r.QueryRow(ctx, `SELECT digest FROM schema_migration WHERE version = $1`, steps[0].version).Scan(&digest)
	})
	return err == nil && digest == steps[0].digest
}

func applyStep(ctx context.Context, conn *sql.Conn, step migration, now time.Time) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // a no-op after Commit
	// On SQLite another process may have applied it since the list was read.
	var done bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM schema_migration WHERE version = $1)`,
		step.version).Scan(&done); err != nil || done {
		return err
	}
	if _, err := tx.ExecContext(ctx, step.sql); err != nil {
		return err
	}
	const record = `INSERT INTO schema_migration (version, name, digest, applied_at) VALUES ($1, $2, $3, $4)`
	if _, err := tx.ExecContext(ctx, record, step.version, step.name, step.digest, Micros(now)); err != nil {
		return fmt.Errorf("record it: %w", err)
	}
	return tx.Commit()
}

// SchemaDigest names the schema this program migrates to, of every store on both
// engines.
func SchemaDigest() string {
	sum := sha256.New()
	for _, store := range []Store{Main, Telemetry} {
		for _, engine := range []Engine{SQLite, PostgreSQL} {
			steps, err := loadMigrations(embedded(store), engine)
			if err != nil {
				panic(err) // the embedded files are checked by a test
			}
			for _, step := range steps {
				sum.Write([]byte(step.digest))
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
