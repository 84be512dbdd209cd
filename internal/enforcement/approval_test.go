package enforcement_test

import (
	"strings"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

func (e *env) approver() principal.Principal {
	e.Member(e.acme, e.bob, principal.Approver)
	return testenv.Person(e.bob, e.acme, principal.Approver)
}

const holdPay = `id: pay; effect: hold; tools: ["bank.pay"]; message: Payments need a person.`

// TestAGrantIsUsedOnce: after a yes exactly one of many calls runs, and only the
// very call that was approved.
func TestAGrantIsUsedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, allowAll)
		pay := call("bank", "pay", `{"amount":5,"to":"x"}`)
		held := e.decide(pay)
		want(t, held, verdict.Hold, "rules", "held for approval by rule pay")
		if held.Message != "Payments need a person." {
			t.Errorf("message %q", held.Message)
		}
		for range 3 {
			if again := e.decide(call("bank", "pay",
				`{"to":"x","amount":5.0}`)); again.ApprovalID != held.ApprovalID || again.Verdict != verdict.Hold {
				t.Errorf("polling: %+v", again)
			}
		}
		answer := approval.Approval{Note: "fine"}
		if _, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, answer); err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]enforcement.Request{
			"another amount": call("bank", "pay", `{"amount":6,"to":"x"}`),
			"one more":       call("bank", "pay", `{"amount":5,"to":"x","now":true}`),
			"text":           call("bank", "pay", `{"amount":"5","to":"x"}`),
		} {
			if got := e.decide(r); got.Verdict != verdict.Hold || got.ApprovalID == held.ApprovalID {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got := e.decisions.Decide(t.Context(), e.other, pay); got.Verdict != verdict.Hold ||
			got.ApprovalID == held.ApprovalID {
			t.Errorf("another key: %+v", got)
		}
		answers := e.together(50, func(int) enforcement.Request { return pay }, e.decisions)
		if n := allowed(answers); n != 1 {
			t.Errorf("%d calls ran on one approval", n)
		}
		for _, a := range answers {
			if a.Allowed() {
				want(t, a, verdict.Allow, policy.ByApproval, "approved, once")
				if a.ApprovalID != held.ApprovalID {
					t.Errorf("allowed by %s", a.ApprovalID)
				}
			} else if a.ApprovalID == held.ApprovalID || a.ApprovalID != answers[firstHeld(answers)].ApprovalID {
				t.Errorf("held: %+v", a)
			}
		}
		if n := e.count(`approval_grant WHERE used_at IS NOT NULL AND decision_id <> ''`); n != 1 {
			t.Errorf("%d grants used", n)
		}
		e.verified()
	})
}

func firstHeld(answers []enforcement.Answer) int {
	for i, a := range answers {
		if a.Verdict == verdict.Hold {
			return i
		}
	}
	return 0
}

func TestAnswersOfApprovers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, allowAll)
		pay := call("bank", "pay", `{}`)

		held := e.decide(pay)
		if _, err := e.approvals.Reject(t.Context(), bob, held.ApprovalID, "not today"); err != nil {
			t.Fatal(err)
		}
		got := e.decide(pay)
		want(t, got, verdict.Deny, policy.ByApproval, "an approver said no: not today")
		if got.ApprovalID != held.ApprovalID {
			t.Errorf("rejected: %+v", got)
		}
		e.Pass(approval.PendingLife)
		next := e.decide(pay)
		if want(t, next, verdict.Hold, "rules", ""); next.ApprovalID == held.ApprovalID {
			t.Error("an expired rejection is asked again")
		}
		e.Pass(approval.PendingLife)
		if _, err := e.approvals.Approve(t.Context(), bob, next.ApprovalID, approval.Approval{}); err == nil {
			t.Error("an expired request was approved")
		}
		third := e.decide(pay)
		if third.ApprovalID == next.ApprovalID {
			t.Error("an expired request is still waited for")
		}
		if _, err := e.approvals.Approve(t.Context(), bob, third.ApprovalID, approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		e.Pass(approval.GrantLife)
		if got := e.decide(pay); got.Verdict != verdict.Hold || got.ApprovalID == third.ApprovalID {
			t.Errorf("a grant whose time is over: %+v", got)
		}
	})
}

