package decisions_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

const allowAnything = "version: v1\nname: all\nrules:\n- {id: all, effect: allow, tools: [\"*\"]}\n"

const geminiPlan = `{"goal":"look","steps":[{"action":"read_file","mcp":"gemini-cli"}]}`

// TestATurnOverHTTP is what hooks and the plan server do in a turn.
func TestATurnOverHTTP(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		o.ActivePolicy(o.Owner, o.ID, allowAnything)
		key := o.Agent
		ask := func(tool string, turn int64) client.Decision {
			t.Helper()
			d, err := key.EnforceHarness(ctx, client.HarnessCall{
				ToolName:    tool,
				Source:      "gemini-cli",
				AgentID:     "gemini-cli",
				SessionID:   "s",
				SessionTurn: turn,
				ToolInput:   []byte(`{}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		if _, err := key.OpenSession(ctx, "s", "gemini-cli"); err != nil {
			t.Fatal(err)
		}
		state, err := key.OpenTurn(ctx, client.TurnRequest{SessionID: "s", AgentID: "gemini-cli", Prompt: "look"})
		if err != nil || state.Turn != 1 || state.PlanID != "" || !state.PromptKept {
			t.Fatalf("turn: %+v, %v", state, err)
		}
		if d := ask("read_file", 1); d.Allowed || d.Rule != "no_plan" || d.Session == nil || d.Session.Turn != 1 {
			t.Errorf("without a plan: %s, %s, %+v", d.Rule, d.Reason, d.Session)
		}
		given, err := key.Ticket(ctx, "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		minted, err := key.DeclarePlan(ctx, client.PlanRequest{Plan: []byte(geminiPlan), SessionTicket: given.Ticket})
		if err != nil {
			t.Fatal(err)
		}
		if d := ask("read_file", 1); !d.Allowed || d.PlanID != minted.PlanID {
			t.Errorf("planned: %s, %s, %+v", d.Rule, d.Reason, d.Session)
		}
		if d := ask("write_file", 1); d.Allowed || d.Rule != "not_in_plan" {
			t.Errorf("not planned: %s, %s, %+v", d.Rule, d.Reason, d.Session)
		}
		given, err = key.Ticket(ctx, "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		state, err = key.TicketState(ctx, given.Ticket)
		if err != nil || state.PlanID != minted.PlanID || state.PlanGoal != "look" || len(state.Tools) != 1 ||
			state.Tools[0] != (client.PlannedTool{Action: "read_file", Server: "gemini-cli", Tool: "read_file"}) {
			t.Errorf("state: %+v, %v", state, err)
		}
		if state, err = key.EndSessionPlan(ctx, given.Ticket); err != nil || state.PlanID != "" {
			t.Errorf("reset: %+v, %v", state, err)
		}
		if d := ask("read_file", 1); d.Allowed || d.Rule != "ended" {
			t.Errorf("after the reset: %s, %s, %+v", d.Rule, d.Reason, d.Session)
		}
		if state, err = key.OpenTurn(ctx, client.TurnRequest{
			SessionID: "s", AgentID: "gemini-cli", CarryPlan: true,
		}); err != nil || state.Turn != 2 || state.Carried {
			t.Errorf("second turn: %+v, %v", state, err)
		}
		if d := ask("read_file", 1); d.Allowed || d.Rule != "other_turn" || d.Session.Turn != 2 {
			t.Errorf("of the turn before: %s, %s, %+v", d.Rule, d.Reason, d.Session)
		}
		if state, err = key.EndSession(ctx, "s"); err != nil || !state.Ended {
			t.Errorf("end: %+v, %v", state, err)
		}
	})
}

// TestCarriedPlansNeedTheOrganization: a hook alone cannot keep a plan for the next turn.
func TestCarriedPlansNeedTheOrganization(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		key := o.Agent
		turn := func() client.SessionState {
			t.Helper()
			state, err := key.OpenTurn(ctx, client.TurnRequest{SessionID: "s", CarryPlan: true})
			if err != nil {
				t.Fatal(err)
			}
			return state
		}
		register := func(turn int64) {
			t.Helper()
			given, err := key.Ticket(ctx, "s", turn)
			if err == nil {
				_, err = key.DeclarePlan(ctx, client.PlanRequest{Plan: []byte(geminiPlan), SessionTicket: given.Ticket})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		register(turn().Turn)
		if state := turn(); state.Carried || state.PlanID != "" || state.MonitorAllowed {
			t.Errorf("the organization has permitted nothing: %+v", state)
		}
		if _, err := o.Owner.SetEnforcementSettings(ctx, o.ID, client.EnforcementSettings{
			MaxPlanTTLSeconds: 3600, CarryPlans: true, AllowMonitor: true,
		}); err != nil {
			t.Fatal(err)
		}
		register(2)
		if state := turn(); !state.Carried || state.PlanID == "" || !state.MonitorAllowed {
			t.Errorf("the organization permits it: %+v", state)
		}
	})
}

// TestSessionRoutesRefuse: errors name the field and say what a model can do.
func TestSessionRoutesRefuse(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		key, other := o.Agent, o.Public.WithKey(o.KeyFor(o.Owner.ID, o.ID).Secret.Reveal())
		if _, err := other.OpenTurn(t.Context(), client.TurnRequest{SessionID: "s"}); err != nil {
			t.Fatal(err)
		}
		foreign, err := other.Ticket(t.Context(), "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		large := strings.Repeat("x", 300<<10)
		for _, c := range []struct {
			name, path string
			body       m
			status     int
			says       string
		}{
			{"no session", "/iap/session/turn", m{}, 400, "session_id"},
			{"a long session", "/iap/session/turn", m{"session_id": strings.Repeat("s", 201)}, 400, "session_id"},
			{"a member that nobody knows", "/iap/session/turn", m{"session_id": "s", "carry": true}, 400, "carry"},
			{"an unknown session", "/iap/session/state", m{"session_id": "s"}, 404, "no such guarded session"},
			{"neither session nor ticket", "/iap/session/state", m{}, 400, "session_id"},
			{
				"session and ticket", "/iap/session/state", m{"session_id": "s", "session_ticket": "x"}, 400,
				"session_id",
			},
			{"a ticket of no turn", "/iap/session/ticket", m{"session_id": "s"}, 400, "turn"},
			{
				"a ticket of another key's session", "/iap/session/ticket", m{"session_id": "s", "turn": 1}, 404,
				"no such",
			},
			{"the state of another key", "/iap/session/state", m{"session_ticket": foreign.Ticket}, 403, "another key"},
			{
				"a reset of another key", "/iap/session/plan/end", m{"session_ticket": foreign.Ticket}, 403,
				"another key",
			},
			{"a reset without ticket", "/iap/session/plan/end", m{}, 400, "session_ticket"},
			{"the end of no session", "/iap/session/end", m{"session_id": "s"}, 404, "no such"},
			{
				"a plan with another key's ticket", "/iap/sdk/token",
				m{"plan": m{"steps": []any{}}, "session_ticket": foreign.Ticket}, 403, "another key",
			},
			{
				"a plan that is too large", "/iap/sdk/token",
				m{"plan": m{"goal": large, "steps": []any{}}, "session_ticket": "x"}, 403, "call the tool again",
			},
		} {
			err := key.Call(t.Context(), http.MethodPost, c.path, nil, c.body, nil)
			if client.StatusOf(err) != c.status || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v; want %d: %s", c.name, err, c.status, c.says)
			}
		}
	})
}
