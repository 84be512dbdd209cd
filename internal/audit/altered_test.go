package audit_test

import (
	"strings"
	"testing"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
)

// TestListsMarkWhatWasAltered alters entries in a complete tile and in the unfinished one: lists say so of these
// entries, and no proof is given where the record itself is another.
func TestListsMarkWhatWasAltered(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]struct {
		statement string // about the entries at 10 and 289
		why       string
		record    bool
	}{
		"a record":        {`record = REPLACE(record, '"verdict":"deny"', '"verdict":"allow"'), verdict = 'allow'`, "the log proves", true},
		"no record":       {`record = '{}'`, "the log proves", true},
		"a leaf":          {`leaf = salt`, "the log proves", true},
		"a verdict alone": {`verdict = 'allow'`, "another verdict", false},
		"an agent alone":  {`agent = NULL`, "another agent", false},
		"a time alone":    {`recorded_at = recorded_at + 1`, "another time", false},
		"a payload":       {`payload = '{"n":11}'`, "the payload is not", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				s := open(t, db)
				fill(t, db, s.Log, "org", 0, 300)
				update := `UPDATE audit_entry SET ` + alter.statement + ` WHERE log = 'org' AND position = `
				remove(t, db, update+"10")
				wantMarked(t, s, alter.why, alter.record, 10)
				if name == "a leaf" {
					return // the hash of an unfinished tile is that of all of its entries
				}
				remove(t, db, update+"289")
				wantMarked(t, s, alter.why, alter.record, 10, 289)
			})
		})
	}
}

// wantMarked wants exactly these entries of log "org" to be marked as altered, and only those with another record to
// be refused.
func wantMarked(t *testing.T, s *audit.Service, why string, record bool, altered ...int64) {
	t.Helper()
	want := map[int64]bool{}
	for _, index := range altered {
		want[index] = true
		_, _, err := s.Entry(t.Context(), "org", index)
		if refused := fault.Is(err, fault.Conflict) && fault.CodeOf(err) == audit.CodeAltered; refused != record {
			t.Errorf("entry %d: %v", index, err)
		}
	}
	var all []audit.Stored
	for cursor := ""; ; {
		found, err := s.Entries(t.Context(), "org", audit.Filter{Cursor: cursor, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found.Items...)
		if cursor = found.NextCursor; !found.HasMore {
			break
		}
	}
	some, err := s.EntriesAt(t.Context(), "org", append([]int64{11}, altered...))
	if err != nil || len(all) != 300 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	for _, e := range append(all, some...) {
		if want[e.Index] != (e.Altered.Why != "") || want[e.Index] && e.Altered.Record != record ||
			!strings.Contains(e.Altered.Why, map[bool]string{true: why}[want[e.Index]]) {
			t.Errorf("entry %d is marked %+v", e.Index, e.Altered)
		}
	}
}

// TestAMissingEntryIsNoFault: an entry that was taken away is refused as altered.
func TestAMissingEntryIsNoFault(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 5)
		remove(t, db, `DELETE FROM audit_entry WHERE position = 2`)
		_, _, err := s.Entry(t.Context(), "org", 2)
		if fault.CodeOf(err) != audit.CodeAltered {
			t.Errorf("%v, want a refusal as altered", err)
		}
	})
}

// TestARefusedLogProvesNothing alters the head: no entry of the log is shown as fact.
func TestARefusedLogProvesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		fill(t, db, open(t, db).Log, "org", 0, 5)
		remove(t, db, `UPDATE audit_head SET size = 4 WHERE log = 'org'`)
		found, err := open(t, db).Entries(t.Context(), "org", audit.Filter{})
		if err != nil || len(found.Items) != 5 {
			t.Fatal(len(found.Items), err)
		}
		for _, e := range found.Items {
			if !e.Altered.Record {
				t.Errorf("entry %d of a refused log is shown as fact", e.Index)
			}
		}
	})
}
