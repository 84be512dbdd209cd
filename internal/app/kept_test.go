package app_test

import (
	"context"
	"strings"
	"testing"

	"writ/internal/app"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// another makes a second organization, and gives its id.
func another(t *testing.T, server *running) string {
	t.Helper()
	owner, err := server.Auth.FindID(t.Context(), server.FirstRun.Email)
	if err != nil {
		t.Fatal(err)
	}
	made, err := server.Organizations.Create(t.Context(), principal.Principal{Kind: principal.User, UserID: owner},
		"Other")
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// foundOf is what a check says of a log.
func foundOf(t *testing.T, server *running, whole bool, log string) (found []audit.Problem) {
	t.Helper()
	checked, err := server.CheckEvidence(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range checked.Problems {
		if p.Log == log {
			found = append(found, p)
		}
	}
	return found
}

// TestALogThatIsGoneIsFound deletes a log whole, alone or with its organization, while the server is stopped.
func TestALogThatIsGoneIsFound(t *testing.T) {
	t.Parallel()
	log := []string{
		`DELETE FROM audit_entry WHERE log = $1`, `DELETE FROM audit_head WHERE log = $1`,
	}
	for name, c := range map[string]struct {
		statements []string
		refused    bool
	}{
		"the log": {log, true},
		"the log, but for an empty head": {[]string{
			`DELETE FROM audit_entry WHERE log = $1`,
			`UPDATE audit_head SET size = 0, frontier = '', checkpoint = '', state = '', seal = '' WHERE log = $1`,
		}, true},
		"the organization with its log": {append([]string{
			`DELETE FROM organization_member WHERE org_id = $1`, `DELETE FROM organization WHERE id = $1`,
		}, log...), true},
		"and what the System log says of it is hidden": {append([]string{
			`DELETE FROM organization_member WHERE org_id = $1`, `DELETE FROM organization WHERE id = $1`,
			`UPDATE audit_entry SET action = 'x', subject = 'y' WHERE log = 'system' AND subject = 'log/' || $1`,
		}, log...), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, o app.Options) {
				server := start(t, o)
				org := another(t, server)
				if found := foundOf(t, server, true, org); found != nil {
					t.Fatalf("before: %v", found)
				}
				server.stop()
				for _, statement := range c.statements {
					tamper(t, o, statement, org)
				}
				server = start(t, o)
				if problems, _ := server.AuditProblems(); problems == 0 {
					t.Error("the check at the start does not find it")
				}
				for _, whole := range []bool{false, true} {
					found := foundOf(t, server, whole, org)
					if len(found) != 1 || found[0].Kind != audit.BadLog ||
						!strings.Contains(found[0].Message, "is gone") {
						t.Errorf("whole %t: %+v", whole, found)
					}
				}
				if err := note(t.Context(), server, org, "x"); !fault.Is(err, fault.Unavailable) {
					t.Errorf("append: %v, want a refusal", err)
				}
			})
		})
	}
}

// TestNoLogBeginsWithoutItsOrganization: an entry for a log that nobody has begun is refused, with no check before.
func TestNoLogBeginsWithoutItsOrganization(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		if err := note(t.Context(), server, "never-begun", "x"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("append: %v, want a refusal", err)
		}
		org := another(t, server)
		if err := note(t.Context(), server, org, "x"); err != nil {
			t.Error(err)
		}
		if entries := entries(t, server.Database, "never-begun"); len(entries) != 0 {
			t.Errorf("entries = %v", entries)
		}
	})
}

// TestALogThatWasPutBackIsFound puts one log back to an earlier head, with its rows, while the server is
// stopped. Once it is as it should be again, a check lifts the refusal.
func TestALogThatWasPutBackIsFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		first, org := server.FirstRun.OrganizationID, another(t, server)
		server.stop()
		keep(t, o, `CREATE TABLE old_head AS SELECT * FROM audit_head WHERE log <> 'system'`)
		server = start(t, o)
		for range 3 {
			if err := note(t.Context(), server, org, "later"); err != nil {
				t.Fatal(err)
			}
		}
		server.stop()
		keep(t, o, `CREATE TABLE new_head AS SELECT * FROM audit_head WHERE log <> 'system'`)
		keep(t, o, `CREATE TABLE new_entry AS SELECT * FROM audit_entry WHERE action = 'test.noted'`)
		tamper(t, o, `DELETE FROM audit_entry WHERE log = $1 AND action = 'test.noted'`, org)
		putHead(t, o, org, "old_head")

		server = start(t, o)
		if problems, _ := server.AuditProblems(); problems == 0 {
			t.Error("the check at the start does not find it")
		}
		for _, whole := range []bool{false, true} {
			found := foundOf(t, server, whole, org)
			if len(found) != 1 || found[0].Kind != audit.BadAnchor {
				t.Errorf("whole %t: %+v", whole, found)
			}
		}
		if err := note(t.Context(), server, org, "x"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("append: %v, want a refusal", err)
		}
		if err := note(t.Context(), server, first, "x"); err != nil {
			t.Errorf("another log: %v", err)
		}
		tamper(t, o, `INSERT INTO audit_entry SELECT * FROM new_entry`)
		putHead(t, o, org, "new_head")
		found := func(p audit.Problem) { t.Errorf("after it was put right: %+v", p) }
		if _, err := server.CheckOne(t.Context(), org, found); err != nil {
			t.Fatal(err)
		}
		if err := note(t.Context(), server, org, "x"); err != nil {
			t.Errorf("append after a clean check: %v", err)
		}
	})
}

