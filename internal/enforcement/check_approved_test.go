package enforcement_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// holdsEverything has every call held, and gives bob, who may approve them.
func (e *env) holdsEverything() principal.Principal {
	e.T.Helper()
	e.active("rules", `id: all; effect: hold; tools: ["*"]`)
	return e.approver()
}

func (e *env) ask(a approval.Asked) (approval.Request, bool) {
	e.T.Helper()
	r, opened, err := e.approvals.Ask(e.T.Context(), e.agent, a)
	if err != nil {
		e.T.Fatalf("ask: %v", err)
	}
	return r, opened
}

func (e *env) approve(by principal.Principal, id string, with approval.Approval) {
	e.T.Helper()
	if _, err := e.approvals.Approve(e.T.Context(), by, id, with); err != nil {
		e.T.Fatal(err)
	}
}

func (e *env) released(q approval.Question) *approval.Release {
	e.T.Helper()
	r, err := e.decisions.CheckApproved(e.T.Context(), e.agent, q)
	if err != nil {
		e.T.Fatal(err)
	}
	return r
}

func amount(n float64) *float64 { return &n }

// TestCheckApproved says yes once, and only where nothing else can be meant.
func TestCheckApproved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.holdsEverything()
		question := approval.Question{Tool: "pay", Amount: 5, Email: "U@example.org"}
		if got := e.released(question); got != nil {
			t.Errorf("nothing was asked: %+v", got)
		}
		first := e.decide(call("bank", "pay", `{"n":1}`))
		e.ask(approval.Asked{
			Tool:      "pay",
			Domain:    "bank",
			Arguments: []byte(`{"n":1}`),
			Amount:    amount(5),
			Email:     "u@example.org",
		})
		if got := e.released(question); got != nil {
			t.Errorf("it waits: %+v", got)
		}
		second, _ := e.ask(approval.Asked{
			Tool:      "pay",
			Domain:    "bank",
			Arguments: []byte(`{"n":2}`),
			Amount:    amount(5),
			Email:     "u@example.org",
		})
		e.approve(bob, first.ApprovalID, approval.Approval{})
		if got := e.released(question); got != nil {
			t.Errorf("another request of that tool waits: %+v", got)
		}
		if _, err := e.approvals.Reject(t.Context(), bob, second.ID, ""); err != nil {
			t.Fatal(err)
		}
		for name, q := range map[string]approval.Question{
			"another amount": {Tool: "pay", Amount: 5.01, Email: "u@example.org"},
			"another tool":   {Tool: "move", Amount: 5, Email: "u@example.org"},
			"another person": {Tool: "pay", Amount: 5, Email: "v@example.org"},
			"nobody":         {Tool: "pay", Amount: 5},
			"no name":        {Tool: "pay\x00", Amount: 5, Email: "\xff"},
		} {
			if got := e.released(q); got != nil {
				t.Errorf("%s: %+v", name, got)
			}
		}
		got := e.released(question)
		if got == nil || got.Request.ID != first.ApprovalID || got.ApproverID != bob.UserID ||
			got.ApproverEmail != "bob@example.org" || got.ApproverRole != "approver" || got.DecisionID == "" {
			t.Fatalf("released: %+v", got)
		}
		if twice := e.released(question); twice != nil {
			t.Errorf("released twice: %+v", twice)
		}
		again := e.decide(call("bank", "pay", `{"n":1}`))
		if again.Verdict != verdict.Hold || again.ApprovalID == first.ApprovalID {
			t.Errorf("a decision could use it as well: %+v", again)
		}
		if n := e.count(`audit_entry WHERE action = 'call.decided' AND verdict = 'allow'`); n != 1 {
			t.Errorf("%d decisions recorded", n)
		}
	})
}

