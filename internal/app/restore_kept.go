package app

import (
	"context"

	"writ/internal/audit"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/keyring"
)

// replacedKeys are the keys that signed checkpoints in a database that is being replaced.
type replacedKeys struct {
	installation string
	sealed       []keyring.Sealed
}

func readReplacedKeys(ctx context.Context, r database.Reader) (keys replacedKeys, err error) {
	keys.sealed, err = keyring.ReadSealed(ctx, r, keyring.Checkpoint)
	if err != nil || len(keys.sealed) == 0 {
		return keys, err
	}
	keys.installation, err = audit.ReadInstallation(ctx, r)
	return keys, err
}

// keepCheckpointKeys keeps the keys of checkpoints that the backup does not have, so that what the replaced server
// signed, and a witness has seen, still verifies, and a rotation is not undone. Those of another installation have
// nothing to say here.
func keepCheckpointKeys(
	ctx context.Context, c config.Config, db *database.DB, replaced replacedKeys,
) ([]keyring.Key, error) {
	installation, err := audit.ReadInstallation(ctx, db)
	if err != nil || installation == "" || installation != replaced.installation {
		return nil, err
	}
	sealer, err := openSealer(c)
	if err != nil {
		return nil, err
	}
	if err := keyring.Check(ctx, db, sealer); err != nil {
		return nil, err
	}
	return keyring.Keep(ctx, db, sealer, keyring.Checkpoint, replaced.sealed)
}

// compare finds, for every log of either database, what the restored one lacks.
func compare(before replacedData, restored []audit.Head) map[string]audit.Lost {
	lost := map[string]audit.Lost{}
	for log, head := range before.heads {
		lost[log] = audit.Compare(head, before.restores[log], audit.Head{})
	}
	for _, head := range restored {
		lost[head.Log] = audit.Lost{From: head.Size}
		if replaced, known := before.heads[head.Log]; known {
			lost[head.Log] = audit.Compare(replaced, before.restores[head.Log], head)
		}
	}
	return lost
}

// markUnproved marks the logs whose head this installation has not signed.
func markUnproved(ctx context.Context, audits *audit.Log, logs map[string]audit.Lost) error {
	bad, err := audits.BadHeads(ctx)
	for _, head := range bad {
		lost := logs[head.Log]
		lost.Unproved = true
		logs[head.Log] = lost
	}
	return err
}

// Advice is what whoever restored must know or do next.
func (r Restored) Advice() (advice []string) {
	if r.Database != "" && r.Replaced == "" {
		advice = append(advice, MadeDatabase(r.Database))
	}
	if r.KeysKept > 0 {
		advice = append(advice, "the key for checkpoints was rotated since the backup: the new one goes on signing (checkpointKey)")
	} else if r.Replaced == "" {
		advice = append(advice, "there was no database to compare with: if the key for checkpoints was rotated since the backup, that "+
			"is undone, and checkpointKey signs again; rotate it again (writd signing-key rotate checkpoint) where the old one "+
			"must not sign")
	}
	if len(r.WitnessDiffers) > 0 {
		advice = append(advice, r.WitnessDiffers.Advice())
	}
	return advice
}
