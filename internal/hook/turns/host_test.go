package turns_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"writ/client"
	"writ/internal/hook"
	"writ/internal/hook/all"
	"writ/internal/hook/state"
	"writ/internal/hook/turns"
	"writ/internal/testserver"
)

const (
	sessionID = "0a1b2c3d-0000-4000-8000-000000000001"
	allowAll  = "version: v1\nname: all\nrules:\n- {id: all, effect: allow, tools: [\"*\"]}\n"
)

// m is a JSON object.
type m = map[string]any

// host plays the host of a coding agent on one machine.
type host struct {
	t      *testing.T
	folder string
	guard  m
	key    *client.Client
	env    map[string]string
	turn   int64
}

// answer is what a hook says.
type answer struct {
	Decision      string `json:"decision"`
	Reason        string `json:"reason"`
	SystemMessage string `json:"systemMessage"`
	Specific      struct {
		Event      string `json:"hookEventName"`
		Context    string `json:"additionalContext"`
		ToolConfig *struct {
			Mode  string   `json:"mode"`
			Names []string `json:"allowedFunctionNames"`
		} `json:"toolConfig"`
	} `json:"hookSpecificOutput"`
}

func newHost(t *testing.T, server string, key *client.Client) *host {
	t.Helper()
	folder := t.TempDir()
	h := &host{t: t, folder: folder, key: key, env: map[string]string{}}
	h.guard = m{
		"version": 1, "server": server, "key": key.APIKey, "organization": "", "agent": "gemini-cli", "host": "gemini",
		"manifest": "", "mode": "enforce", "approvalWaitSeconds": 0, "carryPlan": false,
		"stateDir": filepath.Join(folder, "state"), "writ": "/usr/bin/writ", "planServer": "/usr/bin/writ-plan",
		"capabilities": []string{}, "protected": []string{},
	}
	return h
}

// fire fires an event; said is what the hook wrote.
func (h *host) fire(event hook.Event, members m) (a answer, said string) {
	h.t.Helper()
	path := filepath.Join(h.folder, "guard.json")
	text, err := json.Marshal(h.guard)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	payload := m{
		"session_id": sessionID, "transcript_path": h.transcript(), "cwd": "/srv/app",
		"timestamp": time.Now().UTC().Format(time.RFC3339Nano),
		"hook_event_name": map[hook.Event]string{
			hook.SessionStart: "SessionStart", hook.BeforeAgent: "BeforeAgent", hook.AfterTool: "AfterTool",
			hook.BeforeToolSelection: "BeforeToolSelection", hook.SessionEnd: "SessionEnd",
		}[event],
	}
	for name, value := range members {
		payload[name] = value
	}
	if text, err = json.Marshal(payload); err != nil {
		h.t.Fatal(err)
	}
	var out, messages bytes.Buffer
	code := hook.Main([]string{"--config", path, string(event)}, hook.Process{
		In: bytes.NewReader(text), Out: &out, Messages: &messages,
		Getenv: func(name string) string { return h.env[name] },
	}, all.Handlers())
	if code != 0 || messages.Len() > 0 {
		h.t.Errorf("%s: exit code %d, %s", event, code, &messages)
	}
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &a); err != nil {
			h.t.Errorf("%s: %q: %v", event, &out, err)
		}
	}
	return a, out.String()
}

func (h *host) transcript() string {
	return filepath.Join(h.folder, "tmp", "app", "chats", "session-2026-03-01T12-00-0a1b2c3d.jsonl")
}

// says lets the model answer, as the host records it.
func (h *host) says(line string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.transcript()), 0o700); err != nil {
		h.t.Fatal(err)
	}
	file, err := os.OpenFile(h.transcript(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(line + "\n")
	}
	if err != nil {
		h.t.Fatal(err)
	}
	_ = file.Close()
}