// TestCheckApprovedKeepsToItself: not what was changed or is wider, not for
// another key, and not without a record.
func TestCheckApprovedKeepsToItself(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.holdsEverything()
		q := approval.Question{Tool: "pay", Amount: 5}
		asked := approval.Asked{Tool: "pay", Arguments: []byte(`{"n":1}`), Amount: amount(5)}
		changed, _ := e.ask(asked)
		e.approve(bob, changed.ID, approval.Approval{Arguments: []byte(`{"n":0}`)})
		if got := e.released(q); got != nil {
			t.Errorf("changed: %+v", got)
		}
		e.Pass(approval.GrantLife)
		minutes := approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5}}
		early, _ := e.ask(asked)
		_, err := e.approvals.Approve(t.Context(), bob, early.ID, minutes)
		testenv.WantFault(t, "more than the call that a client asks for, which no rule holds", err, fault.Invalid)
		if _, err := e.approvals.Cancel(t.Context(), e.agent, early.ID); err != nil {
			t.Fatal(err)
		}
		held := e.decide(call("local", "pay", `{"n":1}`))
		wide, opened := e.ask(asked)
		if opened || wide.ID != held.ApprovalID {
			t.Fatalf("asked of %+v, opened %t", wide, opened)
		}
		e.approve(bob, wide.ID, minutes)
		if got := e.released(q); got != nil {
			t.Errorf("a wider yes: %+v", got)
		}
		plain, opened := e.ask(asked)
		if !opened {
			t.Fatal("a wider yes answers a question by itself")
		}
		e.approve(bob, plain.ID, approval.Approval{})
		stranger := e.agent
		stranger.KeyID = database.NewID()
		if got, err := e.decisions.CheckApproved(t.Context(), stranger, q); err != nil || got != nil {
			t.Errorf("another key: %+v, %v", got, err)
		}
		elsewhere := e.agent
		elsewhere.OrgID = database.NewID()
		if got, err := e.decisions.CheckApproved(t.Context(), elsewhere, q); err != nil || got != nil {
			t.Errorf("another organization: %+v, %v", got, err)
		}
		if _, err := e.decisions.CheckApproved(t.Context(), e.owner, q); !fault.Is(err, fault.Forbidden) {
			t.Errorf("a person: %v", err)
		}
		for name, table := range map[string]string{"a record": "audit_entry", "policies": "policy"} {
			e.Exec(`ALTER TABLE ` + table + ` RENAME TO away`)
			fresh := assembleOn(e.DB, e.audit.Log, e.sealer)
			if got, err := fresh.decisions.CheckApproved(t.Context(), e.agent, q); err == nil {
				t.Errorf("without %s: %+v", name, got)
			}
			e.Exec(`ALTER TABLE away RENAME TO ` + table)
		}
		nameless := decisionsOn(e.areas, approval.New(e.DB, e.audit.Log, approval.Sources{
			Approvers: organization.CountApprovers, Role: organization.RoleOf, Digest: e.digest,
		}))
		if got, err := nameless.CheckApproved(t.Context(), e.agent, q); err == nil {
			t.Errorf("without an approver: %+v", got)
		}
		e.Pass(approval.GrantLife)
		if got := e.released(q); got != nil {
			t.Errorf("its time is over: %+v", got)
		}
	})
}

// TestAnApprovalOfUnseenArguments is for the tool, person and amount that the client names, once, and says that nobody
// has seen the arguments; no decision about a call uses it.
func TestAnApprovalOfUnseenArguments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.holdsEverything()
		asked, _ := e.ask(approval.Asked{Tool: "pay", Domain: "bank", Amount: amount(5), Email: "u@example.org"})
		if asked.ArgumentsFrom != decision.FromNowhere {
			t.Errorf("its arguments are from %q", asked.ArgumentsFrom)
		}
		words, err := asked.Permits(approval.Scope{})
		if err != nil || !strings.Contains(words, "nobody has seen them") {
			t.Errorf("%q, %v", words, err)
		}
		e.approve(bob, asked.ID, approval.Approval{})
		for _, arguments := range []string{`{}`, `{"amount":5}`} {
			r := call("bank", "pay", arguments)
			r.UserEmail = "u@example.org"
			if got := e.decide(r); got.Allowed() || got.ApprovalID == asked.ID {
				t.Errorf("a decision uses it: %+v", got)
			} else if _, err := e.approvals.Cancel(t.Context(), e.agent, got.ApprovalID); err != nil {
				t.Fatal(err)
			}
		}
		question := approval.Question{Tool: "pay", Amount: 5, Email: "u@example.org"}
		got := e.released(question)
		if got == nil || got.Request.ID != asked.ID {
			t.Fatalf("released %+v", got)
		}
		if r := e.lastRecord(); r.ID != got.DecisionID || r.ArgumentsFrom != decision.FromNowhere || !r.Incomplete {
			t.Errorf("recorded %+v", r)
		}
		if again := e.released(question); again != nil {
			t.Errorf("released twice: %+v", again)
		}
		e.verified()
	})
}

