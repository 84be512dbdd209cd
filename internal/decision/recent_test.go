package decision_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/verdict"
)

// lean is the comparison of a recent decision with the one that the log has.
var lean = []cmp.Option{
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreFields(decision.Record{}, "Arguments", "Digest", "Paths", "Failed", "Labels", "Message", "Email"),
}

// least is a decision with hardly anything.
func (e *env) least() decision.Record {
	return decision.Record{
		ID:      database.NewID(),
		OrgID:   e.acme,
		Ruling:  verdict.Ruling{PolicyID: "writ:default", Reason: "no active policy"},
		Details: decision.Details{},
	}
}

// head is that of the organization's log.
func (e *env) head() audit.Head {
	e.T.Helper()
	head, err := audit.ReadHead(e.T.Context(), e.DB, e.acme)
	if err != nil {
		e.T.Fatal(err)
	}
	return head
}

func (e *env) mustDecide(records ...decision.Record) {
	e.T.Helper()
	if err := e.decide(records...); err != nil {
		e.T.Fatal(err)
	}
}

func TestRecentDecisionsAreThoseOfTheLog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		recent := e.recent
		e.mustDecide(e.whole(), e.least())
		e.mustDecide(e.whole())
		elsewhere := e.least()
		elsewhere.OrgID = database.NewID()
		e.mustDecide(elsewhere)
		got := recent.Take(e.head(), 0, 100)
		if diff := cmp.Diff(e.read(e.acme, 0), got, lean...); diff != "" || len(got) != 3 {
			t.Errorf("recent (-log +got):\n%s", diff)
		}
		for _, d := range got {
			if d.Arguments != nil || d.Digest != nil || d.Paths != nil || d.Failed != nil || d.Labels != nil ||
				d.Message+d.Email != "" {
				t.Errorf("decision %d holds more than is shown: %+v", d.Index, d)
			}
		}
		if some := recent.Take(e.head(), 1, 1); len(some) != 1 || some[0].Index != 1 {
			t.Errorf("one from the second on: %+v", some)
		}
		if before := recent.Take(e.head(), 0, 100); len(before) > 0 {
			t.Errorf("from before what is kept: %+v", before)
		}
		if none := recent.Take(e.head(), 3, 100); len(none) > 0 {
			t.Errorf("from behind the last: %+v", none)
		}
		e.mustDecide(e.least())
		if next := recent.Take(e.head(), 3, 100); len(next) != 1 || next[0].Index != 3 {
			t.Errorf("what came since: %+v", next)
		}
	})
}

// appendOther adds an entry that is no decision.
func (e *env) appendOther() {
	e.T.Helper()
	err := e.DB.Write(e.T.Context(), database.Change{Logs: []string{e.acme}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		_, err := e.log.Append(ctx, tx, audit.Entry{Log: e.acme, Action: "key.created", Actor: key})
		return err
	}})
	if err != nil {
		e.T.Fatal(err)
	}
}

// Other entries of this process stand between decisions, as reports of what came of
// them do. Who takes them gets each decision once.
func TestRecentDecisionsAreAmongOtherEntries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		recent := e.recent
		e.appendOther()
		e.mustDecide(e.least())
		e.appendOther()
		e.mustDecide(e.least(), e.least())
		var places []int64
		for next := int64(0); ; {
			got := recent.Take(e.head(), next, 2)
			if len(got) == 0 {
				break
			}
			for _, d := range got {
				places = append(places, d.Index)
			}
			next = places[len(places)-1] + 1
		}
		if diff := cmp.Diff([]int64{1, 3, 4}, places); diff != "" {
			t.Errorf("places (-want +got):\n%s", diff)
		}
	})
}

// What another process appended is not known here, so that nothing is given that
// would pass over it.
func TestRecentDecisionsHaveNoGap(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here *env) {
		elsewhere := newEnv(here.Replica(), here.acme)
		recent := here.recent
		here.mustDecide(here.least())
		elsewhere.mustDecide(elsewhere.least())
		here.mustDecide(here.least())
		if got := recent.Take(here.head(), 0, 100); len(got) > 0 {
			t.Errorf("over a gap: %+v", got)
		}
		if got := recent.Take(here.head(), 2, 100); len(got) != 1 || got[0].Index != 2 {
			t.Errorf("behind the gap: %+v", got)
		}
		elsewhere.mustDecide(elsewhere.least()) // or erased something
		if got := recent.Take(here.head(), 2, 100); len(got) > 0 {
			t.Errorf("before what another process appended: %+v", got)
		}
	})
}

var errUndone = errors.New("undone")

func TestRecentDecisionsWereCommitted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		recent := e.recent
		undone := e.least()
		err := e.DB.Write(t.Context(), database.Change{Logs: []string{e.acme}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			_, err := decision.Append(ctx, tx, e.log.Log, key, &undone)
			return errors.Join(err, errUndone)
		}})
		if !errors.Is(err, errUndone) {
			t.Fatalf("err = %v", err)
		}
		if got := recent.Take(e.head(), 0, 100); len(got) > 0 {
			t.Errorf("undone, and kept: %+v", got)
		}
	})
}

// One commit may hold decisions of several logs.
func TestRecentDecisionsOfOneCommitAreOfAllItsLogs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		elsewhere := e.least()
		elsewhere.OrgID = database.NewID()
		err := e.DB.Write(t.Context(), database.Change{Logs: []string{e.acme, elsewhere.OrgID}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			first, last := e.least(), e.least()
			for _, d := range []*decision.Record{&first, &elsewhere, &last} {
				if _, err := decision.Append(ctx, tx, e.log.Log, key, d); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		other := audit.Head{Log: elsewhere.OrgID, Size: 1}
		if here, there := e.recent.Take(e.head(), 0, 100), e.recent.Take(other, 0, 100); len(here) != 2 ||
			len(there) != 1 {
			t.Errorf("%d and %d decisions, want 2 and 1", len(here), len(there))
		}
	})
}
