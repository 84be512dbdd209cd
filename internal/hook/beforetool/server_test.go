package beforetool_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/hook"
	"writ/internal/hook/beforetool"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/plainhttp"
	"writ/internal/hook/state"
	"writ/internal/testserver"
)

const guardedPolicy = `version: v1
name: coding
rules:
- {id: read, effect: allow, tools: ["gemini-cli.read_file"]}
- {id: write, effect: hold, tools: ["gemini-cli.write_file"]}
- {id: shell, effect: allow, tools: ["gemini-cli.run_shell_command"], confine: {write: [workspace]}}
`

// guarded is a machine whose guard file names a real server.
type guarded struct {
	t    *testing.T
	org  *testserver.Org
	file map[string]any
	path string
	turn int64
}

// says is what the hook answers.
type says struct {
	Decision string
	Reason   string
	Specific struct {
		Input json.RawMessage `json:"tool_input"`
	} `json:"hookSpecificOutput"`
}

const guardedSession = "0a1b2c3d-0000-4000-8000-000000000002"

func newGuarded(t *testing.T, o *testserver.Org, wait int) *guarded {
	t.Helper()
	dir := t.TempDir()
	g := &guarded{t: t, org: o, path: filepath.Join(dir, "guard.json")}
	g.file = map[string]any{
		"version": 1, "server": o.Agent.BaseURL, "key": o.Agent.APIKey, "organization": o.ID, "agent": "gemini-cli",
		"host": "gemini", "manifest": "", "mode": "enforce", "approvalWaitSeconds": wait, "carryPlan": false,
		"stateDir": filepath.Join(dir, "state"), "writ": "/opt/writ/writ", "planServer": "/opt/writ/writ-plan",
		"capabilities": []string{"confine"}, "protected": []string{},
	}
	text, err := json.Marshal(g.file)
	if err == nil {
		err = os.WriteFile(g.path, text, 0o600)
	}
	if err == nil {
		err = os.Mkdir(g.file["stateDir"].(string), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// prompt opens a turn, as before-agent does.
func (g *guarded) prompt() {
	g.t.Helper()
	now, err := g.org.Agent.OpenTurn(g.t.Context(), client.TurnRequest{
		SessionID: guardedSession, AgentID: "gemini-cli",
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.turn = now.Turn
	s, err := state.Open(g.file["stateDir"].(string), g.org.Agent.BaseURL+g.org.Agent.APIKey, guardedSession)
	if err == nil {
		err = s.Begin(state.Turn{Number: now.Turn, StartedAt: time.Now()})
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// call fires before-tool as the host does.
func (g *guarded) call(tool, input string, members map[string]any) (a says) {
	g.t.Helper()
	payload := map[string]any{
		"session_id": guardedSession, "cwd": "/srv/app", "hook_event_name": "BeforeTool",
		"tool_name": tool, "tool_input": json.RawMessage(input),
	}
	for name, value := range members {
		payload[name] = value
	}
	text, err := json.Marshal(payload)
	if err != nil {
		g.t.Fatal(err)
	}
	var out, messages bytes.Buffer
	handler := beforetool.Handler{Caller: func(f *guardfile.File) (hook.Caller, error) {
		return plainhttp.New(f.Server, f.Key)
	}}
	code := hook.Main([]string{"--config", g.path, "before-tool"}, hook.Process{
		In: bytes.NewReader(text), Out: &out, Messages: &messages, Getenv: func(string) string { return "" },
	}, hook.Handlers{hook.BeforeTool: handler})
	if err := json.Unmarshal(out.Bytes(), &a); code != 0 || err != nil || messages.Len() > 0 {
		g.t.Fatalf("exit %d, %s%s: %v", code, &out, &messages, err)
	}
	return a
}

// plan registers a plan as the model does: by a call of the plan server, which gets a ticket.
func (g *guarded) plan(amends string, tools ...string) {
	g.t.Helper()
	a := g.call("mcp_writ_register_intent_plan", `{}`, map[string]any{"mcp_context": map[string]any{
		"server_name": "writ", "tool_name": "register_intent_plan", "command": "/opt/writ/writ-plan",
		"args": []string{"--config", g.path},
	}})
	var input struct {
		Ticket string `json:"session_ticket"`
	}
	if err := json.Unmarshal(a.Specific.Input, &input); err != nil || a.Decision != "allow" {
		g.t.Fatalf("%+v, %v", a, err)
	}
	steps := `{"action":"` + strings.Join(tools, `","mcp":"gemini-cli"},{"action":"`) + `","mcp":"gemini-cli"}`
	_, err := g.org.Agent.DeclarePlan(g.t.Context(), client.PlanRequest{
		Plan:          json.RawMessage(`{"goal":"look","steps":[` + steps + `]}`),
		SessionTicket: input.Ticket,
		Amends:        amends,
	})
	if err != nil {
		g.t.Fatalf("register a plan: %v", err)
	}
}

func (g *guarded) want(decision, reason, tool, input string) {
	g.t.Helper()
	if a := g.call(tool, input, nil); a.Decision != decision || !strings.Contains(a.Reason, reason) {
		g.t.Errorf("%s %s: %+v, want %s with %q", tool, input, a, decision, reason)
	}
}

// TestATurnAtARealServer: what runs is what the turn's plan and the policies allow, and nothing after a kill.
func TestATurnAtARealServer(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, guardedPolicy)
		g := newGuarded(t, o, 0)
		g.want("deny", "before-agent has not run", "read_file", `{"file_path":"a"}`)
		g.prompt()
		g.want("deny", "register_intent_plan", "read_file", `{"file_path":"a"}`)
		g.plan("", "read_file", "run_shell_command")
		g.want("allow", "", "read_file", `{"file_path":"a"}`)
		g.want("deny", "register_intent_plan", "write_file", `{"file_path":"a","content":""}`)
		a := g.call("run_shell_command", `{"command":"make test"}`, nil)
		if input := string(a.Specific.Input); !strings.Contains(input, `"'/opt/writ/writ' 'run' `) ||
			!strings.Contains(input, ` '--write=/srv/app' '--protect=/srv/app/.env' '--decision=`) {
			t.Errorf("a command that must be confined: %+v, %s", a, a.Specific.Input)
		}
		g.prompt()
		g.want("deny", "register_intent_plan", "read_file", `{"file_path":"a"}`)
		g.plan("", "read_file")
		g.want("allow", "", "read_file", `{"file_path":"a"}`)
		if _, err := o.Owner.KillAgent(t.Context(), o.ID, "gemini-cli", "test"); err != nil {
			t.Fatal(err)
		}
		g.want("deny", "", "read_file", `{"file_path":"a"}`)
	})
}

// TestAHeldCallAtARealServer runs after a yes and not before, and not after a no.
func TestAHeldCallAtARealServer(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, guardedPolicy)
		g := newGuarded(t, o, 300)
		g.prompt()
		g.plan("", "write_file")
		answered := make(chan error, 2)
		go func() {
			answered <- g.decideNext(func(id string) error {
				_, err := o.Owner.Approve(t.Context(), o.ID, client.Approval{ID: id})
				return err
			})
		}()
		g.want("allow", "", "write_file", `{"file_path":"a","content":"yes"}`)
		go func() {
			answered <- g.decideNext(func(id string) error {
				_, err := o.Owner.Reject(t.Context(), o.ID, id, "not now")
				return err
			})
		}()
		g.want("deny", "not now", "write_file", `{"file_path":"a","content":"no"}`)
		for range 2 {
			if err := <-answered; err != nil {
				t.Error(err)
			}
		}
	})
}

// decideNext answers the request that comes next.
func (g *guarded) decideNext(answer func(id string) error) error {
	for {
		page, err := g.org.Owner.ApprovalRequests(g.t.Context(), g.org.ID, client.ApprovalFilter{Status: "pending"})
		if err != nil {
			return err
		}
		if len(page.Items) > 0 {
			return answer(page.Items[0].ID)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
