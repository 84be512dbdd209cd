package scope_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/grounding"
	"writ/internal/intent/scope"
	"writ/internal/testenv"
)

// env is a session of an organization, and two processes that know of it.
type env struct {
	*testenv.Env
	service, second *scope.Service
	key             scope.Key
	position        int64
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		e := &env{Env: base, service: scope.New(base.DB, testenv.Sealer(t, 1))}
		e.second = scope.New(base.DB, testenv.Sealer(t, 1))
		e.key = scope.Key{OrgID: e.Organization("Acme"), KeyID: "key", Session: "s"}
		body(t, e)
	})
}

const planID = "plan"

// allow adds a call of a tool with an argument, and returns the id and the position of its decision.
func (e *env) allow(tool, value string) (id string, position int64) {
	e.T.Helper()
	id = database.NewID()
	e.position++
	call := scope.Call{
		DecisionID: id,
		PlanID:     planID,
		Tool:       tool,
		Digest:     []byte(value),
		Arguments:  fmt.Sprintf(`{"name":%q}`, value),
		Class:      grounding.Read,
		Position:   e.position,
	}
	e.Write(e.key.OrgID, func(ctx context.Context, tx *database.Tx) error {
		return e.service.Allow(ctx, tx, e.key, call)
	})
	return id, call.Position
}

// report reports an output, and returns the decision that it takes and its position.
func (e *env) report(change func(*scope.Report), tool, value, output string) (taken string, position int64) {
	e.T.Helper()
	e.position++
	r := scope.Report{
		OrgID:    e.key.OrgID,
		KeyID:    e.key.KeyID,
		PlanID:   planID,
		Scope:    e.key,
		Tool:     tool,
		Digest:   []byte(value),
		Output:   &output,
		Position: e.position,
	}
	if change != nil {
		change(&r)
	}
	e.Write(e.key.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		taken, err = e.service.Take(ctx, tx, r)
		return err
	})
	return taken, r.Position
}

// load is what a process knows.
func (e *env) load(of *scope.Service) *scope.State {
	e.T.Helper()
	state, err := of.Load(e.T.Context(), e.key, planID)
	if err != nil {
		e.T.Fatal(err)
	}
	return state
}

// grounds reports whether a call with a value passes, in both processes and in one that was just started.
func (e *env) grounds(value string) bool {
	e.T.Helper()
	call := grounding.Call{Tool: "act", Class: grounding.Write, Arguments: map[string]any{"what": value}}
	judge := func(of *scope.Service) bool {
		p := grounding.Plan{Declared: true, Planned: true}
		return grounding.Judge(e.load(of).Known, p, call, grounding.Options{}).Pass
	}
	pass := judge(e.service)
	for name, of := range map[string]*scope.Service{
		"the second process": e.second, "a new process": scope.New(e.DB, testenv.Sealer(e.T, 1)),
	} {
		if judge(of) != pass {
			e.T.Errorf("%s answers otherwise about %s: %t", name, value, !pass)
		}
	}
	return pass
}

const noise = "The weather will stay nice for the whole week."

// TestAReportTakesOneCall: the oldest of the same key, plan, tool and arguments, and nothing else.
func TestAReportTakesOneCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		first, _ := e.allow("find", "a")
		second, _ := e.allow("find", "a")
		for name, change := range map[string]func(*scope.Report){
			"another organization": func(r *scope.Report) { r.OrgID = e.Organization("Other") },
			"another key":          func(r *scope.Report) { r.KeyID = "other" },
			"another plan":         func(r *scope.Report) { r.PlanID = "other" },
			"no plan":              func(r *scope.Report) { r.PlanID = "" },
			"another tool":         func(r *scope.Report) { r.Tool = "found" },
			"other arguments":      func(r *scope.Report) { r.Digest = []byte("b") },
			"unknown arguments":    func(r *scope.Report) { r.Digest = nil },
		} {
			if taken, _ := e.report(change, "find", "a", "x"); taken != "" {
				t.Errorf("%s: a report took %s", name, taken)
			}
		}
		for i, want := range []string{first, second, ""} {
			if taken, _ := e.report(nil, "find", "a", "x"); taken != want {
				t.Errorf("report %d took %q, want %q", i, taken, want)
			}
		}
	})
}

