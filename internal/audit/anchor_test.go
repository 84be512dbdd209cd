package audit_test

import (
	"testing"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// TestALogFromBeforeAnUpgradeIsMissed deletes a log of which System has no entry that it
// began, as an older server left it, and which it has only anchored.
func TestALogFromBeforeAnUpgradeIsMissed(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		db := dbtest.Open(t, o)
		s := open(t, db)
		fill(t, db, s.Log, audit.System, 0, 1)
		fill(t, db, s.Log, "org", 0, 3)
		fill(t, db, s.Log, "other", 0, 3)
		for range 2 { // found once, however often it was anchored
			fill(t, db, s.Log, "org", 3, 1)
			if err := s.Anchor(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		kept := func() (found []audit.Problem) {
			err := s.CheckKept(t.Context(), func(p audit.Problem) { found = append(found, p) })
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		if found := kept(); found != nil {
			t.Fatalf("before: %+v", found)
		}
		change(t, db, `DELETE FROM audit_entry WHERE log = 'org'`)
		change(t, db, `DELETE FROM audit_head WHERE log = 'org'`)
		if found := kept(); len(found) != 1 || found[0].Log != "org" || found[0].Kind != audit.BadLog {
			t.Errorf("found %+v, want that org is gone", found)
		}
	})
}

// TestHeadsAreCheckedWhateverInstantTheySay: heads are listed by the instant of their last entry, which nobody signs.
func TestHeadsAreCheckedWhateverInstantTheySay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 3)
		change(t, db, `UPDATE audit_head SET checkpoint = '', updated_at = -1 WHERE log = 'org'`)
		if bad, err := s.BadHeads(t.Context()); err != nil || len(bad) != 1 || bad[0].Log != "org" {
			t.Errorf("bad heads %v, %v; want that of org", bad, err)
		}
	})
}
