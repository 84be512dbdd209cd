package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
)

// rewrite does what an attacker with the database can do: changes a record, and every
// hash that follows from it.
func rewrite(t *testing.T, db *database.DB, log string, index int64, was, will string) {
	t.Helper()
	entries, err := audit.ReadEntries(t.Context(), db, log, 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	record := strings.Replace(entries[index].Record, was, will, 1)
	if record == entries[index].Record {
		t.Fatalf("entry %d does not hold %s", index, was)
	}
	entries[index].Leaf = ledger.LeafHash([]byte(record))
	leaf := entries[index].Leaf
	change(t, db, `UPDATE audit_entry SET record = $3, leaf = $4 WHERE log = $1 AND position = $2`, log, index, record,
		leaf[:])
	var tree, tile ledger.Frontier
	var hashes []byte
	for i := range entries {
		tree.Add(entries[i].Leaf)
		tile.Add(entries[i].Leaf)
		hashes = append(hashes, entries[i].Leaf[:]...)
		if tile.Size() == 256 {
			root := tile.Root()
			change(t, db,
				`UPDATE audit_tile SET hashes = $4, root = $5 WHERE log = $1 AND level = $2 AND position = $3`,
				log, 0, i/256, hashes, root[:])
			tile, hashes = ledger.Frontier{}, nil
		}
	}
	change(t, db, `UPDATE audit_head SET frontier = $2 WHERE log = $1`, log, tree.Pack())
}

func change(t *testing.T, db *database.DB, statement string, args ...any) {
	t.Helper()
	err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		changed, err := tx.Exec(ctx, statement, args...)
		if err == nil && changed == 0 {
			err = errors.New("it changed nothing")
		}
		return err
	}})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// TestARewrittenHistoryIsNotSigned rewrites a log while no server runs, in each way that
