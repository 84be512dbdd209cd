package enforcement_test

import (
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// turn opens a turn of a session of the agent's key.
func (e *env) turn(session string) int64 {
	e.T.Helper()
	state, err := e.plans.OpenTurn(e.T.Context(), e.agent, intent.TurnRequest{
		SessionID: session, AgentID: "gemini-cli",
	})
	if err != nil {
		e.T.Fatalf("open a turn: %v", err)
	}
	return state.Turn
}

// registerPlan registers a plan in the present turn.
func (e *env) registerPlan(session, raw, amends string) (intent.Minted, error) {
	e.T.Helper()
	state, err := e.plans.SessionState(e.T.Context(), e.agent, session)
	if err != nil {
		e.T.Fatal(err)
	}
	text, _, err := e.plans.Ticket(e.T.Context(), e.agent, session, state.Turn)
	if err != nil {
		e.T.Fatalf("ticket: %v", err)
	}
	return e.plans.Mint(e.T.Context(), e.agent, intent.Request{Plan: []byte(raw), Ticket: text, Amends: amends})
}

func inTurn(session, tool string, turn int64) enforcement.Request {
	return enforcement.Request{
		Tool:      tool,
		SessionID: session,
		AgentID:   "gemini-cli",
		Source:    "gemini-cli",
		Arguments: []byte(`{"path":"a"}`),
		Turn:      turn,
	}
}

const readOnly = `{"goal":"look","steps":[{"action":"read_file","mcp":"gemini-cli"}]}`

// TestCallsOfAGuardedSession: nothing runs without a plan of the present turn.
func TestCallsOfAGuardedSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		want(t, e.decide(inTurn("s", "read_file", 0)), verdict.Allow, "", "") // nobody guards it yet
		want(t, e.decide(inTurn("s", "read_file", 1)), verdict.Deny, policy.ByIntent, "another turn")
		turn := e.turn("s")
		want(t, e.decide(inTurn("s", "read_file", 0)), verdict.Deny, policy.ByIntent, "register_intent_plan")
		want(t, e.decide(inTurn("s", "read_file", turn)), verdict.Deny, policy.ByIntent, "this turn has no plan")
		want(t, e.decide(inTurn("", "read_file", turn)), verdict.Deny, policy.ByIntent, "another turn")
		m, err := e.registerPlan("s", readOnly, "")
		if err != nil {
			t.Fatal(err)
		}
		got := e.decide(inTurn("s", "read_file", turn))
		want(t, got, verdict.Allow, "", "")
		if got.PlanID != m.PlanID || got.Session == nil || *got.Session != (enforcement.GuardedSession{Turn: turn}) {
			t.Errorf("answer: plan %s, session %+v", got.PlanID, got.Session)
		}
		want(t, e.decide(inTurn("s", "write_file", turn)), verdict.Deny, policy.ByIntent, "not in the plan")

		next := e.turn("s")
		want(t, e.decide(inTurn("s", "read_file", turn)), verdict.Deny, policy.ByIntent, "another turn")
		want(t, e.decide(inTurn("s", "read_file", next)), verdict.Deny, policy.ByIntent, "this turn has no plan")
		if got := e.decide(inTurn("s", "read_file", next)); got.Session == nil || got.Session.Turn != next {
			t.Errorf("a deny says of its session: %+v", got.Session)
		}
		// the token of a plan of an earlier turn does not help either
		old := planned(plan.Presented{
			PlanID: m.PlanID, PlanHash: m.PlanHash, Signature: m.Token.Signature,
		}, "read_file", `{}`)
		want(t, e.decide(old), verdict.Deny, policy.ByIntent, "has ended")
		// nor does one that belongs to no session
		loose := inTurn("s", "read_file", next)
		loose.Presented = e.mint(e.agent, readOnly)
		want(t, e.decide(loose), verdict.Deny, policy.ByIntent, "registered last in this turn")
		if _, err := e.registerPlan("s", readOnly, ""); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(inTurn("s", "read_file", next)), verdict.Allow, "", "")
		if _, err := e.plans.EndSession(t.Context(), e.agent, "s"); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(inTurn("s", "read_file", next)), verdict.Deny, policy.ByIntent, "session has ended")
	})
}

// TestReplicasKnowTheTurn: a process that has cached an earlier turn does not allow by it.
func TestReplicasKnowTheTurn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll, asksMeanwhile)
		turn := e.turn("s")
		if _, err := e.registerPlan("s", readOnly, ""); err != nil {
			t.Fatal(err)
		}
		replica := open(t, e.DB)
		ask := func(turn int64) enforcement.Answer {
			return replica.decisions.Decide(t.Context(), e.agent, inTurn("s", "read_file", turn))
		}
		want(t, ask(turn), verdict.Allow, "", "")
		e.turn("s")
		want(t, ask(turn), verdict.Deny, policy.ByIntent, "another turn")
		want(t, ask(0), verdict.Deny, policy.ByIntent, "this turn has no plan")

		// and if the turn opens between the judgement and its record
		if _, err := e.registerPlan("s", readOnly, ""); err != nil {
			t.Fatal(err)
		}
		opens := func() { e.turn("s") }
		e.meanwhile.do.Store(&opens)
		want(t, e.decide(inTurn("s", "read_file", 2)), verdict.Deny, policy.ByIntent, "another turn")
	})
}

