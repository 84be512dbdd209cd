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

	"writ/internal/accessrequest"
	"writ/internal/agent"
	"writ/internal/apikey"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/certificate"
	"writ/internal/config"
	"writ/internal/connection"
	"writ/internal/database"
	"writ/internal/forwarding"
	"writ/internal/intent"
	"writ/internal/keyring"
	"writ/internal/notification"
	"writ/internal/oauth"
	"writ/internal/operator"
	"writ/internal/organization"
)

// Restored says what a restore did.
type Restored struct {
	// Database is the SQLite file that was put back: commands that run in another folder have another one.
	Database string `json:"database,omitempty"`
	// Replaced is where the replaced database is.
	Replaced string                `json:"replaced,omitempty"`
	Logs     map[string]audit.Lost `json:"logs"`
	// CheckpointKey signs checkpoints from now on, and KeysKept are those that the backup did not have.
	CheckpointKey string `json:"checkpointKey"`
	KeysKept      int    `json:"checkpointKeysKept,omitzero"`
	// WitnessDiffers are logs that a server will refuse.
	WitnessDiffers WitnessDiffers `json:"witnessDiffers,omitzero"`
	// What the restore ended, because it may have ended since the backup.
	EndedSessions    int64 `json:"endedSessions"`
	EndedInvites     int64 `json:"endedInvites"`
	EndedPlans       int64 `json:"endedPlans"`
	EndedApprovals   int64 `json:"endedApprovals"`
	KeysRevokedAgain int   `json:"keysRevokedAgain"`
	// EndedCertificates end with their authorities.
	EndedCertificates int64 `json:"endedCertificates,omitzero"`
	// StoppedAgain is how many stops of the kill switch were not in the backup.
	StoppedAgain int `json:"stoppedAgain,omitzero"`
	// SuspendedAgain is how many agents were suspended since the backup.
	SuspendedAgain int `json:"suspendedAgain,omitzero"`
	// ErasedAgain is how many payloads had been erased since the backup.
	ErasedAgain int `json:"erasedAgain"`
	TakenAgain
	// Check names what a person must look at: the restore brought it back as it was.
	Check []string `json:"check,omitempty"`
}

// Restore replaces the database with a backup and begins a new epoch in every audit log.
func Restore(ctx context.Context, o Options, path string) (Restored, error) {
	if err := requireBackup(o.Config, path); err != nil {
		return Restored{}, err
	}
	if err := requireMasterKey(o.Config); err != nil {
		return Restored{}, err
	}
	if !o.Config.UsesPostgres() {
		return restoreSQLite(ctx, o, path)
	}
	// First: a database that was loaded and whose logs nobody could sign would look like any other to a server.
	if err := requireKeyOf(ctx, o.Config, path); err != nil {
		return Restored{}, err
	}
	if err := database.RestorePostgres(ctx, o.Config.DatabaseURL.Reveal(), path); err != nil {
		return Restored{}, err
	}
	report, err := beginEpochs(ctx, o, optionsAlone(o), replacedData{})
	report.Check = unknownChanges()
	if err != nil {
		return Restored{}, fmt.Errorf("the data was restored, but its audit logs do not record it: mend what is wrong, and run "+
			"writd restore --loaded before a server starts: %w", err)
	}
	return report, nil
}

// requireBackup refuses what is no backup by its name alone. One of PostgreSQL may be a folder.
func requireBackup(c config.Config, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look for the backup: %w", err)
	}
	if info.IsDir() && !c.UsesPostgres() {
		return fmt.Errorf("%s is a folder: name the backup in it", path)
	}
	return nil
}

// restoreSQLite prepares a copy of the backup in a folder of its own, and moves files only
// at the end: no failure leaves a log that goes on in its old epoch.
func restoreSQLite(ctx context.Context, o Options, path string) (report Restored, err error) {
	if err := makeDataDir(o.Config.DataDir); err != nil {
		return Restored{}, err
	}
	unlock, err := lockDataDir(o.Config.DataDir)
	if err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	before, err := readPresent(ctx, o)
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
	if err := database.CheckSQLiteLength(incoming); err != nil {
		return Restored{}, fmt.Errorf("%s is not a usable backup: %w", path, err)
	}
	if database.IsSQLiteOf(ctx, incoming, database.Telemetry) {
		return Restored{}, fmt.Errorf("%s is a backup of telemetry, which no command puts back: stop the server, remove %s and its -wal and -shm, and copy the backup there",
			path, telemetryPath(o.Config))
	}
	if report, err = beginEpochs(ctx, o, database.Options{SQLitePath: incoming, Now: o.Now, Logger: o.Logger},
		before); err != nil {
		return Restored{}, fmt.Errorf("%s is not a usable backup: %w", path, err)
	}
	if err := report.addChecks(ctx, o, before); err != nil {
		return Restored{}, err
	}
	if report.Replaced, err = replace(databasePath(o.Config), incoming); err != nil {
		return Restored{}, err
	}
	report.Database = DatabaseFile(o.Config)
	return report, syncDir(o.Config.DataDir)
}

