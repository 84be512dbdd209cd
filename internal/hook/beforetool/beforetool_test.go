package beforetool_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/beforetool"
	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/state"
)

const allowed = `{"allowed":true,"action":"allow","decision":"allow","decisionId":"d1","session":{"turn":3}}`

// server answers calls in their order, and repeats the last answer.
type server struct {
	answers []string // STATUS BODY; "" is no answer
	asked   []string // METHOD PATH BODY
}

func (s *server) Call(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	s.asked = append(s.asked, method+" "+path+" "+string(body))
	answer := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	if answer == "" {
		<-ctx.Done()
		return 0, nil, ctx.Err()
	}
	if answer == "down" {
		return 0, nil, errors.New("the server cannot be reached")
	}
	status, text, _ := strings.Cut(answer, " ")
	code := 0
	_, _ = fmt.Sscan(status, &code)
	return code, []byte(text), nil
}

// machine is a machine with a guard file and an open turn.
type machine struct {
	guard  *guardfile.File
	server *server
	env    map[string]string
	forbid string
	cwd    string
}

func newMachine(t *testing.T, change func(*guardfile.File), answers ...string) *machine {
	t.Helper()
	dir := t.TempDir()
	file := guardfile.File{
		Version: 1, Server: "http://writ.test", Key: "ak_test_x", Organization: "o",
		Agent: "gemini-cli", Host: "gemini", Mode: "enforce", StateDir: filepath.Join(dir, "state"),
		Writ: "/opt/writ/writ", PlanServer: "/opt/writ/writ-plan", Capabilities: []string{"confine"},
	}
	if change != nil {
		change(&file)
	}
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "guard.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	guard, err := guardfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{guard: guard, server: &server{answers: answers}, env: map[string]string{}}
	if err := m.state(t).Begin(state.Turn{Number: 3, TraceID: "t", StartedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) state(t *testing.T) *state.Session {
	t.Helper()
	if err := os.MkdirAll(m.guard.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := state.Open(m.guard.StateDir, m.guard.Server+m.guard.Key, "7f3b")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (m *machine) Forbid(server, tool string) string {
	if m.forbid == server+"."+tool {
		return "not in the manifest"
	}
	return ""
}

// answer is the answer to a call of a tool.
func (m *machine) answer(tool, input string, mcp *gemini.MCP) gemini.Answer {
	h := beforetool.Handler{
		Caller: func(*guardfile.File) (hook.Caller, error) { return m.server, nil },
		Lists:  func(string) (beforetool.Lists, error) { return m, nil },
	}
	return h.Handle(context.Background(), &hook.Input{
		Payload: &gemini.Payload{
			SessionID: "7f3b", CWD: cmp.Or(m.cwd, "/home/dev/project"), Event: gemini.BeforeTool,
			ToolName: tool, ToolInput: json.RawMessage(input), MCP: mcp,
		},
		Guard:  m.guard,
		Getenv: func(name string) string { return m.env[name] },
		Now:    time.Now(),
	})
}

func TestServerDecides(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil, "200 "+allowed)
	mcp := &gemini.MCP{ServerName: "docs", ToolName: "find", Command: "/opt/docs"}
	if a := m.answer("mcp_docs_find", `{"q":"<a>"}`, mcp); a.Decision != "allow" || a.Specific != nil {
		t.Errorf("%+v", a)
	}
	want := `POST /iap/enforce {"tool_name":"mcp_docs_find","tool_input":{"q":"\u003ca\u003e"},` +
		`"mcp_context":{"server_name":"docs","tool_name":"find"},"source":"gemini-cli","agent_id":"gemini-cli",` +
		`"session_id":"7f3b","session_turn":3}`
	if len(m.server.asked) != 1 || m.server.asked[0] != want {
		t.Errorf("asked %q", m.server.asked)
	}
	if call, _, err := m.state(t).Take("mcp_docs_find", json.RawMessage(`{"q":"<a>"}`)); err != nil || call == nil ||
		call.DecisionID != "d1" {
		t.Errorf("stored %+v, %v", call, err)
	}
}

// TestOnlyAWholeAllowAllows: what the server may say instead of a recorded allow for this turn.
func TestOnlyAWholeAllowAllows(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"down", "200 ", "200 null", "200 {}", "200 []", "200 allow", "200 true", `200 "allow"`, "200 {", "200 <html>",
		`200 {"allowed":true}`, `200 {"allowed":"true","action":"allow","decision":"allow","decisionId":"d"}`,
		`200 {"allowed":1,"action":"allow","decision":"allow","decisionId":"d","session":{"turn":3}}`,
		`200 {"action":"allow","decision":"allow","decisionId":"d","session":{"turn":3}}`,
		`200 {"allowed":false,"action":"allow","decision":"allow","decisionId":"d","session":{"turn":3}}`,
		`200 {"allowed":true,"action":"deny","decision":"allow","decisionId":"d","session":{"turn":3}}`,
		`200 {"allowed":true,"action":"allow","decision":"hold","decisionId":"d","session":{"turn":3}}`,
		`200 {"allowed":true,"action":"allow","decision":"allow","session":{"turn":3}}`,
		`200 {"allowed":true,"action":"allow","decision":"allow","decisionId":"d"}`,
		`200 {"allowed":true,"action":"allow","decision":"allow","decisionId":"d","session":null}`,
		`200 {"allowed":true,"action":"allow","decision":"allow","decisionId":"d","session":{"turn":4}}`,
		"204 ", "202 " + allowed, "301 " + allowed, "400 " + allowed, "401 {}", "402 " + allowed, "403 " + allowed,
		"404 not found", "429 {}", "500 " + allowed, `503 {"message":"full"}`, "100 " + allowed,
		`200 {"allowed":false,"action":"deny","decision":"deny","reason":"no"}`,
		`200 {"allowed":false,"action":"hold","decision":"hold","reason":"wait"}`,
		`200 {"allowed":false,"action":"hold","decision":"ask","reason":"wait","approvalId":"a"}`,
	} {
		m := newMachine(t, nil, answer)
		if a := m.answer("read_file", `{"file_path":"a"}`, nil); a.Decision != "deny" || a.Reason == "" {
			t.Errorf("%s: %+v", answer, a)
		}
		if call, _, _ := m.state(t).Take("read_file", json.RawMessage(`{"file_path":"a"}`)); call != nil {
			t.Errorf("%s: stored as allowed", answer)
		}
	}
}

func TestSlowServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, nil, "")
		began := time.Now()
		if a := m.answer("read_file", `{"file_path":"a"}`, nil); a.Decision != "deny" ||
			time.Since(began) != 5*time.Second {
			t.Errorf("%+v after %v", a, time.Since(began))
		}
	})
}

