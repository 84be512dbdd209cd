package intent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/intent/ticket"
	"writ/internal/principal"
)

// turn opens a turn of a session of a key.
func (e *env) turn(p principal.Principal, session string) intent.SessionState {
	e.T.Helper()
	state, err := e.plans.OpenTurn(e.T.Context(), p, intent.TurnRequest{SessionID: session, Prompt: "build it"})
	if err != nil {
		e.T.Fatalf("open a turn: %v", err)
	}
	return state
}

// ticket is one of the present turn.
func (e *env) ticket(p principal.Principal, session string) string {
	e.T.Helper()
	state, err := e.plans.SessionState(e.T.Context(), p, session)
	if err != nil {
		e.T.Fatalf("state: %v", err)
	}
	text, _, err := e.plans.Ticket(e.T.Context(), p, session, state.Turn)
	if err != nil {
		e.T.Fatalf("ticket: %v", err)
	}
	return text
}

// register registers a plan with a new ticket.
func (e *env) register(session, raw, amends string) (intent.Minted, error) {
	e.T.Helper()
	return e.plans.Mint(e.T.Context(), e.agent, intent.Request{
		Plan: []byte(raw), Ticket: e.ticket(e.agent, session), Amends: amends,
	})
}

func (e *env) registered(session, raw, amends string) intent.Minted {
	e.T.Helper()
	m, err := e.register(session, raw, amends)
	if err != nil {
		e.T.Fatalf("register %s: %v", raw, err)
	}
	return m
}

func (e *env) wantRefused(what string, err error, kind fault.Kind, part string) {
	e.T.Helper()
	if !fault.Is(err, kind) || !strings.Contains(err.Error(), part) {
		e.T.Errorf("%s: %v; want %s: %s", what, err, kind, part)
	}
}

func (e *env) livePlan(session string) string {
	e.T.Helper()
	state, err := e.plans.SessionState(e.T.Context(), e.agent, session)
	if err != nil {
		e.T.Fatal(err)
	}
	if state.Plan == nil {
		return ""
	}
	return state.Plan.ID
}

const (
	readPlan  = `{"goal":"look","steps":[{"action":"read","mcp":"fs"}]}`
	writePlan = `{"goal":"look","steps":[{"action":"read","mcp":"fs"},{"action":"write","mcp":"fs"}]}`
)

func TestATurnEndsThePlansBefore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		before := e.mint(e.agent, intent.Request{Plan: []byte(readPlan), SessionID: "s"})
		elsewhere := e.mint(e.agent, intent.Request{Plan: []byte(readPlan), SessionID: "other"})
		if state := e.turn(e.agent, "s"); state.Turn != 1 || state.Plan != nil || !state.PromptKept || state.Carried {
			t.Errorf("first turn: %+v", state)
		}
		first := e.registered("s", writePlan, "")
		if e.livePlan("s") != first.PlanID {
			t.Error("the registered plan is not the session's")
		}
		generation := e.generation(e.acme)
		if state := e.turn(e.agent, "s"); state.Turn != 2 || state.Plan != nil {
			t.Errorf("second turn: %+v", state)
		}
		if e.generation(e.acme) == generation {
			t.Error("cached plans stay valid after a turn ended them")
		}
		for id, want := range map[string]plan.Status{
			before.PlanID: plan.Completed, first.PlanID: plan.Completed, elsewhere.PlanID: plan.Active,
		} {
			if view, err := e.plans.Get(t.Context(), e.agent, id); err != nil || view.Status != want {
				t.Errorf("plan %s: %s, %v; want %s", id, view.Status, err, want)
			}
		}
		e.registered("s", writePlan, "") // of a new turn: it is compared with none
		if _, err := e.plans.EndSession(t.Context(), e.agent, "s"); err != nil || e.livePlan("s") != "" {
			t.Errorf("ended: %v, plan %q", err, e.livePlan("s"))
		}
		if got := e.actions(e.acme); !strings.HasSuffix(got,
			" session.turn_opened plan.minted session.turn_opened plan.minted session.ended") {
			t.Errorf("log: %s", got)
		}
	})
}

func TestAPlanIsCarriedOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		carry := func() intent.SessionState {
			state, err := e.plans.OpenTurn(t.Context(), e.agent, intent.TurnRequest{SessionID: "s", Carry: true})
			if err != nil {
				t.Fatal(err)
			}
			return state
		}
		if state := carry(); state.Carried {
			t.Error("there was nothing to carry over")
		}
		m := e.registered("s", readPlan, "")
		if state := carry(); !state.Carried || state.Plan == nil || state.Plan.ID != m.PlanID || state.Turn != 2 {
			t.Errorf("carried: %+v", state)
		}
		// what is carried over is compared with too
		_, err := e.register("s", writePlan, "")
		e.wantRefused("wider than what was carried over", err, fault.Conflict, "fs.write")
		if state := e.turn(e.agent, "s"); state.Plan != nil || state.Turn != 3 {
			t.Errorf("not carried: %+v", state)
		}
		e.registered("s", writePlan, "")
	})
}

func TestATicketCountsOnceForItsTurn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.turn(e.agent, "s")
		e.turn(e.other, "s")
		e.turn(e.foreign, "s")
		mint := func(p principal.Principal, text string, change ...func(*intent.Request)) error {
			r := intent.Request{Plan: []byte(readPlan), Ticket: text}
			for _, fn := range change {
				fn(&r)
			}
			_, err := e.plans.Mint(t.Context(), p, r)
			return err
		}
		good := e.ticket(e.agent, "s")
		e.wantRefused("another key's", mint(e.agent, e.ticket(e.other, "s")), fault.Forbidden, "another key")
		e.wantRefused("another organization's", mint(e.agent, e.ticket(e.foreign, "s")), fault.Forbidden, "another key")
		e.wantRefused("used by another key", mint(e.other, good), fault.Forbidden, "another key")
		e.wantRefused("no ticket", mint(e.agent, "x"), fault.Forbidden, "no ticket of this server")
		e.wantRefused("too long", mint(e.agent, good+strings.Repeat("x", 1<<20)), fault.Forbidden, "no ticket")
		m := e.mint(e.agent, intent.Request{Plan: []byte(readPlan)})
		e.wantRefused("a plan's JWT", mint(e.agent, m.JWT), fault.Forbidden, "no ticket of this server")
		e.wantRefused("for another session", mint(e.agent, good, func(r *intent.Request) { r.SessionID = "other" }),
			fault.Invalid, "session_id")
		e.wantRefused("with a prompt", mint(e.agent, good, func(r *intent.Request) { r.Prompt = new("do it") }),
			fault.Invalid, "prompt")
		e.wantRefused("with a context", mint(e.agent, good, func(r *intent.Request) { r.ContextID = "c" }),
			fault.Invalid,
			"context_id")
		if err := mint(e.agent, good); err != nil {
			t.Fatal(err)
		}
		e.wantRefused("twice", mint(e.agent, good, func(r *intent.Request) { r.Plan = []byte(`{"steps":[]}`) }),
			fault.Conflict, "used before")

		old := e.ticket(e.agent, "s")
		e.turn(e.agent, "s")
		e.wantRefused("of the turn before", mint(e.agent, old), fault.Conflict, "another turn")
		late := e.ticket(e.agent, "s")
		e.Pass(ticket.Life)
		e.wantRefused("expired", mint(e.agent, late), fault.Forbidden, "expired")
		late = e.ticket(e.agent, "s")
		if _, err := e.plans.EndSession(t.Context(), e.agent, "s"); err != nil {
			t.Fatal(err)
		}
		e.wantRefused("of an ended session", mint(e.agent, late), fault.Conflict, "no turn")
		for name, turn := range map[string]int64{"before the first": 0, "a later one": 9} {
			_, _, err := e.plans.Ticket(t.Context(), e.other, "s", turn)
			e.wantRefused("a ticket for a turn "+name, err, fault.Conflict, "another turn")
		}
		_, _, err := e.plans.Ticket(t.Context(), e.agent, "unknown", 1)
		e.wantRefused("a ticket for an unknown session", err, fault.NotFound, "no such guarded session")
	})
}

