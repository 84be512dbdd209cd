package turns_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/state"
	"writ/internal/testserver"
)

// TestKilledHost: the turn of a host that was killed reaches telemetry once its session goes on, or a day later with
// another one.
func TestKilledHost(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		h := newHost(t, o.Agent.BaseURL, o.Agent)
		h.prompt("look at a.txt")
		h.fire(hook.SessionStart, m{"source": "resume"})
		if n := len(turnTraces(t, o)); n != 1 {
			t.Errorf("the session goes on: %d traces, want 1", n)
		}
		if _, err := h.state().Turn(); err == nil {
			t.Error("the turn of the killed host is still open")
		}

		other, err := state.Open(h.guard["stateDir"].(string), h.guard["server"].(string)+h.key.APIKey, "killed")
		if err == nil {
			err = other.Begin(state.Turn{
				Number: 1, TraceID: "0a1b2c3d-0000-4000-8000-0000000000aa", StartedAt: time.Now(),
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		h.fire(hook.SessionStart, m{"source": "startup"})
		if n := len(turnTraces(t, o)); n != 1 {
			t.Errorf("a session of which nobody knows that it was killed: %d traces, want 1", n)
		}
		age(t, h.guard["stateDir"].(string))
		h.fire(hook.SessionStart, m{"source": "startup"})
		if n := len(turnTraces(t, o)); n != 2 {
			t.Errorf("a day later: %d traces, want 2", n)
		}
		if _, err := other.Turn(); err == nil {
			t.Error("the files of the killed session are still there")
		}
	})
}

// age makes files look two days old.
func age(t *testing.T, folder string) {
	t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Chtimes(path, old, old)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFilesThatCannotBeUsed: where nothing can be stored, no prompt reaches the model and no result does.
func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	h := newHost(t, "http://127.0.0.1:1", &noServer)
	h.guard["stateDir"] = "/dev/null/state"
	for event, members := range map[hook.Event]m{
		hook.BeforeAgent: {"prompt": "look"},
		hook.AfterTool:   ran("read_file", `{}`, "text"),
	} {
		if a, said := h.fire(event, members); a.Decision != "deny" {
			t.Errorf("%s: %q", event, said)
		}
	}
	if _, said := h.fire(hook.BeforeToolSelection, nil); said != "" {
		t.Errorf("before-tool-selection says %q", said)
	}
	for _, event := range []hook.Event{hook.SessionStart, hook.SessionEnd} {
		if a, said := h.fire(event, nil); a.SystemMessage == "" || a.Decision != "" {
			t.Errorf("%s: %q", event, said)
		}
	}
}

// TestBanner: a session that is only watched says so, and who may say that it is.
func TestBanner(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		h := newHost(t, o.Agent.BaseURL, o.Agent)
		start := func() string {
			t.Helper()
			a, _ := h.fire(hook.SessionStart, m{"source": "startup"})
			if a.Specific.Context != "" {
				t.Errorf("%+v", a)
			}
			return a.SystemMessage
		}
		h.env["WRIT_ENFORCE"] = "monitor"
		if said := start(); !strings.Contains(said, "guards") || !strings.Contains(said, "has no effect") {
			t.Errorf("the environment alone: %q", said)
		}
		permitMonitor(t, o)
		if said := start(); !strings.Contains(said, "only WATCHES") {
			t.Errorf("the organization permits it: %q", said)
		}
		h.env["WRIT_ENFORCE"], h.guard["mode"] = "", "monitor"
		if said := start(); !strings.Contains(said, "only WATCHES") {
			t.Errorf("the guard file: %q", said)
		}
	})
}

// TestWatchedWithoutServer: nobody is told that no tool runs, where calls are only monitored and tools run.
func TestWatchedWithoutServer(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"enforce": "No tool will run", "monitor": "tools run nevertheless"} {
		h := newHost(t, "http://127.0.0.1:1", &noServer)
		h.guard["mode"] = mode
		for event, members := range map[hook.Event]m{
			hook.SessionStart: {"source": "startup"}, hook.BeforeAgent: {"prompt": "look"},
		} {
			a, said := h.fire(event, members)
			if !strings.Contains(a.SystemMessage, want) || strings.Contains(said, "No tool") != (mode == "enforce") {
				t.Errorf("%s with mode %s says %s", event, mode, said)
			}
		}
	}
}

// TestPromptsAreEvidence: the server learns what the person typed apart from what files say.
func TestPromptsAreEvidence(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		h := newHost(t, o.Agent.BaseURL, o.Agent)
		typed, files := "read @notes.md",
			"\n--- Content from referenced files ---\n"+strings.Repeat("notes <b>\n", 40<<10)
		a := h.prompt(typed + files)
		if h.turn != 1 || a.SystemMessage != "" {
			t.Fatalf("turn %d, %+v", h.turn, a)
		}
		if got := said(t, o); got.prompt != int64(len(typed)) || got.text < 390<<10 || got.parts < 3 {
			t.Errorf("%+v; want %d bytes typed and the file", got, len(typed))
		}
	})
}
