package telemetry_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/database/dbtest"
	"writ/internal/telemetry"
)

// follow begins to follow an organization.
func (e *env) follow(orgID string, filter telemetry.ArrivalFilter) *telemetry.Follower {
	e.T.Helper()
	f, err := e.Follow(e.T.Context(), orgID, filter)
	if err != nil {
		e.T.Fatalf("follow: %v", err)
	}
	return f
}

// told is all that a follower has to tell, a few at a time.
func told(t *testing.T, f *telemetry.Follower) (ids []string) {
	t.Helper()
	for {
		arrived, more, err := f.Next(t.Context(), 3)
		if err != nil {
			t.Fatalf("follow: %v", err)
		}
		for _, a := range arrived {
			id := a.ID
			if a.Grew {
				id += " grew"
			}
			ids = append(ids, id)
		}
		if !more {
			return ids
		}
	}
}

func wantTold(t *testing.T, what string, f *telemetry.Follower, want ...string) {
	t.Helper()
	if got := told(t, f); !slices.Equal(got, want) {
		t.Errorf("%s: told %v, want %v", what, got, want)
	}
}

func TestAFollowerTellsAtOnceAndOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.accept(orgA, trace(newID(), e.Now(), ""))
		f := e.follow(orgA, telemetry.ArrivalFilter{})
		wantTold(t, "what was there before", f)
		var want []string
		for range 8 { // more than one look's worth, in the same moment
			id := newID()
			e.accept(orgA, trace(id, e.Now(), `"attributes":{"large":true}`))
			e.accept(orgB, trace(newID(), e.Now(), ""))
			want = append(want, id)
		}
		wantTold(t, "what came", f, want...)
		wantTold(t, "once more", f)
		left := f.Cursor()
		grows := newID()
		e.decided(orgA, grows, "one")
		wantTold(t, "a new one", f, grows)
		e.Pass(time.Minute)
		e.decided(orgA, grows, "two")
		wantTold(t, "one that grew", f, grows+" grew")
		// Who comes back is told all that came since, and a little more.
		again := told(t, e.Resume(orgA, telemetry.ArrivalFilter{}, left))
		if missed := []string{grows, grows + " grew"}; !slices.Equal(again[max(len(again)-2, 0):], missed) {
			t.Errorf("resumed with %v, want %v at the end", again, missed)
		}
		wantTold(t, "at the end", e.Resume(orgB, telemetry.ArrivalFilter{}, f.Cursor()))
	})
}

// TestAFollowerTellsWhatCommitsLate has one server commit what it received before
// another did, and committed.
func TestAFollowerTellsWhatCommitsLate(t *testing.T) {
	t.Parallel()
	e := open(t, dbtest.Postgres(t))
	other := e.replica()
	late, early := newID(), newID()
	e.accept(orgA, trace(newID(), e.Now(), "")) // makes the partitions, for which one would wait
	e.Pass(time.Minute)
	f := e.follow(orgA, telemetry.ArrivalFilter{})
	var running sync.WaitGroup
	commit := e.holdOpen(&running, func() error {
		_, err := send(t.Context(), e.Service, orgA, body(trace(late, e.Now(), "")))
		return err
	})
	e.Pass(3 * time.Second)
	other.accept(orgA, trace(early, e.Now(), ""))
	wantTold(t, "what is committed", f, early)
	left := f.Cursor()
	commit()
	running.Wait()
	wantTold(t, "what was received before", f, late)
	if f.Cursor() != left {
		t.Errorf("the place moved from %v to %v", left, f.Cursor())
	}
	wantTold(t, "nothing is told twice", f)
	wantTold(t, "who comes back", other.Resume(orgA, telemetry.ArrivalFilter{}, left), late, early)
}

func TestAFollowerTellsWhatIsWanted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		session := newID()
		for name, filter := range map[string]telemetry.ArrivalFilter{
			"agent": {AgentID: "codex"}, "session": {SessionID: session}, "name": {Name: "deploy"},
			"status": {Status: "error"}, "tool": {Tool: "pay"},
			"all of it": {
				AgentID:   "codex",
				SessionID: session,
				Name:      "deploy",
				Status:    "error",
				Tool:      "pay",
			},
		} {
			f := e.follow(orgA, filter)
			none := e.follow(orgA, telemetry.ArrivalFilter{AgentID: "codex", Tool: "refund\x00"})
			wanted := newID()
			e.accept(orgA, trace(newID(), e.Now(), "", generation(e.Now(), "m", 1)))
			batch := named("deploy", wanted, e.Now(), `"agentId":"codex",`+inSession(session),
				span("span", "x", e.Now(), ""), span("span", "y", e.Now(), `"attributes":{"toolName":"pay"}`))
			e.accept(orgA, withStatus(batch, "error"))
			wantTold(t, name, f, wanted)
			wantTold(t, name+", and another tool", none)
		}
	})
}

// withStatus is a batch whose trace ended so.
func withStatus(batch, status string) string {
	return strings.Replace(batch, `"status":"ok"`, `"status":"`+status+`"`, 1)
}