// needs no key: the server that starts then neither signs nor continues it.
func TestARewrittenHistoryIsNotSigned(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"with an unsigned head":  `UPDATE audit_head SET checkpoint = '' WHERE log = 'org'`,
		"with the old signature": `UPDATE audit_head SET generation = generation + 1 WHERE log = 'org'`,
		"with the signature of another log": `UPDATE audit_head
			SET checkpoint = (SELECT checkpoint FROM audit_head WHERE log = 'other') WHERE log = 'org'`,
		"with a signature that is none": `UPDATE audit_head SET checkpoint = 'x' WHERE log = 'org'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
				db := dbtest.Open(t, o)
				s := open(t, db)
				fill(t, db, s.Log, "org", 0, 300)
				fill(t, db, s.Log, "other", 0, 300)
				rewrite(t, db, "org", 1, `"verdict":"deny"`, `"verdict":"allow"`)
				change(t, db, head)
				refusesToGoOn(t, dbtest.Open(t, o))
			})
		})
	}
}

// refusesToGoOn opens a log anew and expects that org is refused, and other is not.
func refusesToGoOn(t *testing.T, db *database.DB) {
	t.Helper()
	s := open(t, db)
	if text, err := s.Checkpoint(t.Context(), "org"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("checkpoint %q, %v; want a refusal", text, err)
	}
	if err := s.Export(t.Context(), &bytes.Buffer{}, "org", audit.ExportOptions{}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("export: %v, want a refusal", err)
	}
	_, err := decide(t.Context(), db, s.Log, decision("org", 900))
	broken, ok := errors.AsType[*audit.HeadError](err)
	if !ok || broken.Log != "org" || !strings.Contains(err.Error(), "writd restore") {
		t.Errorf("append: %v, want a refusal that says how to restore", err)
	}
	mustDecide(t, db, s.Log, decision("other", 900))
	bad, err := s.BadHeads(t.Context())
	if err != nil || len(bad) != 1 || bad[0].Log != "org" {
		t.Errorf("bad heads = %v, %v", bad, err)
	}
}

// TestALogThatShrinksUnderTheServer puts an older signed head back.
func TestALogThatShrinksUnderTheServer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 4)
		old, err := audit.ReadHead(t.Context(), db, "org")
		if err != nil {
			t.Fatal(err)
		}
		var tree ledger.Frontier
		entries, err := audit.ReadEntries(t.Context(), db, "org", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for i := range entries {
			tree.Add(entries[i].Leaf)
		}
		fill(t, db, s.Log, "org", 4, 3)
		change(t, db, `DELETE FROM audit_entry WHERE log = 'org' AND position >= 4`)
		change(t, db, `UPDATE audit_head SET size = 4, frontier = $1, checkpoint = $2 WHERE log = 'org'`, tree.Pack(),
			old.Checkpoint)
		if _, err := decide(t.Context(), db, s.Log, decision("org", 9)); !fault.Is(err, fault.Unavailable) {
			t.Errorf("append: %v, want a refusal", err)
		}
	})
}

// TestARestoreGoesOnFromAnyHead: a restore signs what it continues, and says that it was
// not proved.
func TestARestoreGoesOnFromAnyHead(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		db := dbtest.Open(t, o)
		fill(t, db, open(t, db).Log, "org", 0, 3)
		change(t, db, `UPDATE audit_head SET checkpoint = '' WHERE log = 'org'`)
		restoring, err := audit.OpenToRestore(t.Context(), db, withKey(checkpointKey), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Write(t.Context(), database.Change{Logs: []string{"org"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			return restoring.BeginEpoch(ctx, tx, "org", audit.Lost{Unproved: true})
		}})
		if err != nil {
			t.Fatal(err)
		}
		after := dbtest.Open(t, o)
		s := open(t, after)
		fill(t, after, s.Log, "org", 3, 1)
		report := export(t, s, "org", "", audit.ExportOptions{})
		if len(report.Restores) != 1 || !report.Restores[0].Unproved {
			t.Errorf("report = %+v; want a restore of what was not proved", report)
		}
	})
}

// TestChecksFind tampers with what is stored in every way that a check must find, whole
// and by a sample, where that reads it.
func TestChecksFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement string
		kind      string
	}{
		"payloads gone": {
			`UPDATE audit_entry SET payload = NULL, salt = NULL WHERE position IN (5, 6)`, audit.BadPayload,
		},
		"a payload altered": {`UPDATE audit_entry SET payload = '{"n":0}' WHERE position = 5`, audit.BadPayload},
		"a payload invented": {
			`UPDATE audit_entry SET payload = '{}', salt = leaf WHERE position = 300`, audit.BadPayload,
		},
		"a verdict": {`UPDATE audit_entry SET verdict = 'allow' WHERE verdict = 'deny'`, audit.BadSearch},
		"a tool":    {`UPDATE audit_entry SET tool = NULL WHERE position = 3`, audit.BadSearch},
		"a time": {
			`UPDATE audit_entry SET recorded_at = recorded_at - 1 WHERE position = 3`, audit.BadSearch,
		},
		"an action": {`UPDATE audit_entry SET action = 'x' WHERE position = 3`, audit.BadSearch},
		"a record": {
			`UPDATE audit_entry SET record = REPLACE(record, 'agent1', 'agent2') WHERE position = 4`, audit.BadEntry,
		},
		"a leaf": {
			`UPDATE audit_entry SET leaf = (SELECT leaf FROM audit_entry WHERE position = 1 AND log = 'org') WHERE position = 300`,
			audit.BadEntry,
		},
		"an entry removed": {`DELETE FROM audit_entry WHERE position = 4`, audit.BadEntry},
		"an entry invented": {`INSERT INTO audit_entry (log, position, recorded_at, action, record, leaf)
			SELECT log, 9000, recorded_at, action, record, leaf FROM audit_entry WHERE position = 4`, audit.BadEntry},
		"a tile":         {`UPDATE audit_tile SET root = hashes`, audit.BadTile},
		"a tile removed": {`DELETE FROM audit_tile`, audit.BadTile},
		"the checkpoint": {`UPDATE audit_head SET checkpoint = ''`, audit.BadHead},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
				db := dbtest.Open(t, o)
				s := open(t, db)
				fill(t, db, s.Log, "org", 0, 300) // less than what a sample reads
				plain := decision("org", 300)
				plain.Payload = nil
				mustDecide(t, db, s.Log, plain)
				if found := problems(t, s); len(found) != 0 {
					t.Fatalf("before: %v", found)
				}
				change(t, db, c.statement)
				if found := problems(t, s); !found["whole "+c.kind] || !found["sample "+c.kind] {
					t.Errorf("found %v, want %s by both", found, c.kind)
				}
			})
		})
	}
}

func problems(t *testing.T, s *audit.Service) map[string]bool {
	t.Helper()
	kinds := map[string]bool{}
	if _, err := s.Check(t.Context(), "org", func(p audit.Problem) { kinds["whole "+p.Kind] = true }); err != nil {
		t.Fatal(err)
	}
	if err := s.Sample(t.Context(), "org", func(p audit.Problem) { kinds["sample "+p.Kind] = true }); err != nil {
		t.Fatal(err)
	}
	return kinds
}

// TestChecksAcceptErasures erases by the rules, also as older servers recorded it.
func TestChecksAcceptErasures(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		o.Now = c.Now
		db := dbtest.Open(t, o)
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 700)
		if err := s.ErasePayload(t.Context(), owner, "org", 650, "asked for"); err != nil {
			t.Fatal(err)
		}
		cutoff := database.Micros(c.now) + 1
		change(t, db, `UPDATE audit_entry SET payload = NULL, salt = NULL WHERE position < 100`)
		c.now = c.now.Add(time.Hour)
		mustDecide(t, db, s.Log, audit.Entry{
			Log: "org", Action: ledger.Retired, Subject: audit.Subject{Type: "log", ID: "org"},
			Payload: map[string]any{"before": cutoff, "entries": 100}, Observation: true,
		})
		fill(t, db, s.Log, "org", 700, 10)
		c.now = c.now.Add(time.Hour)
		if err := s.RetirePayloads(t.Context(), 90*time.Minute); err != nil {
			t.Fatal(err)
		}
		if found := problems(t, s); len(found) != 0 {
			t.Errorf("found %v", found)
		}
		if report := export(t, s, "org", "", audit.ExportOptions{}); report.Erased != 700 {
			t.Errorf("report = %+v, want 700 erased", report)
		}
		last, err := audit.ReadEntries(t.Context(), db, "org", 712, 10)
		if err != nil || len(last) != 3 ||
			!strings.Contains(last[0].Record, `"subject":{"id":"100-349","type":"entries"}`) {
			t.Errorf("the erasures = %v, %v; want ranges", fmt.Sprint(last), err)
		}
	})
}

// TestRepairSearch makes lists whole again from the records.
func TestRepairSearch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 600)
		denied := list(t, s, "org", audit.Filter{Verdict: "deny"})
		change(t, db, `UPDATE audit_entry SET verdict = 'allow', tool = NULL, recorded_at = 1 WHERE verdict = 'deny'`)
		repaired, err := s.RepairSearch(t.Context(), "org")
		if err != nil || repaired != 200 {
			t.Errorf("repaired %d, %v; want 200", repaired, err)
		}
		if found := problems(t, s); len(found) != 0 {
			t.Errorf("found %v", found)
		}
		if again := list(t, s, "org", audit.Filter{Verdict: "deny"}); len(again) != len(denied) || len(denied) != 200 {
			t.Errorf("%d denies, want %d", len(again), len(denied))
		}
	})
}

// TestTheStateOfAHeadIsSealed changes what a head says of policies, which its checkpoint does not cover.
func TestTheStateOfAHeadIsSealed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement string
		reported  bool
	}{
		"another state": {
			`UPDATE audit_head SET state = '{"policies":"first"}' WHERE log = 'org'`, true,
		},
		"none": {`UPDATE audit_head SET state = '' WHERE log = 'org'`, true},
		"without a seal, as of an older server": {
			`UPDATE audit_head SET state = '', seal = '' WHERE log = 'org'`, false,
		},
		"the seal of another log": {
			`UPDATE audit_head SET seal = (SELECT seal FROM audit_head WHERE log = 'other') WHERE log = 'org'`, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
				db := dbtest.Open(t, o)
				s := open(t, db)
				fill(t, db, s.Log, "other", 0, 2)
				for _, digest := range []string{"first", "second"} {
					told := decision("org", 0)
					told.Policies = digest
					mustDecide(t, db, s.Log, told)
					fill(t, db, s.Log, "org", 1, 300)
				}
				running := open(t, dbtest.Open(t, o))
				change(t, db, c.statement)
				if _, err := running.Evidence(t.Context(), "org"); !fault.Is(err, fault.Unavailable) {
					t.Errorf("evidence: %v, want a refusal", err)
				}
				if _, err := decide(t.Context(), db, running.Log, decision("org",
					9)); !fault.Is(err, fault.Unavailable) {
					t.Errorf("append: %v, want a refusal", err)
				}
				after := dbtest.Open(t, o)
				again := open(t, after)
				evidence, err := again.Evidence(t.Context(), "org")
				if err != nil {
					t.Fatal(err)
				}
				if digest, err := evidence.Policies(); err != nil || digest != "second" {
					t.Errorf("policies = %q, %v; want what the entries say", digest, err)
				}
				resealed, err := again.Reseal(t.Context())
				if err != nil || (len(resealed) == 1) != c.reported {
					t.Errorf("resealed %v, %v", resealed, err)
				}
				fill(t, after, again.Log, "org", 301, 1)
			})
		})
	}
}
