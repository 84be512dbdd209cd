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
	db, err := database.Open(ctx, databaseOptions(o))
	if err != nil {
		return err
	}
	return errors.Join(db.BackupSQLite(ctx, path), db.Close())
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
	if o.Config.UsesPostgres() {
		if err := database.RestorePostgres(ctx, o.Config.DatabaseURL.Reveal(), path); err != nil {
			return Restored{}, err
		}
		lost, err := beginEpochs(ctx, o, nil)
		return Restored{Logs: lost}, err
	}
	return restoreSQLite(ctx, o, path)
}

func restoreSQLite(ctx context.Context, o Options, path string) (report Restored, err error) {
	if err := makeDataDir(o.Config.DataDir); err != nil {
		return Restored{}, err
	}
	unlock, err := lockDataDir(o.Config.DataDir)
	if err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	present := databasePath(o.Config)
	incoming := present + ".incoming"
	if err := copyPrivate(path, incoming); err != nil {
		return Restored{}, fmt.Errorf("copy the backup: %w", err)
	}
	defer os.Remove(incoming) // moved away unless something failed
	if err := checkBackup(ctx, incoming); err != nil {
		return Restored{}, fmt.Errorf("%s is not a usable backup: %w", path, err)
	}
	before, err := presentHeads(ctx, o)
	if err != nil {
		return Restored{}, err
	}
	if report.Replaced, err = setAside(present); err != nil {
		return Restored{}, err
	}
	if err := os.Rename(incoming, present); err != nil {
		return Restored{}, fmt.Errorf("put the backup in place: %w", err)
	}
	report.Logs, err = beginEpochs(ctx, o, before)
	return report, err
}

// checkBackup opens the copy once, which also migrates it.
func checkBackup(ctx context.Context, path string) error {
	db, err := database.Open(ctx, database.Options{SQLitePath: path})
	if err != nil {
		return err
	}
	_, err = audit.ReadHeads(ctx, db)
	return errors.Join(err, db.Close())
}

// presentHeads reads how long the logs are that are about to be replaced. It
// is nil when there is no database to compare with.
func presentHeads(ctx context.Context, o Options) (map[string]audit.Head, error) {
	if info, err := os.Stat(databasePath(o.Config)); err != nil || info.Size() == 0 {
		return nil, nil
	}
	db, err := database.Open(ctx, databaseOptions(o))
	if err != nil {
		return nil, fmt.Errorf("read the present database (move it away to restore without comparing): %w", err)
	}
	heads, err := audit.ReadHeads(ctx, db)
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	byLog := map[string]audit.Head{}
	for _, head := range heads {
		byLog[head.Log] = head
	}
	return byLog, nil
}

// setAside keeps the present database under another name.
func setAside(present string) (string, error) {
	if _, err := os.Stat(present); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	aside := present + ".replaced-" + time.Now().UTC().Format("20060102T150405.000")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(present+suffix, aside+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("set the present database aside: %w", err)
		}
	}
	return aside, nil
}

// beginEpochs continues every log of the restored database, and those the
// replaced one had beyond it, in one transaction.
func beginEpochs(ctx context.Context, o Options, before map[string]audit.Head) (lost map[string]audit.Lost, err error) {
	db, err := database.Open(ctx, databaseOptions(o))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	heads, err := audit.ReadHeads(ctx, db)
	if err != nil {
		return nil, err
	}
	lost = map[string]audit.Lost{}
	for log, head := range before {
		lost[log] = audit.Lost{Known: true, Entries: head.Size, Epoch: head.Epoch}
	}
	for _, head := range heads {
		replaced, known := before[head.Log]
		lost[head.Log] = audit.Lost{Known: known, Entries: max(0, replaced.Size-head.Size), From: head.Size, Epoch: replaced.Epoch}
	}
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