func TestAPlanDoesNotWidenWithinATurn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.turn(e.agent, "s")
		first := e.registered("s", readPlan, "")
		_, err := e.register("s", readPlan, "")
		e.wantRefused("the same again", err, fault.Conflict, "registered already as "+first.PlanID)
		_, err = e.register("s", writePlan, "")
		e.wantRefused("wider", err, fault.Conflict, "adds fs.write to")
		_, err = e.register("s", writePlan, "  ")
		e.wantRefused("wider for no reason", err, fault.Conflict, "adds fs.write to")
		_, err = e.register("s", `{"goal":"g","steps":[{"action":"read","mcp":"fs"}],"may":["Bash"]}`, "")
		e.wantRefused("wider by may", err, fault.Conflict, "Bash")

		if _, err := e.plans.EndSessionPlan(t.Context(), e.agent, e.ticket(e.agent, "s")); err != nil {
			t.Fatal(err)
		}
		if e.livePlan("s") != "" {
			t.Error("the plan is live after it was ended")
		}
		_, err = e.register("s", writePlan, "")
		e.wantRefused("wider after the first has ended", err, fault.Conflict, "adds fs.write to")
		if again := e.registered("s", readPlan, ""); len(again.Widened) > 0 || e.livePlan("s") != again.PlanID {
			t.Errorf("the same after it has ended: %+v", again)
		}
		e.registered("s", `{"goal":"narrower","steps":[{"action":"read","mcp":"fs","params":{"path":"a"}}]}`, "")

		amended := e.registered("s", writePlan, "the person wants the file fixed with password=hunter2")
		if fmt.Sprint(amended.Widened, amended.Added) != "[1] [fs.write]" {
			t.Errorf("amended: %v, %v", amended.Widened, amended.Added)
		}
		entries, err := audit.ReadEntries(t.Context(), e.DB, e.acme, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		last := entries[len(entries)-1].Payload
		if !strings.Contains(last, `"amendment":{"adds":["fs.write"],"reason":"the person wants`) ||
			strings.Contains(last, "hunter2") || !strings.Contains(last, `"turn":1`) {
			t.Errorf("the log: %s", last)
		}
		_, err = e.register("s", strings.ReplaceAll(writePlan, "look", "see"), "")
		e.wantRefused("what was added, without a reason", err, fault.Conflict, "adds fs.write to")
		_, err = e.register("s", writePlan, strings.Repeat("x", 501))
		e.wantRefused("a long reason", err, fault.Invalid, "amends")
		_, err = e.plans.Mint(t.Context(), e.agent, intent.Request{Plan: []byte(readPlan), Amends: "why"})
		e.wantRefused("a reason without a ticket", err, fault.Invalid, "amends")
	})
}

// TestCountsDoNotBeginAnew: who ends a plan with counted or ordered steps and registers it again would use them again.
func TestCountsDoNotBeginAnew(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for session, raw := range map[string]string{
			"counted": `{"steps":[{"action":"pay","mcp":"bank","max_calls":1}]}`,
			"ordered": `{"ordered":true,"steps":[{"action":"pay","mcp":"bank"}]}`,
		} {
			e.turn(e.agent, session)
			e.registered(session, raw, "")
			if _, err := e.plans.EndSessionPlan(t.Context(), e.agent, e.ticket(e.agent, session)); err != nil {
				t.Fatal(err)
			}
			_, err := e.register(session, raw, "")
			e.wantRefused(session, err, fault.Conflict, "adds bank.pay to")
		}
	})
}

