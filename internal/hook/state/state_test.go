package state_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/hook/state"
)

const secret = "https://writ.example.org/ key-of-a-test"

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, folder, id string) *state.Session {
	t.Helper()
	s, err := state.Open(folder, secret, id)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func begin(t *testing.T, s *state.Session, turn state.Turn) {
	t.Helper()
	if err := s.Begin(turn); err != nil {
		t.Fatalf("begin: %v", err)
	}
}

func allow(t *testing.T, s *state.Session, id, tool, input string) {
	t.Helper()
	err := s.Decided(state.Decision{
		ID:      id,
		Tool:    tool,
		Input:   json.RawMessage(input),
		Verdict: state.Allow,
		At:      at,
	})
	if err != nil {
		t.Fatalf("decided: %v", err)
	}
}

// file finds the one file of a session whose path has this end.
func file(t *testing.T, folder, end string) string {
	t.Helper()
	var found string
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.Contains(path, end) {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("no file %s: %v", end, err)
	}
	return found
}

func TestTurn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, "one")
	if _, err := s.Turn(); !errors.Is(err, state.ErrNoTurn) {
		t.Fatalf("a new session: %v, want ErrNoTurn", err)
	}
	begin(t, s, state.Turn{TraceID: "t1", StartedAt: at, Input: "hello"})
	turn, err := open(t, folder, "one").Turn()
	if err != nil || turn.Number != 0 || turn.Input != "hello" || !turn.StartedAt.Equal(at) {
		t.Fatalf("%+v, %v", turn, err)
	}
	turn.Number = 3
	if err := s.Confirm(turn); err != nil {
		t.Fatal(err)
	}
	if err := s.Raise("something ran that nobody decided about"); err != nil {
		t.Fatal(err)
	}
	if turn, err = s.Turn(); err != nil || turn.Number != 3 || !strings.Contains(turn.Alarm, "nobody decided") {
		t.Fatalf("%+v, %v", turn, err)
	}
	begin(t, s, state.Turn{TraceID: "t2", StartedAt: at})
	if turn, err = s.Turn(); err != nil || turn.Alarm != "" || turn.Number != 0 {
		t.Fatalf("after a new turn: %+v, %v", turn, err)
	}
	if _, err := open(t, folder, "two").Turn(); !errors.Is(err, state.ErrNoTurn) {
		t.Fatalf("another session: %v, want ErrNoTurn", err)
	}
}

// TestWhatSomebodyEditedIsRefused: each change of a file is an error, and never another turn.
func TestWhatSomebodyEditedIsRefused(t *testing.T) {
	t.Parallel()
	replace := func(old, with string) func(*testing.T, string, string) {
		return func(t *testing.T, path, _ string) {
			t.Helper()
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), old) {
				t.Fatalf("%s: %v", text, err)
			}
			write(t, path, strings.Replace(string(text), old, with, 1))
		}
	}
	for name, edit := range map[string]func(t *testing.T, path, foreign string){
		"another number":  replace(`"number":3`, `"number":4`),
		"another session": replace(`"session":"one"`, `"session":"two"`),
		"a member more":   replace(`{"session"`, `{"x":1,"session"`),
		"cut":             replace(`}`, ``),
		"two values":      replace(`{"session"`, `{}{"session"`),
		"empty":           func(t *testing.T, path, _ string) { write(t, path, "") },
		"no JSON":         func(t *testing.T, path, _ string) { write(t, path, "turn 3") },
		"a file of another session": func(t *testing.T, path, foreign string) {
			text, err := os.ReadFile(foreign)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, string(text))
		},
		"too long": func(t *testing.T, path, _ string) { write(t, path, strings.Repeat(" ", 1<<20)) },
		"others may read it": func(t *testing.T, path, _ string) {
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"a link": func(t *testing.T, path, _ string) {
			if err := errors.Join(os.Rename(path, path+"x"), os.Symlink(path+"x", path)); err != nil {
				t.Fatal(err)
			}
		},
		"a folder": func(t *testing.T, path, _ string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, other := t.TempDir(), t.TempDir()
			s := open(t, folder, "one")
			begin(t, s, state.Turn{Number: 3, TraceID: "t", StartedAt: at})
			begin(t, open(t, other, "two"), state.Turn{Number: 9, TraceID: "t", StartedAt: at})
			edit(t, file(t, folder, "turn.json"), file(t, other, "turn.json"))
			if turn, err := s.Turn(); err == nil || errors.Is(err, state.ErrNoTurn) {
				t.Errorf("%+v, %v: want an error", turn, err)
			} else if strings.Contains(err.Error(), folder) {
				t.Errorf("the error tells where the state is: %v", err)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAnotherKeySeesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	begin(t, open(t, folder, "one"), state.Turn{Number: 3, TraceID: "t", StartedAt: at})
	s, err := state.Open(folder, "another secret", "one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turn(); !errors.Is(err, state.ErrNoTurn) {
		t.Errorf("%v, want ErrNoTurn", err)
	}
}

func TestFilesBelongToTheUserAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Fatal("this test needs modes of files")
	}
	folder := t.TempDir()
	s := open(t, folder, "one")
	begin(t, s, state.Turn{Number: 3, TraceID: "t", StartedAt: at})
	allow(t, s, "d1", "read_file", `{}`)
	err := filepath.WalkDir(filepath.Join(folder, "sessions"), func(path string, entry os.DirEntry, err error) error {
		if info, infoErr := entry.Info(); infoErr != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), infoErr)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(file(t, folder, "turn.json")), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Open(folder, secret, "one"); err == nil {
		t.Error("a folder that others may write is used")
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), "one")
	begin(t, s, state.Turn{Number: 1, TraceID: "t", StartedAt: at})
	allow(t, s, "d1", "read_file", `{"path":"a","n":1}`)
	allow(t, s, "d2", "read_file", `{"path":"b"}`)
	for _, c := range []struct {
		name, tool, input, want string
		other                   bool
	}{
		{"the same in another spelling", "read_file", "{ \"n\": 1.0, \"path\": \"\\u0061\" }", "d1", false},
		{"once only", "read_file", `{"path":"a","n":1}`, "", true},
		{"another tool", "write_file", `{"path":"b"}`, "", false},
		{"other arguments", "read_file", `{"path":"c"}`, "", true},
		{"the second", "read_file", `{"path":"b"}`, "d2", false},
		{"nothing waits", "read_file", `{"path":"b"}`, "", false},
	} {
		call, other, err := s.Take(c.tool, json.RawMessage(c.input))
		got := ""
		if call != nil {
			got = call.DecisionID
		}
		if err != nil || got != c.want || other != c.other {
			t.Errorf("%s: %q, %v, %v; want %q, %v", c.name, got, other, err, c.want, c.other)
		}
	}
}