func (h *host) state() *state.Session {
	h.t.Helper()
	s, err := state.Open(h.guard["stateDir"].(string), h.guard["server"].(string)+h.key.APIKey, sessionID)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// prompt opens a turn.
func (h *host) prompt(text string) answer {
	h.t.Helper()
	a, _ := h.fire(hook.BeforeAgent, m{"prompt": text})
	turn, err := h.state().Turn()
	if err != nil {
		h.t.Fatalf("the turn: %v; answered %+v", err, a)
	}
	h.turn = turn.Number
	return a
}

// plan registers a plan of one tool, as the plan server does.
func (h *host) plan(tool string) {
	h.t.Helper()
	ticket, err := h.key.Ticket(h.t.Context(), sessionID, h.turn)
	if err == nil {
		_, err = h.key.DeclarePlan(h.t.Context(), client.PlanRequest{
			Plan:          json.RawMessage(`{"goal":"look","steps":[{"action":"` + tool + `","mcp":"gemini-cli"}]}`),
			SessionTicket: ticket.Ticket,
		})
	}
	if err != nil {
		h.t.Fatalf("register a plan: %v", err)
	}
}

// decide asks the server about a call, as before-tool does.
func (h *host) decide(tool, input string) client.Decision {
	h.t.Helper()
	d, err := h.key.EnforceHarness(h.t.Context(), client.HarnessCall{
		ToolName:    tool,
		ToolInput:   json.RawMessage(input),
		Source:      turns.Product,
		AgentID:     "gemini-cli",
		SessionID:   sessionID,
		SessionTurn: h.turn,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	err = h.state().Decided(state.Decision{
		ID:      d.DecisionID,
		PlanID:  d.PlanID,
		Tool:    tool,
		Input:   json.RawMessage(input),
		Verdict: d.Decision,
		Reason:  d.Reason,
		Begun:   time.Now(),
		At:      time.Now(),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}

func ran(tool, input, output string) m {
	return m{
		"tool_name": tool, "tool_input": json.RawMessage(input),
		"tool_response": m{"llmContent": output, "returnDisplay": output},
	}
}

// findings are the open findings of the organization, as KIND TOOL.
func findings(t *testing.T, o *testserver.Org) (list []string) {
	t.Helper()
	var page struct {
		Items []struct{ Kind, Tool string }
	}
	err := o.Owner.Call(t.Context(), http.MethodGet, "/audit-log/findings", url.Values{"organizationId": {o.ID}}, nil,
		&page)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range page.Items {
		list = append(list, f.Kind+" "+f.Tool)
	}
	slices.Sort(list)
	return list
}

// turnTraces are the traces of turns, oldest first.
func turnTraces(t *testing.T, o *testserver.Org) []client.TraceDetail {
	t.Helper()
	page, err := o.Owner.Traces(t.Context(), o.ID, client.TraceFilter{Name: "gemini-cli.turn"})
	if err != nil {
		t.Fatal(err)
	}
	var all []client.TraceDetail
	for _, trace := range page.Items {
		detail, err := o.Owner.Trace(t.Context(), o.ID, trace.ID)
		if err != nil || detail == nil {
			t.Fatalf("trace %s: %v", trace.ID, err)
		}
		detail.Trace = trace // with its totals
		all = append(all, *detail)
	}
	slices.SortFunc(all, func(a, b client.TraceDetail) int { return a.StartTime.Compare(b.StartTime) })
	return all
}

// noServer is a caller of no server.
var noServer = client.Client{APIKey: "ak_test_none"}

// permitMonitor lets the environment set the mode.
func permitMonitor(t *testing.T, o *testserver.Org) {
	t.Helper()
	_, err := o.Owner.SetEnforcementSettings(t.Context(), o.ID, client.EnforcementSettings{
		MaxPlanTTLSeconds: 3600, AllowMonitor: true,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// evidence is how many bytes the log says that the server was told.
type evidence struct {
	prompt, text int64
	parts        int
}

// said adds up what the log says about prompts.
func said(t *testing.T, o *testserver.Org) (all evidence) {
	t.Helper()
	page, err := o.Owner.LogEntries(t.Context(), o.ID, client.LogFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range page.Items {
		var payload struct{ PromptBytes, TextBytes int64 }
		if json.Unmarshal(entry.Payload, &payload) == nil && payload.TextBytes > 0 {
			all.parts++
			all.prompt, all.text = all.prompt+payload.PromptBytes, all.text+payload.TextBytes
		}
	}
	return all
}
