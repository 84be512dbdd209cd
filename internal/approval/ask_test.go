package approval_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

func (e *env) ask(a approval.Asked) (approval.Request, bool) {
	e.T.Helper()
	r, opened, err := e.approvals.Ask(e.T.Context(), e.key, a)
	if err != nil {
		e.T.Fatalf("ask: %v", err)
	}
	return r, opened
}

func amount(n float64) *float64 { return &n }

// held opens a request as a decision does, for arguments.
func (e *env) held(call approval.Call, arguments string, want approval.Requirement) (r *approval.Request) {
	e.T.Helper()
	call.OrgID, call.KeyID, call.OwnerID = e.org, e.key.KeyID, e.ada.UserID
	call.Canonical = canonicalOf(e.T, arguments)
	call.Arguments = call.Canonical
	call.Digest, _ = sources.Digest(e.T.Context(), e.org, call.Canonical)
	e.write(func(ctx context.Context, tx *database.Tx) (err error) {
		r, err = e.approvals.Open(ctx, tx, call, want)
		return err
	})
	return r
}

// TestAskingAgain: what a decision opened, and what was asked before, is the same
// request, and only a new one is admitted or not.
func TestAskingAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		admitted := 0
		asked := approval.Asked{
			Tool:      "pay",
			Domain:    "bank",
			Arguments: []byte(`{"to":"x","n":1}`),
			Amount:    amount(5),
			Email:     "Ada@Example.org",
			Reason:    "rent",
			Admit:     func(context.Context) error { admitted++; return nil },
		}
		first, opened := e.ask(asked)
		if !opened || admitted != 1 || first.Status != approval.Pending || first.Via != approval.ViaRequest ||
			first.Email != "ada@example.org" ||
			first.Server != "bank" || *first.Amount != 5 || first.AskedFor != "rent" ||
			first.Arguments != `{"n":1,"to":"x"}` {
			t.Errorf("opened %t, admitted %d: %+v", opened, admitted, first)
		}
		asked.Arguments, asked.Domain, asked.Reason, asked.PlanID = []byte(`{"n":1.0, "to":"x"}`), "", "again", "p1"
		for i := range 3 {
			again, opened := e.ask(asked)
			if opened || again.ID != first.ID || again.Repeats != i+1 || again.LastAskedAt == nil ||
				again.AskedFor != "rent" {
				t.Errorf("again: %t, %+v", opened, again)
			}
		}
		for name, change := range map[string]func(*approval.Asked){
			"arguments": func(a *approval.Asked) { a.Arguments = []byte(`{"to":"x","n":2}`) },
			"nested":    func(a *approval.Asked) { a.Arguments = []byte(`{"to":["x"],"n":1}`) },
			"tool":      func(a *approval.Asked) { a.Tool = "move" },
			"e-mail":    func(a *approval.Asked) { a.Email = "bob@example.org" },
			"none":      func(a *approval.Asked) { a.Arguments = nil },
		} {
			other := asked
			change(&other)
			if r, opened := e.ask(other); !opened || r.ID == first.ID {
				t.Errorf("another %s: the same request", name)
			}
		}
		planned := asked
		planned.Tool, planned.PlanID = "plan", "p1"
		one, _ := e.ask(planned)
		planned.PlanID = "p2"
		if two, opened := e.ask(planned); !opened || two.ID == one.ID {
			t.Error("two plans have one request")
		}
		if admitted != 8 {
			t.Errorf("%d admitted", admitted)
		}
		refused := asked
		refused.Tool, refused.Admit = "new", func(context.Context) error { return fault.New(fault.TooMany, "slowly") }
		_, _, err := e.approvals.Ask(t.Context(), e.key, refused)
		testenv.WantFault(t, "not admitted", err, fault.TooMany)
		refused.Tool = "pay"
		if r, opened := e.ask(refused); opened || r.ID != first.ID {
			t.Error("a repeat is throttled")
		}
	})
}

// TestAskingForWhatIsHeld finds what the decision opened, whatever it wants of
// approvers, completes it, and gives its answer until it ends.
func TestAskingForWhatIsHeld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		question := hold
		question.Kind = approval.Ask
		held := e.held(approval.Call{Server: "bank", Tool: "pay"}, `{"n":1}`, question)
		asked := approval.Asked{
			Tool:      "pay",
			Domain:    "Bank of X",
			Arguments: []byte(`{"n":1}`),
			Email:     "u@example.org",
			Reason:    "please",
		}
		got, opened := e.ask(asked)
		if opened || got.ID != held.ID || got.Kind != approval.Ask || *got.Amount != 0 ||
			got.Email != "u@example.org" || got.Domain != "Bank of X" || got.AskedFor != "please" {
			t.Errorf("found %t: %+v", opened, got)
		}
		if stored, err := e.approvals.Get(t.Context(), e.key, held.ID); err != nil ||
			stored.Email != "u@example.org" || stored.Amount == nil {
			t.Errorf("stored: %+v, %v", stored, err)
		}

		second := e.held(approval.Call{Server: "bank", Tool: "pay"}, `{"n":2}`, hold)
		if _, err := e.approvals.Reject(t.Context(), bob, second.ID, "no"); err != nil {
			t.Fatal(err)
		}
		asked.Arguments = []byte(`{"n":2}`)
		if got, opened := e.ask(asked); opened || got.Status != approval.Rejected || got.Note != "no" {
			t.Errorf("rejected: %t, %+v", opened, got)
		}
		e.Pass(approval.PendingLife)
		if got, opened := e.ask(asked); !opened || got.ID == second.ID {
			t.Errorf("after its end: %t, %+v", opened, got)
		}
	})
}

