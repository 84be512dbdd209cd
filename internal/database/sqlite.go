package database

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo
)

// sqliteReaders is how many reads run at once, beside the writer.
const sqliteReaders = 4

// openLog reads, and so has a new connection open the log and its index, which sqliteFiles then looks at.
const openLog = "schema_version"

// storePragmas differ between the stores. The cache (in KiB; SQLite has 2 MB) holds a
// commit of telemetry until it is written, and the index pages that the next one
// changes. secure_delete: what is erased from the audit log is gone from the file too.
func storePragmas(s Store) []string {
	if s == Telemetry {
		return []string{"cache_size(-32768)", fmt.Sprintf("wal_autocheckpoint(%d)", bulkCheckpointPages)}
	}
	return []string{"secure_delete(ON)", fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages)}
}

// absolute is a path that does not depend on the working folder, where that is known.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// sqliteConnectors connect to the file: one writing connection, and readers that SQLite itself keeps from writing.
func sqliteConnectors(o Options) (c connectors, err error) {
	path, err := filepath.Abs(o.SQLitePath)
	if err != nil {
		return c, fmt.Errorf("locate the database %s: %w", o.SQLitePath, err)
	}
	if err := createPrivate(path); err != nil {
		return c, err
	}
	files, err := newSQLiteFiles(path)
	if err != nil {
		return c, err
	}
	c.files = files
	// auto_vacuum must be set before the first table; retention then frees space in
	// small steps. synchronous=FULL: what was acknowledged survives a power cut. The
	// wait for another program's lock heeds no context, so it is short: the committer's
	// tries together stay within its limit. temp_store: undoing a statement of many
	// rows needs no file.
	pragmas := []string{
		"auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "busy_timeout(900)",
		"temp_store(MEMORY)", fmt.Sprintf("journal_size_limit(%d)", logKept),
	}
	pragmas = append(append(pragmas, storePragmas(o.Store)...), openLog)
	c.writes, err = newPreparing(files, sqliteDSN(path, "immediate", pragmas...))
	if err != nil {
		return c, fmt.Errorf("open %s: %w", path, err)
	}
	c.reads, err = newPreparing(files, sqliteDSN(path, "deferred", "query_only(ON)", "busy_timeout(4000)", openLog))
	if err != nil {
		return c, fmt.Errorf("open %s for reading: %w", path, err)
	}
	return c, nil
}

func sqliteDSN(path, lock string, pragmas ...string) string {
	// mode=rw: a file that was deleted is an error, not a new and empty database.
	query := url.Values{"mode": {"rw"}, "_txlock": {lock}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// createPrivate makes the database file readable by its owner only, before SQLite would
// make it with the process's umask.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the database file: %w", err)
	}
	return file.Close()
}

// BackupSQLite writes a consistent copy of an SQLite database to a new file, beside
// writers and without migrating.
func BackupSQLite(ctx context.Context, from, to string) error {
	path, err := filepath.Abs(from)
	if err != nil {
		return fmt.Errorf("locate the database %s: %w", from, err)
	}
	if to, err = filepath.Abs(to); err != nil { // else file:x would be read as a URL
		return fmt.Errorf("locate the copy: %w", err)
	}
	if err := createPrivate(to); err != nil {
		return err
	}
	copier, err := sql.Open("sqlite", sqliteDSN(path, "deferred", "busy_timeout(4000)"))
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer copier.Close()
	if _, err := copier.ExecContext(ctx, `VACUUM INTO $1`, to); err != nil {
		return fmt.Errorf("copy the database: %w", classify(err))
	}
	return nil
}

// ReadSQLite reads from a database file without migrating it.
func ReadSQLite(path string, read func(r Reader) error) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("locate the database: %w", err)
	}
	handle, err := sql.Open("sqlite", sqliteDSN(path, "deferred", "query_only(ON)", "busy_timeout(4000)"))
	if err != nil {
		return fmt.Errorf("open %s for reading: %w", path, err)
	}
	defer handle.Close()
	return read(&DB{engine: SQLite, reads: handle})
}

// sqliteHeader begins every file of SQLite.
var sqliteHeader = []byte("SQLite format 3\x00")

// RefuseSQLite refuses a backup of SQLite where one of PostgreSQL is wanted. Of all other files PostgreSQL's programs
// say what is wrong.
func RefuseSQLite(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	defer file.Close()
	header := make([]byte, len(sqliteHeader))
	if _, err := io.ReadFull(file, header); err == nil && bytes.Equal(header, sqliteHeader) {
		return fmt.Errorf("%s is a backup of SQLite, which is restored where DATABASE_URL is not set: it cannot be put into "+
			"PostgreSQL", path)
	}
	return nil
}

// CheckSQLiteLength refuses a database file that is shorter than its header says.
// SQLite reads zeros for a missing end, and may find nothing wrong with them.
func CheckSQLiteLength(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read the length of the database: %w", err)
	}
	var header [100]byte
	_, err = io.ReadFull(file, header[:])
	isCut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !isCut {
		return fmt.Errorf("read the header of the database: %w", err)
	}
	if bytes.HasPrefix(header[:], []byte("PGDMP")) {
		return errors.New("the file is a backup of PostgreSQL, which is restored where DATABASE_URL is set")
	}
	if isCut || !bytes.HasPrefix(header[:], sqliteHeader) {
		return errors.New("the file is no SQLite database")
	}
	size, pages := int64(binary.BigEndian.Uint16(header[16:])), int64(binary.BigEndian.Uint32(header[28:]))
	if size == 1 {
		size = 1 << 16 // which does not fit the field
	}
	// The number of pages counts only where it is as new as the last change.
	isCounted := bytes.Equal(header[24:28], header[92:96])
	if isCounted && info.Size() < size*pages {
		return fmt.Errorf("the file is cut off: %d of %d bytes", info.Size(), size*pages)
	}
	return nil
}

// CheckSQLite reads the whole database and refuses one that is damaged.
func (db *DB) CheckSQLite(ctx context.Context) error {
	var verdict string
	if err := db.QueryRow(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("the database is damaged: %s", verdict)
	}
	return nil
}