// replace puts the incoming database in place of the present one, which gets another name.
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

// moveDatabase renames a closed database, with what SQLite may have left beside it.
func moveDatabase(from, to string) error {
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(from+suffix, to+suffix); err != nil && (suffix == "" || !errors.Is(err, os.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// beginEpochs continues every log of a restored database, and of the replaced one, and ends
// what the backup brings back, in one transaction. It refuses a damaged database, and one
// without any log, which is not ours. The logs are signed: a server continues no other.
func beginEpochs(
	ctx context.Context, o Options, store database.Options, before replacedData,
) (report Restored, err error) {
	db, err := database.Open(ctx, store)
	if err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if db.Engine() == database.SQLite {
		if err := db.CheckSQLite(ctx); err != nil {
			return Restored{}, err
		}
	}
	heads, err := audit.ReadHeads(ctx, db)
	if err != nil {
		return Restored{}, err
	}
	if len(heads) == 0 {
		return Restored{}, errors.New("it has no audit log: every database of Writ has one")
	}
	report.Logs = compare(before, heads)
	logs := slices.Sorted(maps.Keys(report.Logs))
	kept, err := keepCheckpointKeys(ctx, o.Config, db, before.keys)
	if err != nil {
		return Restored{}, err
	}
	audits, err := openToRestore(ctx, o.Config, db)
	if err != nil {
		return Restored{}, err
	}
	if err := markUnproved(ctx, audits, report.Logs); err != nil {
		return Restored{}, err
	}
	if err := db.Write(ctx, database.Change{Logs: logs, Do: func(ctx context.Context, tx *database.Tx) error {
		for _, log := range logs {
			if err := audits.BeginEpoch(ctx, tx, log, report.Logs[log]); err != nil {
				return err
			}
		}
		if err := audits.CountLogs(ctx, tx); err != nil {
			return err
		}
		if err := keyring.RecordKept(ctx, tx, audits, kept); err != nil {
			return err
		}
		return report.endRevived(ctx, tx, audits, before)
	}}); err != nil {
		return Restored{}, err
	}
	report.CheckpointKey, report.KeysKept = audits.PublicKey(), len(kept)
	report.WitnessDiffers = compareRestored(ctx, o.Config, audits)
	return report, nil
}

// endRevived ends what the backup brings back, because it may have ended since.
func (r *Restored) endRevived(
	ctx context.Context, tx *database.Tx, log *audit.Log, before replacedData,
) (err error) {
	if err = database.EndRestore(ctx, tx); err != nil {
		return err
	}
	if r.EndedSessions, err = auth.EndSessions(ctx, tx); err != nil {
		return err
	}
	if err = oauth.EndTokens(ctx, tx); err != nil {
		return err
	}
	if err = connection.EndAll(ctx, tx); err != nil {
		return err
	}
	if r.EndedCertificates, err = certificate.EndAll(ctx, tx); err != nil {
		return err
	}
	if r.EndedInvites, err = organization.EndInvites(ctx, tx); err != nil {
		return err
	}
	if err = operator.EndAll(ctx, tx); err != nil {
		return err
	}
	if _, err = accessrequest.EndLinks(ctx, tx); err != nil {
		return err
	}
	if r.EndedPlans, err = intent.EndAll(ctx, tx); err != nil {
		return err
	}
	if r.EndedApprovals, err = approval.VoidAll(ctx, tx); err != nil {
		return err
	}
	if err = notification.EndAll(ctx, tx); err != nil {
		return err
	}
	if err = forwarding.EndAll(ctx, tx); err != nil {
		return err
	}
	if r.KeysRevokedAgain, err = apikey.RevokeAgain(ctx, tx, before.revokedKeys); err != nil {
		return err
	}
	if r.StoppedAgain, err = agent.StopAgain(ctx, tx, log, before.stops); err != nil {
		return err
	}
	if r.SuspendedAgain, err = agent.SuspendAgain(ctx, tx, log, before.suspended); err != nil {
		return err
	}
	if err = r.takeAgain(ctx, tx, log, before); err != nil {
		return err
	}
	r.ErasedAgain, err = log.EraseAgain(ctx, tx, before.erased, eraseCopies)
	return err
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

// refuseInterruptedRestore keeps a server from making a new database after a restore was
// interrupted between its two renames.
func refuseInterruptedRestore(c config.Config) error {
	if c.UsesPostgres() {
		return nil
	}
	if _, err := os.Stat(databasePath(c)); err == nil {
		return nil
	}
	aside, err := filepath.Glob(databasePath(c) + ".replaced-*")
	if err != nil || len(aside) == 0 {
		return err
	}
	return fmt.Errorf("there is no %s, but a restore has set %s aside: run `writd restore` again, or move it back",
		databasePath(c), aside[len(aside)-1])
}