// TestAGrantLiftsNoDeny: what a rule denies, or the plan does not hold, no
// approval allows; and it is not used up.
func TestAGrantLiftsNoDeny(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, allowAll)
		shown := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank","max_calls":1}]}`)
		for _, args := range []string{`{}`, `{"n":2}`} {
			held := e.decide(planned(shown, "pay", args))
			if _, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, approval.Approval{}); err != nil {
				t.Fatal(err)
			}
		}
		stop := e.active("stop", `id: stop; effect: deny; tools: ["bank.*"]`)
		want(t, e.decide(planned(shown, "pay", `{}`)), verdict.Deny, "stop", "")
		if _, err := e.policies.Deactivate(t.Context(), e.owner, stop.ID); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(planned(shown, "pay", `{}`)), verdict.Allow, policy.ByApproval, "")

		want(t, e.decide(planned(shown, "pay", `{"n":2}`)), verdict.Deny, policy.ByIntent, "used up")
		if n := e.count(`approval_grant WHERE used_at IS NULL`); n != 1 {
			t.Errorf("%d grants left", n)
		}
	})
}

// TestAStricterRuleNeedsItsOwnApproval: a yes counts for what was asked.
func TestAStricterRuleNeedsItsOwnApproval(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", `id: sure; effect: ask; tools: ["bank.pay"]`, allowAll)
		pay := call("bank", "pay", `{}`)
		asked := e.decide(pay)
		want(t, asked, verdict.Ask, "rules", "")
		if _, err := e.approvals.Approve(t.Context(), bob, asked.ApprovalID, approval.Approval{}); err == nil {
			t.Error("an approver answered what was asked of the owner")
		}
		if _, err := e.approvals.Approve(t.Context(), e.owner, asked.ApprovalID, approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		e.active("stricter", `id: two; effect: hold; tools: ["bank.pay"]; approvers: {role: approver, count: 2}`)
		held := e.decide(pay)
		if held.Verdict != verdict.Hold || held.Approvers == nil || held.Approvers.Count != 2 {
			t.Fatalf("held: %+v", held)
		}
		if r, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, approval.Approval{}); err != nil ||
			r.Status != approval.Pending {
			t.Fatalf("the first of two: %+v, %v", r, err)
		}
		want(t, e.decide(pay), verdict.Hold, "", "")
		if _, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, approval.Approval{}); err == nil {
			t.Error("one person counted twice")
		}
		carol := testenv.Person(e.User("carol@example.org"), e.acme, principal.Admin)
		e.Member(e.acme, carol.UserID, principal.Admin)
		if r, err := e.approvals.Approve(t.Context(), carol, held.ApprovalID, approval.Approval{}); err != nil ||
			r.Status != approval.Approved {
			t.Fatalf("the second of two: %+v, %v", r, err)
		}
		want(t, e.decide(pay), verdict.Allow, policy.ByApproval, "")
	})
}

// TestPlanAndEmailTellRequestsApart where both are stated.
func TestPlanAndEmailTellRequestsApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", holdPay)
		plain := `{"steps":[{"action":"pay","mcp":"bank"}]}`
		first, second := e.mint(e.agent, plain),
			e.mint(e.agent, plain, func(r *intent.Request) { r.ContextID = "other" })
		ids := map[string]string{}
		for name, r := range map[string]enforcement.Request{
			"first": planned(first, "pay", `{}`), "second": planned(second, "pay", `{}`),
		} {
			ids[name] = e.decide(r).ApprovalID
		}
		if ids["first"] == ids["second"] || ids["first"] == "" {
			t.Errorf("two plans: %v", ids)
		}
		mail := func(address string) string {
			r := call("bank", "pay", `{"n":1}`)
			r.UserEmail = address
			return e.decide(r).ApprovalID
		}
		if a, b := mail("a@example.org"), mail("b@example.org"); a == b || a == "" || mail("A@example.org") != a {
			t.Errorf("two people: %s, %s", a, b)
		}
	})
}

