package app_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/app"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/keyring"
)

// rotatedUnderAWitness is a stopped server with a witness file, whose key of checkpoints was rotated after a backup: a
// checkpoint of the new key is in the file.
func rotatedUnderAWitness(t *testing.T) (o app.Options, saved, org, key string) {
	t.Helper()
	o = options(t, database.Options{})
	o.Config.Witness.File = filepath.Join(t.TempDir(), "seen.ndjson")
	server := start(t, o)
	org = server.FirstRun.OrganizationID
	saved = backup(t, o)
	if _, err := server.RotateKeys(t.Context(), []keyring.Purpose{keyring.Checkpoint}); err != nil {
		t.Fatal(err)
	}
	server.stop()
	server = start(t, o) // signs with the new key
	key = server.Audit.PublicKey()
	if err := note(t.Context(), server, org, "signed with the new key"); err != nil {
		t.Fatal(err)
	}
	if err := server.SendToWitness(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.stop()
	return o, saved, org, key
}

// TestARestoreKeepsTheKeysOfCheckpoints: what the witness saw still verifies, and no rotation is undone.
func TestARestoreKeepsTheKeysOfCheckpoints(t *testing.T) {
	t.Parallel()
	o, saved, org, key := rotatedUnderAWitness(t)
	report := restore(t, o, saved)
	if report.KeysKept != 1 || report.CheckpointKey != key || len(report.WitnessDiffers) != 0 {
		t.Errorf("report = %+v, want the key %s kept, and a witness that agrees", report, key)
	}
	server := start(t, o)
	if err := note(t.Context(), server, org, "after the restore"); err != nil {
		t.Errorf("append: %v", err)
	}
	if checked, err := server.CheckEvidence(t.Context(), true); err != nil || checked.Found != 0 {
		t.Errorf("check: %+v, %v", checked, err)
	}
	if now := server.Audit.PublicKey(); now != key {
		t.Errorf("%s signs, want the key that the rotation made: %s", now, key)
	}
	kept := 0
	for _, entry := range entries(t, server.Database, audit.System) {
		if entry.Action == "signing_key.kept" {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d entries about kept keys, want 1", kept)
	}
	server.stop()
	// The way back: the database that was replaced has no key that the present one lacks.
	if back := restore(t, o, report.Replaced); back.KeysKept != 0 || back.CheckpointKey != key {
		t.Errorf("report = %+v, want no other key", back)
	}
}

// TestARestoreTrustsNoKeyThatTheMasterKeyDoesNotOpen: whoever can only write the database adds none.
func TestARestoreTrustsNoKeyThatTheMasterKeyDoesNotOpen(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"another public half": `UPDATE signing_key SET public = zeroblob(32) WHERE purpose = 'checkpoint' AND retired_at IS NULL`,
		"another seal":        `UPDATE signing_key SET sealed = zeroblob(72) WHERE purpose = 'checkpoint' AND retired_at IS NULL`,
		"another id":          `UPDATE signing_key SET id = 'x' WHERE purpose = 'checkpoint' AND retired_at IS NULL`,
		"of another installation": `
			UPDATE audit_installation SET id = 'another'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, saved, org, _ := rotatedUnderAWitness(t)
			execute(t, "sqlite", filepath.Join(o.Config.DataDir, "writ.db"), statement)
			report := restore(t, o, saved)
			advice := strings.Join(report.Advice(), "\n")
			if report.KeysKept != 0 || len(report.WitnessDiffers) == 0 ||
				!strings.Contains(advice, "move the witness file away") {
				t.Errorf("report = %+v, advice %q; want no key kept, and the way out", report, advice)
			}
			continued, err := app.RestorePresent(t.Context(), o)
			said := strings.Join(continued.Advice(), "\n")
			if err != nil || !strings.Contains(said, "nothing was done") ||
				!strings.Contains(said, "move the witness file away") {
				t.Errorf("--present: %v, %q; want that nothing was done, and the way out", err, said)
			}
			server := start(t, o)
			err = note(t.Context(), server, org, "x")
			if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "--present") ||
				!strings.Contains(err.Error(), "witness file") {
				t.Errorf("append: %v, want a refusal that names the witness file, and no command that does nothing", err)
			}
			server.stop()
			if err := os.Rename(o.Config.Witness.File, o.Config.Witness.File+".old"); err != nil {
				t.Fatal(err)
			}
			if err := note(t.Context(), start(t, o), org, "x"); err != nil {
				t.Errorf("append without the witness file: %v", err)
			}
		})
	}
}

// TestASecondRestoreCountsWhatTheFirstLost: the first one's word on it is lost with its entry.
func TestASecondRestoreCountsWhatTheFirstLost(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	org := server.FirstRun.OrganizationID
	saved := backup(t, o)
	size := int64(len(entries(t, server.Database, org)))
	for range 5 {
		if err := note(context.WithoutCancel(t.Context()), server, org, "lost"); err != nil {
			t.Fatal(err)
		}
	}
	server.stop()
	first := restore(t, o, saved)
	if lost := first.Logs[org]; lost.Entries != 5 {
		t.Fatalf("the first restore lost %+v, want 5 entries", lost)
	}
	for range 2 { // the entry about the first restore is lost too
		if lost := restore(t, o, saved).Logs[org]; !lost.Known || lost.Entries < 6 || lost.From != size {
			t.Errorf("restored again, lost %+v, want 6 entries at least", lost)
		}
	}
	// What was replaced first brings the five back, and loses the entry about the restore.
	if lost := restore(t, o, first.Replaced).Logs[org]; !lost.Known || lost.Entries == 0 || lost.From != size+5 {
		t.Errorf("the first database put back lost %+v", lost)
	}
}
