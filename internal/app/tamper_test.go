package app_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/app"
	"writ/internal/audit"
	proofs "writ/internal/audit/ledger"
	"writ/internal/audit/witness"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/secret"
)

// tamper changes the database of a server that is stopped.
func tamper(t *testing.T, o app.Options, statement string, args ...any) {
	t.Helper()
	db, err := database.Open(t.Context(), app.DatabaseOptions(o))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		changed, err := tx.Exec(ctx, statement, args...)
		if err == nil && changed == 0 {
			t.Errorf("%s changed nothing", statement)
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func kinds(c app.Checked) map[string]bool {
	found := map[string]bool{}
	for _, p := range c.Problems {
		found[p.Kind] = true
	}
	return found
}

// TestAServerGoesOnWithNoLogThatWasAltered: System keeps it from starting, another log is
// refused alone, and the operator can have both go on, which verifiers see.
func TestAServerGoesOnWithNoLogThatWasAltered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		org := server.FirstRun.OrganizationID
		server.stop()
		tamper(t, o, `UPDATE audit_head SET checkpoint = '' WHERE log = $1`, org)
		server = start(t, o)
		if err := note(t.Context(), server, org, "x"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("append: %v, want a refusal", err)
		}
		if err := note(t.Context(), server, audit.System, "x"); err != nil {
			t.Errorf("another log: %v", err)
		}
		ready, err := http.Get(server.URL + "/ready")
		if err != nil || ready.StatusCode != http.StatusOK ||
			!strings.Contains(body(t, ready), `"auditLog":"altered"`) {
			t.Errorf("ready: %v, %v; want a word on the log", ready, err)
		}
		server.stop()
		tamper(t, o, `UPDATE audit_head SET checkpoint = '' WHERE log = 'system'`)
		refuses(t, o, "writd restore --present")

		continued, err := app.RestorePresent(t.Context(), o)
		if err != nil || len(continued.Logs) != 2 {
			t.Fatalf("continued %+v, %v; want both logs", continued, err)
		}
		server = start(t, o)
		if err := note(t.Context(), server, org, "x"); err != nil {
			t.Errorf("append after the restore: %v", err)
		}
		if checked, err := server.CheckEvidence(t.Context(), true); err != nil || checked.Found != 0 {
			t.Errorf("check: %+v, %v", checked, err)
		}
		var export bytes.Buffer
		if err := server.Audit.Export(t.Context(), &export, org, audit.ExportOptions{}); err != nil {
			t.Fatal(err)
		}
		report, err := proofs.Verify(&export, proofs.Trust{})
		if err != nil || len(report.Restores) != 1 || !report.Restores[0].Unproved {
			t.Errorf("report = %+v, %v; want a restore of what was not proved", report, err)
		}
	})
}

func body(t *testing.T, answer *http.Response) string {
	t.Helper()
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestChecksOfAServerFind alters what is stored beside a log.
func TestChecksOfAServerFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ statement, kind string }{
		"payloads": {`UPDATE audit_entry SET payload = NULL, salt = NULL WHERE log <> 'system'`, audit.BadPayload},
		"search":   {`UPDATE audit_entry SET subject = 'x' WHERE log <> 'system'`, audit.BadSearch},
		"a policy": {`UPDATE policy SET active_version = 1`, audit.BadPolicy},
		"a log": {
			`INSERT INTO organization (id, name, created_at, updated_at) VALUES ('gone', 'x', 1, 1)`, audit.BadLog,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, o app.Options) {
				server := start(t, o)
				if checked, err := server.CheckEvidence(t.Context(), true); err != nil || checked.Found != 0 {
					t.Fatalf("before: %+v, %v", checked, err)
				}
				server.stop()
				tamper(t, o, c.statement)
				server = start(t, o)
				if problems, _ := server.AuditProblems(); problems == 0 {
					t.Error("the check at the start does not find it")
				}
				checked, err := server.CheckEvidence(t.Context(), true)
				if err != nil || !kinds(checked)[c.kind] {
					t.Errorf("check: %+v, %v; want %s", checked, err, c.kind)
				}
			})
		})
	}
}