func TestTakeRefusesAnEditedDecision(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, "one")
	allow(t, s, "d1", "read_file", `{}`)
	path := file(t, folder, "calls")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(text), `d1`, `d2`, 1))
	if call, _, err := s.Take("read_file", json.RawMessage(`{}`)); err == nil || call != nil {
		t.Errorf("%+v, %v: want an error", call, err)
	}
}

// TestTakeIsForOne: equal calls that end at the same time take one decision each.
func TestTakeIsForOne(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), "one")
	const decided, wanted = 20, 40
	for range decided {
		allow(t, s, "d", "read_file", `{"a":1}`)
	}
	var took atomic.Int64
	var all sync.WaitGroup
	for range wanted {
		all.Go(func() {
			call, _, err := s.Take("read_file", json.RawMessage(`{"a":1}`))
			if err != nil {
				t.Error(err)
			}
			if call != nil {
				took.Add(1)
			}
		})
	}
	all.Wait()
	if took.Load() != decided {
		t.Errorf("%d calls took a decision, want %d", took.Load(), decided)
	}
}

func TestTakeGivesBackTheOriginal(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), "one")
	err := s.Decided(state.Decision{
		ID:       "d1",
		Tool:     "run_shell_command",
		Input:    json.RawMessage(`{"command":"/usr/bin/writ run -- bash -c 'make'"}`),
		Original: json.RawMessage(`{"command":"make <x>"}`),
		Verdict:  state.Allow,
		At:       at,
	})
	if err != nil {
		t.Fatal(err)
	}
	call, _, err := s.Take("run_shell_command", json.RawMessage(`{"command":"/usr/bin/writ run -- bash -c 'make'"}`))
	if err != nil || call == nil {
		t.Fatalf("%v, %v", call, err)
	}
	var got struct{ Command string }
	if err := json.Unmarshal(call.Original, &got); err != nil || got.Command != "make <x>" {
		t.Errorf("%s, %v", call.Original, err)
	}
}

func TestDecidedFailsWhereNothingCanBeStored(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, "one")
	if err := os.RemoveAll(filepath.Join(folder, "sessions")); err != nil {
		t.Fatal(err)
	}
	err := s.Decided(state.Decision{
		ID:      "d",
		Tool:    "x",
		Input:   json.RawMessage(`{}`),
		Verdict: state.Allow,
		At:      at,
	})
	if err == nil {
		t.Error("an allow that is not stored is no error")
	}
	if err := s.Decided(state.Decision{Tool: "x", Input: json.RawMessage(`{}`), Verdict: "deny", At: at}); err != nil {
		t.Errorf("a deny needs nothing stored: %v", err)
	}
}