// TestAskingWithoutArguments is told apart by tool, amount and domain, and no
// decision ever uses the yes.
func TestAskingWithoutArguments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		asked := approval.Asked{Tool: "pay", Domain: "bank", Amount: amount(5000), Email: "u@example.org"}
		first, _ := e.ask(asked)
		if again, opened := e.ask(asked); opened || again.ID != first.ID {
			t.Error("the same question opened another request")
		}
		for _, other := range []approval.Asked{
			{Tool: "pay", Domain: "bank", Amount: amount(5001), Email: "u@example.org"},
			{Tool: "pay", Domain: "shop", Amount: amount(5000), Email: "u@example.org"},
		} {
			if r, opened := e.ask(other); !opened || r.ID == first.ID {
				t.Errorf("another question found the same request: %+v", other)
			}
		}
		_, err := e.approvals.Approve(t.Context(), bob, first.ID, approval.Approval{Arguments: []byte(`{"n":1}`)})
		testenv.WantFault(t, "changed arguments where there are none", err, fault.Invalid)
		if _, err := e.approvals.Approve(t.Context(), bob, first.ID, approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		empty, _ := sources.Digest(t.Context(), e.org, `{}`)
		e.write(func(ctx context.Context, tx *database.Tx) error {
			call := approval.Call{
				OrgID:  e.org,
				KeyID:  e.key.KeyID,
				Server: "bank",
				Tool:   "pay",
				Digest: empty,
			}
			found, err := e.approvals.Find(ctx, tx, call, approval.Requirement{Kind: approval.Hold})
			if err != nil || found != nil {
				t.Errorf("a decision found %+v, %v", found, err)
			}
			return nil
		})
	})
}

func TestAskingBadly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, a := range map[string]approval.Asked{
			"no tool":         {},
			"a long tool":     {Tool: strings.Repeat("t", 201)},
			"control":         {Tool: "t\x1b[2J"},
			"bad text":        {Tool: "t", Email: "\xff"},
			"a long reason":   {Tool: "t", Reason: strings.Repeat("r", 1001)},
			"no number":       {Tool: "t", Amount: amount(math.NaN())},
			"infinite":        {Tool: "t", Amount: amount(math.Inf(1))},
			"arguments":       {Tool: "t", Arguments: []byte(`[]`)},
			"arguments twice": {Tool: "t", Arguments: []byte(`{"a":1,"a":2}`)},
			"too much":        {Tool: "t", Arguments: []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)},
		} {
			_, _, err := e.approvals.Ask(t.Context(), e.key, a)
			testenv.WantFault(t, name, err, fault.Invalid)
		}
		without := e.key
		without.Scopes = []principal.Scope{principal.Enforce}
		nowhere := e.key
		nowhere.OrgID = ""
		for name, p := range map[string]principal.Principal{
			"a person": e.ada, "another scope": without, "no organization": nowhere,
		} {
			_, _, err := e.approvals.Ask(t.Context(), p, approval.Asked{Tool: "t"})
			testenv.WantFault(t, name, err, fault.Forbidden)
		}
		if r, _ := e.ask(approval.Asked{
			Tool:      "t",
			Arguments: []byte(`{"password":"hunter2"}`),
			Reason:    "token ak_live_0123456789abcdef0123456789abcdef",
		}); strings.Contains(r.Arguments+r.AskedFor, "hunter2") {
			t.Errorf("a secret is kept: %s", r.Arguments)
		}
		broken := approval.New(e.DB, e.Log, approval.Sources{
			Digest: func(context.Context, string, string) ([]byte, error) { return nil, errors.New("away") },
		})
		if _, _, err := broken.Ask(t.Context(), e.key, approval.Asked{
			Tool: "t", Arguments: []byte(`{"n":1}`),
		}); err == nil {
			t.Error("asked without a digest")
		}
	})
}

// TestFiveHundredQuestions of a looping client are one request.
func TestFiveHundredQuestions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for range 500 {
			e.ask(approval.Asked{Tool: "pay", Arguments: []byte(`{"n":1}`)})
		}
		var rows, repeats, events int
		err := e.DB.QueryRow(t.Context(),
			`SELECT COUNT(*), MAX(repeats), (SELECT COUNT(*) FROM approval_event) FROM approval_request`).Scan(&rows,
			&repeats, &events)
		if err != nil || rows != 1 || repeats != 499 || events != 1 {
			t.Errorf("%d requests, asked again %d times, %d events, %v", rows, repeats, events, err)
		}
	})
}