// TestWhatAnAmendmentAddsIsHeld: a model that was talked into something may declare it, and a person must agree.
func TestWhatAnAmendmentAddsIsHeld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		turn := e.turn("s")
		if _, err := e.registerPlan("s", readOnly, ""); err != nil {
			t.Fatal(err)
		}
		both := `{"goal":"look","steps":[{"action":"read_file","mcp":"gemini-cli"},{"action":"write_file","mcp":"gemini-cli"}]}`
		if _, err := e.registerPlan("s", both, ""); err == nil {
			t.Error("a wider plan was registered without a reason")
		}
		want(t, e.decide(inTurn("s", "write_file", turn)), verdict.Deny, policy.ByIntent, "not in the plan")
		if _, err := e.registerPlan("s", both, "the file must be fixed"); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(inTurn("s", "read_file", turn)), verdict.Allow, "", "")
		want(t, e.decide(inTurn("s", "write_file", turn)), verdict.Hold, policy.ByIntent, "a person must agree")
	})
}

// TestMonitorIsTheOrganizationsToAllow: hooks learn from every answer whether they may log instead of deny.
func TestMonitorIsTheOrganizationsToAllow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		turn := e.turn("s")
		for _, allow := range []bool{true, false} {
			if _, err := e.decisions.SetSettings(t.Context(), e.owner, enforcement.Settings{
				MaxPlanTTL: time.Hour, AllowMonitor: allow, CarryPlans: allow,
			}); err != nil {
				t.Fatal(err)
			}
			if s, err := e.decisions.Settings(t.Context(), e.acme); err != nil || s.CarryPlans != allow {
				t.Errorf("settings: %+v, %v", s, err)
			}
			if got := e.decide(inTurn("s", "read_file", turn)); got.Session == nil ||
				got.Session.AllowMonitor != allow {
				t.Errorf("allowed %t: %+v", allow, got.Session)
			}
		}
	})
}

// TestAPlanAfterAKill: a kill ends the plans of a turn; after the revival the same plan is no
// duplicate of an ended one.
func TestAPlanAfterAKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		turn := e.turn("s")
		if _, err := e.registerPlan("s", readOnly, ""); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(inTurn("s", "read_file", turn)), verdict.Allow, "", "")
		e.kill(agent.OfAgent, "gemini-cli")
		want(t, e.decide(inTurn("s", "read_file", turn)), verdict.Deny, policy.ByAgent, "stopped")
		if state, err := e.plans.SessionState(t.Context(), e.agent, "s"); err != nil || state.Plan != nil {
			t.Errorf("a stopped agent has plan %+v, %v", state.Plan, err)
		}
		e.revive(agent.OfAgent, "gemini-cli")
		want(t, e.decide(inTurn("s", "read_file", turn)), verdict.Deny, policy.ByIntent, "has ended")
		if _, err := e.registerPlan("s", readOnly, ""); err != nil {
			t.Errorf("the same plan after the revival: %v", err)
		}
		want(t, e.decide(inTurn("s", "read_file", turn)), verdict.Allow, "", "")
	})
}

// TestPlansNameMCPToolsAsModelsKnowThem: the model writes the one name that its host shows it, and the host
// states server and tool, by which policies judge.
func TestPlansNameMCPToolsAsModelsKnowThem(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: notes; effect: allow; tools: ["my_notes.*", "notes.find"]`,
			`id: erase; effect: deny; tools: ["my_notes.erase"]`)
		turn := e.turn("s")
		if _, err := e.registerPlan("s", `{"goal":"g","source":"gemini-cli","steps":[
			{"action":"mcp_my_notes_find"},{"action":"mcp_my_notes_erase"},{"action":"mcp_notes_find","mcp":"notes"}]}`,
			""); err != nil {
			t.Fatal(err)
		}
		of := func(server, tool, called string) enforcement.Request {
			r := inTurn("s", tool, turn)
			r.Server, r.CalledAs = server, called
			return r
		}
		got := e.decide(of("my_notes", "find", "mcp_my_notes_find"))
		want(t, got, verdict.Allow, "", "")
		if got.Server != "my_notes" {
			t.Errorf("the call is of server %s", got.Server)
		}
		want(t, e.decide(of("notes", "find", "mcp_notes_find")), verdict.Allow, "", "")
		want(t, e.decide(of("my_notes", "erase", "mcp_my_notes_erase")), verdict.Deny, "rules", "")
		want(t, e.decide(of("my_notes", "add", "mcp_my_notes_add")), verdict.Deny, policy.ByIntent, "not in the plan")
		// another server's tool whose joined name is the same is planned, and judged as what it is
		want(t, e.decide(of("my", "notes_find", "mcp_my_notes_find")), verdict.Deny, "", "")
		want(t, e.decide(of("other", "find", "mcp_my_notes_find")), verdict.Deny, policy.ByIntent, "not in the plan")
	})
}
