package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
)

// Backup copies the database to a new file, beside a running server. An
// existing file is never overwritten.
func Backup(ctx context.Context, o Options, path string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
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
	if o.Config.UsesPostgres() {
		return database.DumpPostgres(ctx, o.Config.DatabaseURL.Reveal(), path)
	}
	if _, err := os.Stat(databasePath(o.Config)); err != nil {
		return fmt.Errorf("there is no database to back up: %w", err)
	}
	return database.BackupSQLite(ctx, databasePath(o.Config), path)
}

// Restored says what a restore did.
type Restored struct {
	// Replaced is where the database that was there is kept.
	Replaced string                `json:"replaced,omitempty"`
	Logs     map[string]audit.Lost `json:"logs"`
}

// Restore puts a backup in the place of the database and begins a new epoch in
// every audit log.
func Restore(ctx context.Context, o Options, path string) (Restored, error) {
	if !o.Config.UsesPostgres() {
		return restoreSQLite(ctx, o, path)
	}
	if err := database.RestorePostgres(ctx, o.Config.DatabaseURL.Reveal(), path); err != nil {
		return Restored{}, err
	}
	lost, err := beginEpochs(ctx, databaseOptions(o), nil)
	if err != nil {
		return Restored{}, fmt.Errorf("the data was read in, but its audit logs do not say so yet; restore again into a new database: %w", err)
	}
	return Restored{Logs: lost}, nil
}

// restoreSQLite prepares a copy of the backup in a folder of its own. The present
// database is touched when nothing is left to do but to move files, so that no
// failure leaves a log that goes on in its old epoch.
func restoreSQLite(ctx context.Context, o Options, path string) (report Restored, err error) {
	if err := makeDataDir(o.Config.DataDir); err != nil {
		return Restored{}, err
	}
	unlock, err := lockDataDir(o.Config.DataDir)
	if err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	before, err := presentHeads(ctx, o)
	if err != nil {
		return Restored{}, err
	}
	folder, err := os.MkdirTemp(o.Config.DataDir, "restore-*")
	if err != nil {
		return Restored{}, fmt.Errorf("make a folder for the copy: %w", err)
	}
	defer os.RemoveAll(folder)
	incoming := filepath.Join(folder, "writ.db")
	if err := copyPrivate(path, incoming); err != nil {
		return Restored{}, fmt.Errorf("copy the backup: %w", err)
	}
	if report.Logs, err = beginEpochs(ctx, database.Options{SQLitePath: incoming, Now: o.Now, Logger: o.Logger}, before); err != nil {
		return Restored{}, fmt.Errorf("%s is not a usable backup: %w", path, err)
	}
	if report.Replaced, err = replace(databasePath(o.Config), incoming); err != nil {
		return Restored{}, err
	}
	return report, syncDir(o.Config.DataDir)
}

// presentHeads reads how long the logs are that are about to be replaced. It
// is nil when there is no database to compare with.
func presentHeads(ctx context.Context, o Options) (map[string]audit.Head, error) {
	if info, err := os.Stat(databasePath(o.Config)); err != nil || info.Size() == 0 {
		return nil, nil
	}
	byLog := map[string]audit.Head{}
	err := database.ReadSQLite(databasePath(o.Config), func(r database.Reader) error {
		heads, err := audit.ReadHeads(ctx, r)
		for _, head := range heads {
			byLog[head.Log] = head
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the present database (move it away to restore without comparing): %w", err)
	}
	return byLog, nil
}

// replace puts the incoming database in the place of the present one, which is
// kept under another name.
func replace(present, incoming string) (aside string, err error) {
	if _, err := os.Stat(present); err == nil {
		aside = present + ".replaced-" + time.Now().UTC().Format("20060102T150405.000")
		if err := moveDatabase(present, aside); err != nil {
			return "", fmt.Errorf("set the present database aside: %w", err)
		}
	}
	if err := moveDatabase(incoming, present); err != nil {
		return "", fmt.Errorf("put the backup in place (the database that was there is %s): %w", aside, err)
	}
	return aside, nil
}

// moveDatabase renames a database that nobody has open, with what SQLite may
// have left beside it.
func moveDatabase(from, to string) error {
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(from+suffix, to+suffix); err != nil && (suffix == "" || !errors.Is(err, os.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// beginEpochs continues every log of a restored database, and those the replaced
// one had beyond it, in one transaction. A database without any log is not ours,
// and one that is damaged is refused.
func beginEpochs(ctx context.Context, o database.Options, before map[string]audit.Head) (lost map[string]audit.Lost, err error) {
	db, err := database.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if db.Engine() == database.SQLite {
		if err := db.CheckSQLite(ctx); err != nil {
			return nil, err
		}
	}
	heads, err := audit.ReadHeads(ctx, db)
	if err != nil {
		return nil, err
	}
	if len(heads) == 0 {
		return nil, errors.New("it has no audit log, as every database of Writ has")
	}
	lost = compare(before, heads)
	logs := slices.Sorted(maps.Keys(lost))
	return lost, db.Write(ctx, database.Change{Logs: logs, Do: func(ctx context.Context, tx *database.Tx) error {
		for _, log := range logs {
			if err := audit.BeginEpoch(ctx, tx, log, lost[log]); err != nil {
				return err
			}
		}
		return nil
	}})
}

// compare tells for every log of either database what the restored one lacks.
func compare(before map[string]audit.Head, restored []audit.Head) map[string]audit.Lost {
	lost := map[string]audit.Lost{}
	for log, head := range before {
		lost[log] = audit.Lost{Known: true, Entries: head.Size, Epoch: head.Epoch}
	}
	for _, head := range restored {
		replaced, known := before[head.Log]
		lost[head.Log] = audit.Lost{Known: known, Entries: max(0, replaced.Size-head.Size), From: head.Size, Epoch: replaced.Epoch}
	}
	return lost
}

func copyPrivate(from, to string) (err error) {
	source, err := os.Open(filepath.Clean(from))
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Sync(), target.Close())
}
