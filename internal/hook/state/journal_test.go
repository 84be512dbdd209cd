package state_test

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/hook/state"
)

// TestJournalOfManyHooks: lines that are written at the same time do not mix.
func TestJournalOfManyHooks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const hooks, lines = 8, 25
	var all sync.WaitGroup
	for range hooks {
		s := open(t, folder, "one")
		all.Go(func() {
			for range lines {
				if err := s.Log(state.Event{
					Kind: state.OutcomeEvent, At: at, Output: strings.Repeat("x", 5000),
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	events, edited, err := open(t, folder, "one").Events()
	if err != nil || edited != 0 || len(events) != hooks*lines {
		t.Errorf("%d events, %d edited, %v; want %d", len(events), edited, err, hooks*lines)
	}
}

func TestJournalCountsWhatNoHookWrote(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, "one")
	for _, verdict := range []string{state.Allow, "deny"} {
		if err := s.Log(state.Event{Kind: state.DecisionEvent, At: at, Tool: "x", Verdict: verdict}); err != nil {
			t.Fatal(err)
		}
	}
	path := file(t, folder, "journal")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(text), `"deny"`, `"allow"`, 1)+"nonsense\n")
	events, edited, err := s.Events()
	if err != nil || len(events) != 1 || edited != 2 {
		t.Errorf("%d events, %d edited, %v; want 1 and 2", len(events), edited, err)
	}
}

func TestJournalIsBounded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, "one")
	for range 120 {
		if err := s.Log(state.Event{
			Kind: state.OutcomeEvent, At: at, Output: strings.Repeat("x", 50_000),
		}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(file(t, folder, "journal"))
	if err != nil || info.Size() > 4<<20 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	if events, edited, err := s.Events(); err != nil || edited != 0 || len(events) < 50 {
		t.Errorf("%d events, %d edited, %v", len(events), edited, err)
	}
	if err := s.Log(state.Event{Output: strings.Repeat("x", 100_000)}); err == nil {
		t.Error("a line that is too long is no error")
	}
}

// TestLeft: a session whose host was killed is found, with its turn and events, by the key that made it.
func TestLeft(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, "one")
	begin(t, s, state.Turn{Number: 1, TraceID: "t", StartedAt: at})
	allow(t, s, "d1", "x", `{}`)
	if left, err := state.Left(folder, secret, time.Now().Add(-time.Hour)); err != nil || len(left) != 0 {
		t.Errorf("%d sessions are left, %v; want none that was just used", len(left), err)
	}
	left, err := state.Left(folder, secret, time.Now().Add(time.Hour))
	if err != nil || len(left) != 1 {
		t.Fatalf("%d sessions, %v", len(left), err)
	}
	turn, err := left[0].Turn()
	if err != nil || turn.TraceID != "t" || left[0].ID() != "one" {
		t.Fatalf("%+v of %q, %v", turn, left[0].ID(), err)
	}
	if events, _, err := left[0].Events(); err != nil || len(events) != 1 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if err := left[0].Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := state.Left(folder, secret, time.Now().Add(time.Hour)); err != nil || len(left) != 0 {
		t.Errorf("%d sessions are left, %v", len(left), err)
	}
	if left, err := state.Left(t.TempDir(), secret, time.Now()); err != nil || left != nil {
		t.Errorf("without a folder: %v, %v", left, err)
	}
}