// TestTheFirstHeadIsSigned: a crash after the first commit must not leave a database that
// the next start refuses.
func TestTheFirstHeadIsSigned(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		areas, err := app.Open(t.Context(), o, "")
		if err != nil {
			t.Fatal(err)
		}
		defer areas.Close()
		entries, err := audit.ReadEntries(t.Context(), areas.Database, audit.System, 0, 10)
		if err != nil || len(entries) == 0 || !strings.Contains(entries[0].Payload, `"purpose":"checkpoint"`) {
			t.Fatalf("entries = %v, %v; want the key of checkpoints first", entries, err)
		}
	})
}

// TestWitness sends checkpoints to a file and to a receiver, which an export is compared
// with; a server that was rolled back under its witness is found.
func TestWitness(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		folder := t.TempDir()
		o.Config.Witness.File = filepath.Join(folder, "seen.ndjson")
		server := start(t, o)
		org := server.FirstRun.OrganizationID
		if err := server.SendToWitness(t.Context()); err != nil {
			t.Fatal(err)
		}
		saved := backup(t, o)
		if err := note(t.Context(), server, org, "later"); err != nil {
			t.Fatal(err)
		}
		if err := server.SendToWitness(t.Context()); err != nil {
			t.Fatal(err)
		}
		verifiesWith(t, server, org, o.Config.Witness.File)
		server.stop()
		if o.Config.UsesPostgres() {
			return // a file copy is an SQLite matter
		}
		// A copy is put back by hand, which begins no epoch.
		present := filepath.Join(o.Config.DataDir, "writ.db")
		content, err := os.ReadFile(saved)
		if err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"-wal", "-shm"} {
			_ = os.Remove(present + suffix)
		}
		if err := os.WriteFile(present, content, 0o600); err != nil {
			t.Fatal(err)
		}
		server = start(t, o)
		checked, err := server.CheckEvidence(t.Context(), false)
		if err != nil || !kinds(checked)[audit.BadWitness] {
			t.Errorf("check: %+v, %v; want what the witness has seen", checked, err)
		}
		if err := note(t.Context(), server, org, "x"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("append: %v, want a refusal", err)
		}
	})
}

// verifiesWith exports a log and compares it with a witness, which has seen two checkpoints at least: those that the
// test sent. Others come from the server's own schedule.
func verifiesWith(t *testing.T, server *running, log, file string) {
	t.Helper()
	seen, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Close()
	var checkpoints []string
	if err := proofs.ReadSightings(seen, func(s proofs.Sighting) error {
		checkpoints = append(checkpoints, s.Checkpoint)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var export bytes.Buffer
	if err := server.Audit.Export(t.Context(), &export, log, audit.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	report, err := proofs.Verify(&export, proofs.Trust{Witnessed: checkpoints})
	if err != nil || report.Compared < 2 || report.Witnessed.Size != report.Size {
		t.Errorf("report = %+v, %v; want two checkpoints of the witness at least", report, err)
	}
}

// TestAWitnessThatCannotBeReached stops nothing, is reported, and gets what it missed.
func TestAWitnessThatCannotBeReached(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		var receiver atomic.Pointer[witness.Receiver]
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if receiver.Load() == nil {
				http.Error(w, "away", http.StatusServiceUnavailable)
				return
			}
			receiver.Load().ServeHTTP(w, r)
		}))
		defer endpoint.Close()
		o.Config.Witness.URL = secret.NewText(endpoint.URL + "/checkpoints")
		o.Config.Witness.Token = secret.NewText("a-token-of-the-witness")
		server := start(t, o)
		org := server.FirstRun.OrganizationID
		if err := server.SendToWitness(t.Context()); err == nil {
			t.Error("the witness was away, and nobody said so")
		}
		if err := note(t.Context(), server, org, "meanwhile"); err != nil {
			t.Errorf("append while the witness is away: %v", err)
		}
		ready, err := http.Get(server.URL + "/ready")
		if err != nil || ready.StatusCode != http.StatusOK || !strings.Contains(body(t, ready), `"witness":"behind"`) {
			t.Errorf("ready: %v, %v; want a word on the witness", ready, err)
		}
		keys, err := proofs.ParseKeys(server.Audit.PublicKey())
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "seen.ndjson")
		back, err := witness.NewReceiver(witness.NewFile(file, time.Now), keys, o.Config.Witness.Token,
			func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		receiver.Store(back)
		if err := server.SendToWitness(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := note(t.Context(), server, org, "later"); err != nil {
			t.Fatal(err)
		}
		if err := server.SendToWitness(t.Context()); err != nil {
			t.Fatal(err)
		}
		verifiesWith(t, server, org, file)
	})
}