func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", holdPay)
		held := e.decide(call("bank", "pay", `{}`))
		e.Exec(`INSERT INTO approval_request (id, org_id, key_id, owner_id, kind, server, tool, digest, arguments, user_id, email, agent_id, session_id, plan_id,
			policy_id, policy_version, rule, reason, message, role, needed, status, note, self_approved, created_at, expires_at)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
			SELECT r.id || i, org_id, key_id, owner_id, kind, server, tool || i, digest, arguments, user_id, email, agent_id, session_id, plan_id,
			policy_id, policy_version, rule, reason, message, role, needed, status, note, self_approved, created_at, expires_at FROM approval_request r, n`, approval.MaxPending-1)
		got := e.decide(call("bank", "pay", `{"n":1}`))
		want(t, got, verdict.Deny, policy.ByApproval, "wait")
		if again := e.decide(call("bank", "pay", `{}`)); again.ApprovalID != held.ApprovalID {
			t.Errorf("a repeat is refused: %+v", again)
		}
		e.Pass(approval.PendingLife)
		if err := e.approvals.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := e.count(`approval_request WHERE status = 'expired'`); n != approval.MaxPending {
			t.Errorf("%d expired", n)
		}
		want(t, e.decide(call("bank", "pay", `{"n":1}`)), verdict.Hold, "", "")
	})
}

// TestApprovedMeanwhile: a yes that comes between judging and recording counts.
func TestApprovedMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", asksMeanwhile, holdPay)
		held := e.decide(call("bank", "pay", `{}`))
		yes := func() {
			if _, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, approval.Approval{}); err != nil {
				t.Error(err)
			}
		}
		e.meanwhile.do.Store(&yes)
		want(t, e.decide(call("bank", "pay", `{}`)), verdict.Allow, policy.ByApproval, "")
	})
}

func TestHoldsTakeNoLimit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, `id: pace; effect: deny; tools: ["bank.*"]; limit: {calls: 1, per: 24h, by: org}`)
		pay := call("bank", "pay", `{}`)
		var held enforcement.Answer
		for range 3 {
			held = e.decide(pay)
			want(t, held, verdict.Hold, "rules", "")
		}
		if n := e.count("limit_use"); n != 0 {
			t.Errorf("%d counters", n)
		}
		if _, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, approval.Approval{
			Note: strings.Repeat("n", 1000),
		}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(pay), verdict.Allow, policy.ByApproval, "")
		e.Pass(time.Minute)
		want(t, e.decide(pay), verdict.Deny, "rules", "its limit of 1 calls is spent")
	})
}

// TestAnApprovalGivenOutIsADecision: a client that asks without arguments and is
// told yes runs the call on our word, so that this is recorded as any decision is,
// and no decision uses the approval again.
func TestAnApprovalGivenOutIsADecision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay)
		shown := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank"}]}`)
		pay := planned(shown, "pay", `{"amount":5}`)
		held, five := e.decide(pay), 5.0
		asked := approval.Asked{
			Tool:      "pay",
			Domain:    "bank",
			Arguments: []byte(`{"amount":5.0}`),
			Amount:    &five,
			Email:     "u@example.org",
			PlanID:    held.PlanID,
		}
		if r, opened, err := e.approvals.Ask(t.Context(), e.agent, asked); err != nil || opened ||
			r.ID != held.ApprovalID {
			t.Fatalf("asked: %+v, %t, %v", r, opened, err)
		}
		e.say(held, approval.Approval{})
		question := approval.Question{Tool: "pay", Amount: 5, Email: "u@example.org"}
		stop := e.active("stop", `id: stop; effect: deny; tools: ["bank.*"]`)
		if given, err := e.decisions.CheckApproved(t.Context(), e.agent, question); err != nil || given != nil {
			t.Fatalf("given out against a rule: %+v, %v", given, err)
		}
		if _, err := e.policies.Deactivate(t.Context(), e.owner, stop.ID); err != nil {
			t.Fatal(err)
		}
		given, err := e.decisions.CheckApproved(t.Context(), e.agent, question)
		if err != nil || given == nil || given.Request.ID != held.ApprovalID ||
			given.ApproverEmail != "bob@example.org" {
			t.Fatalf("given out: %+v, %v", given, err)
		}
		rows, err := decision.Read(t.Context(), e.DB, e.acme, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		last := rows[len(rows)-1]
		if last.ID != given.DecisionID || last.Verdict != verdict.Allow || last.PolicyID != policy.ByApproval ||
			last.Details.ApprovalID != held.ApprovalID ||
			last.PlanID != held.PlanID || last.KeyID != e.agent.KeyID || len(last.Digest) == 0 {
			t.Errorf("recorded: %+v", last)
		}
		if again := e.decide(pay); again.Verdict != verdict.Hold || again.ApprovalID == held.ApprovalID {
			t.Errorf("used a second time: %+v", again)
		}
		e.verified()
	})
}