// TestPlansAtTheSameTime: however many plans of a turn are registered at once, each is compared with all before it.
func TestPlansAtTheSameTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.turn(e.agent, "s")
		const callers = 12
		run := func(of func(i int) (raw, ticket string)) (won int, errs []error) {
			var wait sync.WaitGroup
			results := make([]error, callers)
			for i := range callers {
				raw, text := of(i)
				wait.Go(func() {
					_, results[i] = e.plans.Mint(t.Context(), e.agent, intent.Request{Plan: []byte(raw), Ticket: text})
				})
			}
			wait.Wait()
			for _, err := range results {
				if err == nil {
					won++
				} else {
					errs = append(errs, err)
				}
			}
			return won, errs
		}
		won, errs := run(func(i int) (string, string) {
			return fmt.Sprintf(`{"steps":[{"action":"tool%d","mcp":"fs"}]}`, i), e.ticket(e.agent, "s")
		})
		if won != 1 {
			t.Errorf("%d of %d different plans were registered, want one", won, callers)
		}
		for _, err := range errs {
			if !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Unavailable) {
				t.Errorf("refused with %v", err)
			}
		}
		e.turn(e.agent, "s")
		if won, _ := run(func(int) (string, string) { return readPlan, e.ticket(e.agent, "s") }); won != 1 {
			t.Errorf("one plan was registered %d times", won)
		}
		e.turn(e.agent, "s")
		same := e.ticket(e.agent, "s")
		if won, _ := run(func(i int) (string, string) {
			return fmt.Sprintf(`{"goal":"%d","steps":[{"action":"read","mcp":"fs"}]}`, i), same
		}); won != 1 {
			t.Errorf("one ticket counted %d times", won)
		}
	})
}

func TestAGuardedSessionStaysGuarded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bare := func(p principal.Principal, session string) error {
			_, err := e.plans.Mint(t.Context(), p, intent.Request{Plan: []byte(readPlan), SessionID: session})
			return err
		}
		if _, err := e.plans.OpenSession(t.Context(), e.agent, "s", "gemini-cli"); err != nil {
			t.Fatal(err)
		}
		e.wantRefused("before the first turn", bare(e.agent, "s"), fault.Forbidden, "session_ticket")
		e.turn(e.agent, "s")
		e.wantRefused("in a turn", bare(e.agent, "s"), fault.Forbidden, "session_ticket")
		if _, err := e.plans.EndSession(t.Context(), e.agent, "s"); err != nil {
			t.Fatal(err)
		}
		e.wantRefused("after its end", bare(e.agent, "s"), fault.Forbidden, "session_ticket")
		for name, err := range map[string]error{
			"another key's session":  bare(e.other, "s"),
			"another session":        bare(e.agent, "t"),
			"a plan without session": bare(e.agent, ""),
			"another organization's": bare(e.foreign, "s"),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := e.plans.OpenSession(t.Context(), e.agent, "s", "gemini-cli")
		if err != nil {
			t.Errorf("the same agent again: %v", err)
		}
		_, err = e.plans.OpenSession(t.Context(), e.agent, "s", "other")
		e.wantRefused("another agent", err, fault.Conflict, "another agent")
		_, err = e.plans.EndSession(t.Context(), e.agent, "never opened")
		e.wantRefused("the end of no session", err, fault.NotFound, "no such")
		_, err = e.plans.OpenTurn(t.Context(), e.agent, intent.TurnRequest{})
		e.wantRefused("no session", err, fault.Invalid, "session_id")
		_, err = e.plans.OpenTurn(t.Context(), e.agent, intent.TurnRequest{SessionID: strings.Repeat("s", 201)})
		e.wantRefused("a long name", err, fault.Invalid, "session_id")
		m := e.registeredAs("s", "gemini-cli")
		if m.AgentID != "gemini-cli" {
			t.Errorf("the plan is of agent %q", m.AgentID)
		}
	})
}

// registeredAs registers a plan in a new turn of a session that belongs to an agent.
func (e *env) registeredAs(session, agentID string) intent.Minted {
	e.T.Helper()
	if _, err := e.plans.OpenTurn(e.T.Context(), e.agent, intent.TurnRequest{
		SessionID: session, AgentID: agentID,
	}); err != nil {
		e.T.Fatal(err)
	}
	return e.registered(session, readPlan, "")
}

func TestATurnKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for _, c := range []struct {
			name, prompt, text string
			kept               bool
		}{
			{"short", "pay the rent", "of the file", true},
			{"a long prompt", strings.Repeat("a", 64<<10+1), "", false},
			{"a long text", "read it", strings.Repeat("word ", 110_000), true},
			{"nothing", "", "", false},
		} {
			state, err := e.plans.OpenTurn(t.Context(), e.agent, intent.TurnRequest{
				SessionID: c.name, Prompt: c.prompt, Text: c.text,
			})
			if err != nil || state.PromptKept != c.kept {
				t.Errorf("%s: %+v, %v", c.name, state, err)
			}
		}
		if n := e.Number(`SELECT COUNT(*) FROM known_prompt`); n != 2 {
			t.Errorf("%d prompts are stored, want 2", n)
		}
		if known, unknown := e.Number(`SELECT COUNT(*) FROM known_output WHERE state = 1`),
			e.Number(`SELECT COUNT(*) FROM known_output WHERE state = 2`); known != 1 || unknown != 1 {
			t.Errorf("%d known and %d unknown texts, want 1 of each", known, unknown)
		}
		for range 5 { // beyond what is kept of a session, a person can go on
			if _, err := e.plans.OpenTurn(t.Context(), e.agent, intent.TurnRequest{
				SessionID: "long", Prompt: strings.Repeat("b", 60<<10),
			}); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(e.Text("known_prompt", "known_output", "audit_entry"), "pay the rent") {
			t.Error("a prompt is stored in the open")
		}
	})
}

func TestATurnHasFewPlans(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.turn(e.agent, "s")
		for i := range intent.MaxTurnPlans {
			e.registered("s", fmt.Sprintf(`{"goal":"%d","steps":[{"action":"read","mcp":"fs"}]}`, i), "")
		}
		_, err := e.register("s", readPlan, "")
		e.wantRefused("one more", err, fault.Conflict, "may have no more")
		e.turn(e.agent, "s")
		e.registered("s", readPlan, "")
	})
}

// TestAnErasedPlanPermitsNothing: who has a plan erased cannot register another as if it were the first.
func TestAnErasedPlanPermitsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.turn(e.agent, "s")
		m := e.registered("s", readPlan, "")
		if _, err := e.plans.EndSessionPlan(t.Context(), e.agent, e.ticket(e.agent, "s")); err != nil {
			t.Fatal(err)
		}
		e.erase(m.PlanID)
		_, err := e.register("s", readPlan, "")
		e.wantRefused("after an erasure", err, fault.Conflict, "adds fs.read to")
		// one that is live when it is erased loses its text with its turn
		live := e.registered("s", readPlan, "it was erased")
		e.erase(live.PlanID)
		if e.livePlan("s") != live.PlanID {
			t.Error("a live plan ends when it is erased")
		}
		e.turn(e.agent, "s")
		if n := e.Number(`SELECT COUNT(*) FROM plan_anchor WHERE length(sealed) > 0`); n != 0 {
			t.Errorf("%d erased texts are still there", n)
		}
	})
}

// erase erases the text of a plan, as its entry in the log.
func (e *env) erase(planID string) {
	e.T.Helper()
	index, err := audit.FirstAbout(e.T.Context(), e.DB, e.acme, audit.Subject{Type: "plan", ID: planID})
	if err != nil {
		e.T.Fatal(err)
	}
	e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
		return intent.EraseTexts(ctx, tx, e.acme, []int64{index})
	})
}

// TestOldSessionsAreForgotten also forgets the tickets that were used, once they have expired.
func TestOldSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.turn(e.agent, "s")
		e.registered("s", readPlan, "")
		left := func(after time.Duration) string {
			e.Pass(after)
			if err := e.plans.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(e.Number(`SELECT COUNT(*) FROM guarded_session`),
				e.Number(`SELECT COUNT(*) FROM ticket_use`))
		}
		for _, c := range []struct {
			after time.Duration
			want  string
		}{{time.Minute, "1 1"}, {ticket.Life, "1 0"}, {29 * 24 * time.Hour, "1 0"}, {24 * time.Hour, "0 0"}} {
			if got := left(c.after); got != c.want {
				t.Errorf("after %v more: %s sessions and tickets, want %s", c.after, got, c.want)
			}
		}
	})
}
