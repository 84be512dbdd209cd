package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"writ/internal/audit"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/keyring"
)

// requireMasterKey refuses to restore without the key: nobody else can sign the restored
// logs, and a new key would not open what is sealed.
func requireMasterKey(c config.Config) error {
	if c.MasterKey.IsSet() {
		return nil
	}
	path := filepath.Join(c.DataDir, "master.key")
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("a restore needs the master key of the backup, to sign the audit logs: put it back as %s, or set WRIT_MASTER_KEY: %w",
			path, err)
	}
	return nil
}

// requireKeyOf refuses a backup of PostgreSQL that was sealed with another master key, before it is loaded.
func requireKeyOf(ctx context.Context, c config.Config, path string) error {
	if err := database.RefuseSQLite(path); err != nil {
		return err
	}
	rows, err := database.DumpedRows(ctx, path, "signing_key")
	if err != nil {
		return err
	}
	sealer, err := openSealer(c)
	if err != nil {
		return err
	}
	if err := keyring.CheckDumped(rows, sealer); err != nil {
		return fmt.Errorf("nothing was restored from %s: %w", path, err)
	}
	return nil
}

// optionsAlone open the database for a restore, which no server may use meanwhile. On SQLite the data folder is locked.
func optionsAlone(o Options) database.Options {
	options := databaseOptions(o)
	options.Alone = true
	return options
}

// openToRestore opens the audit log of a database that is being restored.
func openToRestore(ctx context.Context, c config.Config, db *database.DB) (*audit.Log, error) {
	sealer, err := openSealer(c)
	if err != nil {
		return nil, err
	}
	if err := keyring.Check(ctx, db, sealer); err != nil {
		return nil, err
	}
	keys, known := checkpointKeys(db, sealer)
	return audit.OpenToRestore(ctx, db, keys, known)
}

// RestoreLoaded is Restore for a PostgreSQL database that was put back by other means: with pg_restore, or from a
// snapshot of whoever runs it. Where the server runs there may be no programs of PostgreSQL.
func RestoreLoaded(ctx context.Context, o Options) (Restored, error) {
	if !o.Config.UsesPostgres() {
		return Restored{}, errors.New("--loaded is for PostgreSQL: a backup of SQLite is restored with writd restore FILE")
	}
	if err := requireMasterKey(o.Config); err != nil {
		return Restored{}, err
	}
	if err := database.RequireLoaded(ctx, o.Config.DatabaseURL.Reveal()); err != nil {
		return Restored{}, err
	}
	report, err := beginEpochs(ctx, o, optionsAlone(o), replacedData{})
	report.Check = unknownChanges()
	return report, err
}

// Continued says which logs RestorePresent continued, and what is known of them.
type Continued struct {
	Logs map[string]audit.Lost `json:"logs"`
	// WitnessDiffers are logs that a server will refuse all the same.
	WitnessDiffers WitnessDiffers `json:"witnessDiffers,omitzero"`
}

// Advice says that nothing was done, and what to do next; empty: nothing.
func (c Continued) Advice() []string {
	var advice []string
	if len(c.Logs) == 0 {
		advice = append(advice, "nothing was done: the head of every log is signed, and no log is gone or was put back")
	}
	if len(c.WitnessDiffers) > 0 {
		advice = append(advice, c.WitnessDiffers.Advice())
	}
	return advice
}

// RestorePresent has the logs that cannot be continued go on from what is stored, each in
// a new epoch whose first entry says that what is before it was not proved.
func RestorePresent(ctx context.Context, o Options) (_ Continued, err error) {
	if err := requireMasterKey(o.Config); err != nil {
		return Continued{}, err
	}
	if o.Config.UsesPostgres() {
		if err := requirePostgres(ctx, o.Config); err != nil {
			return Continued{}, err
		}
	} else {
		if _, err := os.Stat(databasePath(o.Config)); err != nil {
			return Continued{}, fmt.Errorf("there is no database: %w", err)
		}
		unlock, err := lockDataDir(o.Config.DataDir)
		if err != nil {
			return Continued{}, err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	db, err := database.Open(ctx, optionsAlone(o))
	if err != nil {
		return Continued{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	audits, err := openToRestore(ctx, o.Config, db)
	if err != nil {
		return Continued{}, err
	}
	broken, err := brokenLogs(ctx, db, audits)
	if err != nil {
		return Continued{}, err
	}
	done := Continued{Logs: map[string]audit.Lost{}}
	if err := db.Write(ctx, database.Change{Logs: broken, Do: func(ctx context.Context, tx *database.Tx) error {
		for _, log := range broken {
			done.Logs[log] = audit.Lost{Unproved: true}
			if err := audits.BeginEpoch(ctx, tx, log, done.Logs[log]); err != nil {
				return err
			}
		}
		return nil
	}}); err != nil {
		return Continued{}, err
	}
	done.WitnessDiffers = compareRestored(ctx, o.Config, audits)
	return done, nil
}

// brokenLogs are those whose head is not signed, and those that are gone or were put back.
func brokenLogs(ctx context.Context, db *database.DB, audits *audit.Log) ([]string, error) {
	bad, err := audits.BadHeads(ctx)
	if err != nil {
		return nil, err
	}
	var broken []string
	for _, head := range bad {
		broken = append(broken, head.Log)
	}
	missing, err := missingLogs(ctx, db)
	if err != nil {
		return nil, err
	}
	err = audits.CheckKept(ctx, func(p audit.Problem) {
		if p.Log != audit.System {
			missing = append(missing, p.Log)
		}
	})
	broken = append(broken, missing...)
	slices.Sort(broken)
	return slices.Compact(broken), err
}