// TestAReportPrefersTheFirstName: a call of a second server that the name may be of is taken if no other waits.
func TestAReportPrefersTheFirstName(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		allow := func(wire string) string {
			call := scope.Call{
				DecisionID: database.NewID(), PlanID: planID, Tool: "pay", WireName: wire,
				Digest: []byte("a"), Arguments: `{}`, Class: grounding.Read,
			}
			e.position++
			call.Position = e.position
			e.Write(e.key.OrgID, func(ctx context.Context, tx *database.Tx) error {
				return e.service.Allow(ctx, tx, e.key, call)
			})
			return call.DecisionID
		}
		plain, marked := allow("bank_pay"), allow("mcp_bank_pay")
		names := func(r *scope.Report) { r.WireName, r.OtherWireName = "mcp_bank_pay", "bank_pay" }
		for i, want := range []string{marked, plain, ""} {
			if taken, _ := e.report(names, "mcp_bank_pay", "a", "x"); taken != want {
				t.Errorf("report %d took %q, want %q", i, taken, want)
			}
		}
	})
}

// TestProcessesAnswerAlike: what one process stores, others and a new one know at once.
func TestProcessesAnswerAlike(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		want := func(when, value string, pass bool) {
			t.Helper()
			if got := e.grounds(value); got != pass {
				t.Errorf("%s: %s is grounded: %t", when, value, got)
			}
		}
		want("at first", "anything", true)
		e.allow("read", "x")
		want("while a call waits", "anything", false)
		e.report(nil, "read", "x", noise)
		want("after text", "anything", false)
		e.allow("find", "Dana")
		want("while the answer waits", "D-1", false)
		e.report(nil, "find", "Dana", `[{"name":"Dana","id":"D-1"}]`)
		want("after the answer", "D-1", true)
		want("after the answer", "D-2", false)
		e.Write(e.key.OrgID, func(ctx context.Context, tx *database.Tx) error {
			return e.second.Say(ctx, tx, e.key, "", "Take D-2.", 100)
		})
		want("after a prompt", "D-2", true)
		e.allow("read", "x")
		e.report(func(r *scope.Report) { r.Output = nil }, "read", "x", "")
		want("after an output that nobody has", "D-1", false)
		want("after an output that nobody has", "D-2", true)
	})
}

// TestOldOutputsAreDropped beyond their number and size, and ground nothing from then on.
func TestOldOutputsAreDropped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		fill := func(session string, n int, output string) int64 {
			e.key.Session = session
			e.allow("read", "x")
			e.report(nil, "read", "x", noise)
			for range n - 1 {
				e.allow("find", "Dana")
				e.report(nil, "find", "Dana", output)
			}
			return e.Number(`SELECT COUNT(*) FROM known_output WHERE scope_id = $1`, e.key.ID())
		}
		const field = `[{"name":"Dana","id":"D-1"}]`
		if n := fill("few", grounding.MaxOutputs, field); n != grounding.MaxOutputs || !e.grounds("D-1") {
			t.Errorf("of %d outputs %d are stored", grounding.MaxOutputs, n)
		}
		if n := fill("many", grounding.MaxOutputs+1, field); n != grounding.MaxOutputs || e.grounds("D-1") {
			t.Errorf("%d outputs are stored, and a value is grounded: %t", n, e.grounds("D-1"))
		}
		large := `[{"name":"Dana","id":"D-1","more":"` + strings.Repeat("x", 130<<10) + `"}]`
		if n := fill("small", 4, large); n != 4 || !e.grounds("D-1") {
			t.Errorf("%d outputs of 130 KiB are stored", n)
		}
		if n := fill("large", 6, large); n != 3 || e.grounds("D-1") {
			t.Errorf("%d outputs of 130 KiB are stored, and a value is grounded: %t", n, e.grounds("D-1"))
		}
		too := strings.Repeat("x", grounding.MaxBytes+1)
		if n := fill("too large", 2, too); n != 2 || e.grounds("D-1") {
			t.Errorf("%d outputs are stored", n)
		}
		if size := e.Number(`SELECT COALESCE(MAX(LENGTH(sealed_output)), 0) FROM known_output WHERE scope_id = $1`,
			e.key.ID()); size > 1024 {
			t.Errorf("%d bytes of an output that is too large are stored", size)
		}
	})
}

// TestErasedOutputs are unknown, in every process.
func TestErasedOutputs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		erase := func(org string, position int64) {
			t.Helper()
			e.Write(e.key.OrgID, func(ctx context.Context, tx *database.Tx) error {
				return scope.Erase(ctx, tx, org, []int64{position})
			})
		}
		begin := func(session string) (decided, reported int64) {
			e.key.Session = session
			e.allow("read", "x")
			e.report(nil, "read", "x", noise)
			_, decided = e.allow("find", "Dana")
			_, reported = e.report(nil, "find", "Dana", `[{"name":"Dana","id":"D-1"}]`)
			if !e.grounds("D-1") {
				t.Fatal("not grounded")
			}
			return decided, reported
		}
		_, reported := begin("report")
		erase(database.NewID(), reported)
		if !e.grounds("D-1") {
			t.Error("another organization's entry was erased")
		}
		erase(e.key.OrgID, reported)
		if e.grounds("D-1") {
			t.Error("the report was erased, and grounds")
		}
		decided, _ := begin("decision")
		erase(e.key.OrgID, decided)
		if e.grounds("D-1") {
			t.Error("the decision was erased, and its output grounds")
		}
		if n := e.Number(`SELECT COUNT(*) FROM known_output WHERE decided = $1 AND (LENGTH(sealed_call) > 0 OR
			LENGTH(sealed_output) > 0)`, decided); n != 0 {
			t.Error("what was erased is stored")
		}
		begin("prompt")
		e.Write(e.key.OrgID, func(ctx context.Context, tx *database.Tx) error {
			return e.service.Say(ctx, tx, e.key, "", "Take D-2.", 500)
		})
		if !e.grounds("D-2") {
			t.Error("a prompt does not ground")
		}
		erase(e.key.OrgID, 500)
		if e.grounds("D-2") {
			t.Error("the prompt was erased, and grounds")
		}
	})
}