// keep copies rows of a stopped server's database into a new table.
func keep(t *testing.T, o app.Options, statement string) {
	t.Helper()
	db, err := database.Open(t.Context(), app.DatabaseOptions(o))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, statement)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// putHead replaces the head of a log by a copy of it.
func putHead(t *testing.T, o app.Options, log, from string) {
	t.Helper()
	for _, column := range []string{"size", "frontier", "generation", "epoch", "checkpoint", "state", "seal"} {
		tamper(t, o,
			`UPDATE audit_head SET `+column+` = (SELECT `+column+` FROM `+from+` WHERE log = $1) WHERE log = $1`, log)
	}
}

// TestLogsThatArePutBackGoOnInANewEpoch: the operator has a log go on that is gone or was put back.
func TestLogsThatArePutBackGoOnInANewEpoch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		org := another(t, server)
		server.stop()
		tamper(t, o, `DELETE FROM audit_entry WHERE log = $1`, org)
		tamper(t, o, `DELETE FROM audit_head WHERE log = $1`, org)
		continued, err := app.RestorePresent(t.Context(), o)
		if err != nil || len(continued.Logs) != 1 || !continued.Logs[org].Unproved {
			t.Fatalf("continued %+v, %v; want the log that is gone", continued, err)
		}
		server = start(t, o)
		if checked, err := server.CheckEvidence(t.Context(), true); err != nil || checked.Found != 0 {
			t.Errorf("check: %+v, %v", checked, err)
		}
		if err := note(t.Context(), server, org, "x"); err != nil {
			t.Error(err)
		}
	})
}

// TestOneAlteredLogStopsNothingElse alters one log so that it cannot be read. Checks find what was altered in the
// others too, and the server starts and goes on with these. The operator can have the log go on.
func TestOneAlteredLogStopsNothingElse(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"an entry is missing":      `DELETE FROM audit_entry WHERE log = $1 AND position = 1`,
		"a leaf is no hash":        `UPDATE audit_entry SET leaf = '' WHERE log = $1 AND position = 1`,
		"the frontier is no hash":  `UPDATE audit_head SET frontier = '' WHERE log = $1`,
		"the size is impossible":   `UPDATE audit_head SET size = -1 WHERE log = $1`,
		"the size is out of range": `UPDATE audit_head SET size = 9000000000000000000 WHERE log = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, o app.Options) {
				server := start(t, o)
				first, org := server.FirstRun.OrganizationID, another(t, server)
				server.stop() // which anchors both
				server = start(t, o)
				for range 3 {
					if err := note(t.Context(), server, org, "later"); err != nil {
						t.Fatal(err)
					}
				}
				tamper(t, o, statement, org)
				tamper(t, o, `UPDATE audit_entry SET actor = 'x' WHERE log = $1 AND position = 0`, first)
				for _, whole := range []bool{false, true} {
					if foundOf(t, server, whole, org) == nil || foundOf(t, server, whole, first) == nil {
						t.Errorf("whole %t: not both are found", whole)
					}
				}
				if err := note(t.Context(), server, org, "x"); !fault.Is(err, fault.Unavailable) {
					t.Errorf("append: %v, want a refusal", err)
				}
				server.stop()
				server = start(t, o)
				if err := note(t.Context(), server, first, "x"); err != nil {
					t.Errorf("append to another log: %v", err)
				}
				server.stop()
				if _, err := app.RestorePresent(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				server = start(t, o)
				if err := note(t.Context(), server, org, "x"); err != nil {
					t.Errorf("append after the restore: %v", err)
				}
			})
		})
	}
}