// TestReleasedOnce, however many ask at once.
func TestReleasedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.holdsEverything()
		for range 20 {
			r, _ := e.ask(approval.Asked{Tool: "pay", Amount: amount(7)})
			e.approve(bob, r.ID, approval.Approval{})
			var yeses atomic.Int64
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					got, err := e.decisions.CheckApproved(t.Context(), e.agent, approval.Question{
						Tool: "pay", Amount: 7,
					})
					if err != nil {
						t.Error(err)
					}
					if got != nil {
						yeses.Add(1)
					}
				})
			}
			if all.Wait(); yeses.Load() != 1 {
				t.Fatalf("released %d times", yeses.Load())
			}
		}
	})
}

// TestNoDenyIsLiftedWithoutArguments: not where policies deny the tool, and not
// where they may do so by now.
func TestNoDenyIsLiftedWithoutArguments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("no", asksMeanwhile, `id: denied; effect: deny; tools: ["*.denied"]`)
		bob := e.holdsEverything()
		for _, tool := range []string{"denied", "pay"} {
			r, _ := e.ask(approval.Asked{Tool: tool, Arguments: []byte(`{}`), Amount: amount(7)})
			e.approve(bob, r.ID, approval.Approval{})
		}
		if got := e.released(approval.Question{Tool: "denied", Amount: 7}); got != nil {
			t.Errorf("a denied tool: %+v", got)
		}
		change := func() {
			if _, err := e.approvals.SetSettings(t.Context(), e.owner, approval.DefaultSettings()); err != nil {
				t.Error(err)
			}
		}
		e.meanwhile.do.Store(&change)
		q := approval.Question{Tool: "pay", Amount: 7}
		if got := e.released(q); got != nil || e.meanwhile.do.Load() != nil {
			t.Errorf("overtaken: %+v", got)
		}
		if got := e.released(q); got == nil {
			t.Error("the next question is not answered")
		}
	})
}

// TestCheckApprovedKeepsToTheServer that the question names.
func TestCheckApprovedKeepsToTheServer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.holdsEverything()
		r, _ := e.ask(approval.Asked{Tool: "delete", Domain: "drafts", Amount: amount(0)})
		e.approve(bob, r.ID, approval.Approval{})
		for _, tool := range []string{"files__delete", "mcp__files__delete"} {
			if got := e.released(approval.Question{Tool: tool}); got != nil {
				t.Errorf("%s by a yes to %s.%s", tool, got.Request.Server, got.Request.Tool)
			}
		}
		if e.released(approval.Question{Tool: "mcp__drafts__delete"}) == nil {
			t.Error("the server that was approved")
		}
	})
}

// TestCheckApprovedJudgesEverySpelling: nobody stores how the approved call was spelled, so that a rule about any
// reading of its names counts, as it would for a decision.
func TestCheckApprovedJudgesEverySpelling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, server, called, denied string
		want                         bool
	}{
		{"no rule", "my_bank", "mcp_my_bank_pay", "other.pay", true},
		{"a joined name", "my_bank", "mcp_my_bank_pay", "my.bank_pay", false},
		{"a joined name of Claude Code", "my__bank", "mcp__my__bank__pay", "my.bank__pay", false},
		{"a tool without a server", "bank", "bank.pay", "local.bank.pay", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				bob := e.holdsEverything()
				e.knowServers(c.server)
				held := e.decide(from("", "u@example.org", "", call("", c.called, `{}`)))
				want(t, held, verdict.Hold, "rules", "")
				e.ask(approval.Asked{
					Tool: "pay", Domain: c.server, Arguments: []byte(`{}`),
					Amount: amount(5), Email: "u@example.org",
				})
				e.approve(bob, held.ApprovalID, approval.Approval{})
				e.active("denies", `id: denied; effect: deny; tools: ["`+c.denied+`"]`)
				got := e.released(approval.Question{Tool: c.called, Amount: 5, Email: "u@example.org"})
				if released := got != nil; released != c.want {
					t.Errorf("%s, with %s denied: released %t", c.called, c.denied, released)
				}
				if decided := e.decide(from("", "u@example.org", "", call("", c.called, `{}`))); !c.want &&
					decided.Verdict != verdict.Deny {
					t.Errorf("%s, with %s denied: decided %s", c.called, c.denied, decided.Verdict)
				}
			})
		})
	}
}
