package planserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/testserver"
)

// host plays the host of a coding agent: its hooks open turns and add tickets, and its model calls the plan server.
type host struct {
	t     *testing.T
	org   *testserver.Org
	tools *mcp.ClientSession
	turn  int64
}

// newHost starts writ-plan as a process, and opens the first turn.
func newHost(t *testing.T, o *testserver.Org) *host {
	t.Helper()
	command := exec.Command(program(t), "--config", guardFile(t, o.Public.BaseURL, o.Agent.APIKey))
	command.Stderr = os.Stderr
	caller := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	session, err := caller.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatalf("start the plan server: %v", err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("end the plan server: %v", err)
		}
	})
	h := &host{t: t, org: o, tools: session}
	h.prompt()
	return h
}

// prompt is a new prompt of the person.
func (h *host) prompt() {
	h.t.Helper()
	state, err := h.org.Agent.OpenTurn(h.t.Context(), client.TurnRequest{SessionID: "s", AgentID: "gemini-cli"})
	if err != nil {
		h.t.Fatal(err)
	}
	h.turn = state.Turn
}

func (h *host) ticket() string {
	h.t.Helper()
	given, err := h.org.Agent.Ticket(h.t.Context(), "s", h.turn)
	if err != nil {
		h.t.Fatal(err)
	}
	return given.Ticket
}

type m = map[string]any

// call calls a tool with a new ticket, unless the arguments have one.
func (h *host) call(tool string, args m) (text string, failed bool) {
	h.t.Helper()
	if _, ok := args["session_ticket"]; !ok {
		args["session_ticket"] = h.ticket()
	}
	return h.bare(tool, args)
}

func (h *host) bare(tool string, args any) (text string, failed bool) {
	h.t.Helper()
	result, err := h.tools.CallTool(h.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		h.t.Fatalf("%s: %v", tool, err)
	}
	for _, part := range result.Content {
		text += part.(*mcp.TextContent).Text
	}
	return text, result.IsError
}

func (h *host) wantDone(what, says string) func(text string, failed bool) {
	return func(text string, failed bool) {
		h.t.Helper()
		if failed || !strings.Contains(text, says) {
			h.t.Errorf("%s: failed %t, %q; want %q", what, failed, text, says)
		}
	}
}

func (h *host) wantRefused(what, says string) func(text string, failed bool) {
	return func(text string, failed bool) {
		h.t.Helper()
		if !failed || !strings.Contains(text, says) {
			h.t.Errorf("%s: failed %t, %q; want an error with %q", what, failed, text, says)
		}
	}
}