// TestIdleSessionsAreForgotten: a day after its last use nothing of a session is stored, and nothing is grounded by it;
// one that is used stays.
func TestIdleSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		prune := func() {
			t.Helper()
			if err := e.service.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		e.Write(e.key.OrgID, func(ctx context.Context, tx *database.Tx) error {
			return e.service.Say(ctx, tx, e.key, "", "Take D-2.", 100)
		})
		for i := range 3 {
			e.allow("find", "Dana")
			e.report(nil, "find", "Dana", `[{"name":"Dana","id":"D-1"}]`)
			e.Pass(23 * time.Hour)
			prune()
			if n := e.Number(`SELECT COUNT(*) FROM known_output`); n != int64(i+1) {
				t.Errorf("%d outputs of a session in use are stored", n)
			}
		}
		e.Pass(2 * time.Hour)
		prune()
		for _, table := range []string{"known_output", "known_prompt"} {
			if n := e.Number(`SELECT COUNT(*) FROM ` + table); n != 0 {
				t.Errorf("%d rows of %s are stored", n, table)
			}
		}
		for _, value := range []string{"D-1", "D-2", "anything"} {
			if e.grounds(value) {
				t.Errorf("%s is grounded by what was forgotten", value)
			}
		}
		e.Pass(31 * 24 * time.Hour)
		prune()
		if n := e.Number(`SELECT COUNT(*) FROM known_scope`); n != 0 {
			t.Errorf("%d sessions are stored after a month", n)
		}
	})
}

// TestPromptsOfOneSession add up to 256 KiB, and another session has its own.
func TestPromptsOfOneSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		say := func(text string) (err error) {
			e.position++
			return e.DB.Write(t.Context(), database.Change{Logs: []string{e.key.OrgID}, Do: func(
				ctx context.Context, tx *database.Tx,
			) error {
				return e.service.Say(ctx, tx, e.key, "", text, e.position)
			}})
		}
		for range grounding.MaxPrompts / grounding.MaxPrompt {
			if err := say(strings.Repeat("x", grounding.MaxPrompt)); err != nil {
				t.Fatal(err)
			}
		}
		if err := say("D-2"); !fault.Is(err, fault.TooLarge) {
			t.Errorf("a prompt too many: %v", err)
		}
		e.allow("read", "x")
		e.report(nil, "read", "x", noise)
		if e.grounds("D-2") {
			t.Error("what was refused grounds")
		}
		e.key.Session = "other"
		if err := say("D-2"); err != nil {
			t.Errorf("another session: %v", err)
		}
	})
}

// TestOutputsAreSealed: nothing that a tool returned or was asked with can be read in the database, and another key of
// the server opens none of it.
func TestOutputsAreSealed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const secret = "correcthorsebattery"
		e.Write(e.key.OrgID, func(ctx context.Context, tx *database.Tx) error {
			return e.service.Say(ctx, tx, e.key, planID, "Take "+secret, 100)
		})
		e.allow("find", secret+"asked")
		e.report(nil, "find", secret+"asked", `{"id":"`+secret+`"}`)
		if text := e.Text("known_output", "known_prompt", "known_scope"); strings.Contains(
			strings.ReplaceAll(text, secret+"asked", ""), secret) {
			t.Error("the database shows what a tool returned")
		}
		other := scope.New(e.DB, testenv.Sealer(t, 2))
		if _, err := other.Load(t.Context(), e.key, planID); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("opened by another key: %v", err)
		}
	})
}

// TestAFailedReadIsNoAnswer: a process that cannot read what is known says so, although it knew it before.
func TestAFailedReadIsNoAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.allow("find", "Dana")
		e.load(e.service)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.service.Load(ctx, e.key, planID); !errors.Is(err, context.Canceled) {
			t.Errorf("loaded: %v", err)
		}
	})
}