func TestStateOnlyDenies(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testing.T, *machine){
		"no turn":         func(t *testing.T, m *machine) { remove(t, m, "turn.json") },
		"edited":          func(t *testing.T, m *machine) { edit(t, m, "turn.json") },
		"not opened":      func(t *testing.T, m *machine) { begin(t, m, 0) },
		"negative number": func(t *testing.T, m *machine) { begin(t, m, -1) },
		"folder is open": func(t *testing.T, m *machine) {
			if err := os.Chmod(filepath.Dir(find(t, m, "turn.json")), 0o777); err != nil {
				t.Fatal(err)
			}
		},
	} {
		m := newMachine(t, nil, "200 "+allowed)
		change(t, m)
		if a := m.answer("read_file", `{"file_path":"a"}`, nil); a.Decision != "deny" || len(m.server.asked) > 0 {
			t.Errorf("%s: %+v, asked %q", name, a, m.server.asked)
		}
	}
}

func begin(t *testing.T, m *machine, number int64) {
	t.Helper()
	if err := m.state(t).Begin(state.Turn{Number: number}); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, m *machine, name string) (found string) {
	t.Helper()
	err := filepath.WalkDir(m.guard.StateDir, func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == name {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("%s: %v", name, err)
	}
	return found
}

func remove(t *testing.T, m *machine, name string) {
	t.Helper()
	if err := os.Remove(find(t, m, name)); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, m *machine, name string) {
	t.Helper()
	path := find(t, m, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), "3", "4", 1)
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestManifestOnlyDenies(t *testing.T) {
	t.Parallel()
	named := func(f *guardfile.File) { f.Manifest = "/srv/agent.yaml" }
	m := newMachine(t, named, "200 "+allowed)
	m.forbid = "gemini-cli.read_file"
	if a := m.answer("read_file", `{}`, nil); a.Decision != "deny" || len(m.server.asked) > 0 {
		t.Errorf("%+v", a)
	}
	m = newMachine(t, named, `200 {"allowed":false,"decision":"deny","reason":"no"}`)
	if a := m.answer("read_file", `{}`, nil); a.Decision != "deny" || len(m.server.asked) != 1 {
		t.Errorf("what the manifest permits: %+v", a)
	}
}