// enforce asks about a call as the hook does.
func (h *host) enforce(tool string, on *client.HarnessTool) client.Decision {
	h.t.Helper()
	d, err := h.org.Agent.EnforceHarness(h.t.Context(), client.HarnessCall{
		ToolName:    tool,
		Source:      "gemini-cli",
		AgentID:     "gemini-cli",
		SessionID:   "s",
		SessionTurn: h.turn,
		ToolInput:   json.RawMessage(`{"path":"a"}`),
		MCPContext:  on,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}

func step(names ...string) (steps []m) {
	for _, name := range names {
		steps = append(steps, m{"action": name})
	}
	return steps
}

const allowAnything = "version: v1\nname: all\nrules:\n- {id: all, effect: allow, tools: [\"*\"]}\n"

// TestTheProtocol is a session of the plan server, as the host and its model have it.
func TestTheProtocol(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, allowAnything)
		h := newHost(t, o)
		listed, err := h.tools.ListTools(t.Context(), nil)
		var names []string
		if err == nil {
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
			}
		}
		if fmt.Sprint(names) != "[get_intent_plan register_intent_plan reset_intent_plan]" {
			t.Errorf("tools: %v, %v", names, err)
		}
		h.wantDone("no plan", "has no plan")(h.call("get_intent_plan", m{}))
		if d := h.enforce("read_file", nil); d.Allowed {
			t.Error("a call runs without a plan")
		}
		look := m{"goal": "look", "steps": step("read_file", "mcp_notes_find"), "wait_for_previous": false}
		h.wantDone("a plan", "ir_")(h.call("register_intent_plan", look))
		if d := h.enforce("read_file", nil); !d.Allowed {
			t.Errorf("a planned call does not run: %s", d.Reason)
		}
		if d := h.enforce("mcp_notes_find", &client.HarnessTool{ServerName: "notes", ToolName: "find"}); !d.Allowed {
			t.Errorf("a planned call of an MCP tool does not run: %s", d.Reason)
		}
		if d := h.enforce("write_file", nil); d.Allowed {
			t.Error("a call runs that is not planned")
		}
		h.wantDone("the plan", "You may call: read_file, mcp_notes_find")(h.call("get_intent_plan", m{}))

		delete(look, "session_ticket")
		h.wantRefused("a duplicate", "registered already")(h.call("register_intent_plan", look))
		wider := m{"goal": "look", "steps": step("read_file", "mcp_notes_find", "run_shell_command")}
		h.wantRefused("a wider plan", "adds gemini-cli.run_shell_command")(h.call("register_intent_plan", wider))
		h.wantDone("a reset", "has ended")(h.call("reset_intent_plan", m{}))
		if d := h.enforce("read_file", nil); d.Allowed {
			t.Error("a call runs after the reset")
		}
		delete(wider, "session_ticket")
		h.wantRefused("a wider plan after a reset", "adds gemini-cli.run_shell_command")(
			h.call("register_intent_plan", wider))
		delete(wider, "session_ticket")
		wider["amends"] = "the tests must run"
		h.wantDone("an amended plan", "A person must agree to calls of what you added: gemini-cli.run_shell_command")(
			h.call("register_intent_plan", wider))
		if d := h.enforce("run_shell_command", nil); d.Allowed || d.Decision != "hold" {
			t.Errorf("what was added: %s", d.Decision)
		}
		h.prompt()
		h.wantDone("a new turn", "has no plan")(h.call("get_intent_plan", m{}))
		delete(wider, "session_ticket")
		delete(wider, "amends")
		h.wantDone("the plan of a new turn", "run_shell_command")(h.call("register_intent_plan", wider))
		if d := h.enforce("run_shell_command", nil); !d.Allowed {
			t.Errorf("planned in the new turn: %s", d.Reason)
		}
	})
}

// TestRefusedPlans: what a model, or whoever speaks in its place, may try.
func TestRefusedPlans(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		h := newHost(t, o)
		ctx := t.Context()
		other := o.Public.WithKey(o.KeyFor(o.Owner.ID, o.ID).Secret.Reveal())
		ticketOf := func(c *client.Client, session string) string {
			t.Helper()
			state, err := c.OpenTurn(ctx, client.TurnRequest{SessionID: session})
			var given client.SessionTicket
			if err == nil {
				given, err = c.Ticket(ctx, session, state.Turn)
			}
			if err != nil {
				t.Fatal(err)
			}
			return given.Ticket
		}
		plan := func(more m) m {
			args := m{"goal": "look", "steps": step("read_file")}
			for name, value := range more {
				args[name] = value
			}
			return args
		}
		used := h.ticket()
		h.wantDone("a plan", "ir_")(h.call("register_intent_plan", plan(m{"session_ticket": used})))
		old := h.ticket()
		h.prompt()
		for _, c := range []struct {
			name string
			args m
			says string
		}{
			{"another key's ticket", plan(m{"session_ticket": ticketOf(other, "s")}), "another key"},
			{"a used ticket", plan(m{"session_ticket": used}), "another turn"},
			{"a ticket of the turn before", plan(m{"session_ticket": old}), "another turn"},
			{"a made-up ticket", plan(m{"session_ticket": "eyJhbGciOiJub25lIn0.e30."}), "no ticket of this server"},
			{"a session that the model names", plan(m{"session_id": "other"}), "session_id is no member"},
			{"no steps", plan(m{"steps": []m{}}), "at least one tool"},
			{"no goal", plan(m{"goal": " "}), "goal"},
			{"too large", plan(m{"goal": strings.Repeat("x", 300<<10)}), "at most 262144"},
			{"too many steps", plan(m{"steps": step(make([]string, 501)...)}), "at most 500"},
			{
				"a misspelled limit", plan(m{"steps": []m{{"action": "read_file", "max_call": 1}}}),
				"steps.0.max_call is no member",
			},
			{"a limit below one", plan(m{"steps": []m{{"action": "read_file", "max_calls": -1}}}), "max_calls"},
			{"a name with a line in it", plan(m{"steps": step("read\nfile")}), "plan.steps[0].action"},
			{"arguments in a text", plan(m{"steps": []m{{"action": "read_file", "params": "{}"}}}), "steps.0.params"},
			{"steps in a text", plan(m{"steps": "[]"}), "steps has a value of the wrong type"},
		} {
			h.wantRefused(c.name, c.says)(h.call("register_intent_plan", c.args))
		}
		h.wantRefused("no ticket", "session_ticket is missing")(h.bare("register_intent_plan", plan(nil)))
		h.wantRefused("a list", "one JSON object")(h.bare("register_intent_plan", []int{1}))
		h.wantRefused("a reset without ticket", "session_ticket is missing")(h.bare("reset_intent_plan", m{}))
		if state, err := o.Agent.SessionState(ctx, "s"); err != nil || state.PlanID != "" {
			t.Errorf("after all that there is a plan: %+v, %v", state, err)
		}
		twice := h.ticket()
		h.wantDone("a reset", "has ended")(h.call("reset_intent_plan", m{"session_ticket": twice}))
		h.wantRefused("the same ticket again", "used before")(
			h.call("register_intent_plan", plan(m{"session_ticket": twice})))

		// A ticket of another session of the same key is for that session, whatever the model thinks.
		h.wantDone("another session's ticket", "ir_")(
			h.call("register_intent_plan", plan(m{"session_ticket": ticketOf(o.Agent, "elsewhere")})))
		if state, err := o.Agent.SessionState(ctx, "s"); err != nil || state.PlanID != "" {
			t.Errorf("a ticket of another session gave this one a plan: %+v, %v", state, err)
		}
	})
}

// TestServerAndGuardFile: what the person must repair is said to be theirs.
func TestServerAndGuardFile(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		for name, c := range map[string]struct {
			url, key, says string
			mode           os.FileMode
		}{
			"a server that is away": {"http://127.0.0.1:1", o.Agent.APIKey, "cannot be reached", 0o600},
			"a wrong key":           {o.Public.BaseURL, "ak_live_wrong", "writ init gemini", 0o600},
			"a file that others read": {
				o.Public.BaseURL, o.Agent.APIKey, "tell the person", 0o644,
			},
		} {
			path := guardFile(t, c.url, c.key)
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			text, failed := callOnce(t, path, "register_intent_plan",
				m{"goal": "g", "steps": step("read_file"), "session_ticket": "x"})
			if !failed || !strings.Contains(text, c.says) || strings.Contains(text, "127.0.0.1") ||
				strings.Contains(text, c.key) {
				t.Errorf("%s: failed %t, %q; want %q", name, failed, text, c.says)
			}
		}
	})
}

// callOnce calls a tool of a new plan server.
func callOnce(t *testing.T, path, tool string, args m) (text string, failed bool) {
	t.Helper()
	command := exec.Command(program(t), "--config", path)
	caller := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	session, err := caller.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	return (&host{t: t, tools: session}).bare(tool, args)
}

// guardFile writes a guard file.
func guardFile(t *testing.T, url, key string) string {
	t.Helper()
	folder := t.TempDir()
	text, err := json.Marshal(m{
		"version": 1, "server": url, "key": key, "organization": "acme", "agent": "gemini-cli", "host": "gemini",
		"manifest": "", "mode": "enforce", "approvalWaitSeconds": 0, "carryPlan": false,
		"stateDir": filepath.Join(folder, "state"), "writ": "/opt/writ/writ", "planServer": "/opt/writ/writ-plan",
		"capabilities": []string{}, "protected": []string{},
	})
	path := filepath.Join(folder, "guard.json")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = make(chan string, 1)

// TestMain builds writ-plan once for all tests.
func TestMain(tests *testing.M) { os.Exit(buildAndRun(tests)) }

func buildAndRun(tests *testing.M) int {
	folder, err := os.MkdirTemp("", "writ-plan")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "writ-plan")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path,
		"writ/cmd/writ-plan").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "build writ-plan: %v: %s", err, out)
		return 1
	}
	built <- path
	return tests.Run()
}

// program is the path of writ-plan.
func program(t *testing.T) string {
	t.Helper()
	path := <-built
	built <- path
	return path
}
