package enforcement_test

import (
	"testing"

	"writ/internal/approval"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// TestAYesServesNobodyElse: a yes to one call is not used by another agent or user
// of the same key, and not for another rule than the one that was asked about.
func TestAYesServesNobodyElse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, allowAll)
		pay := func(agent, user string) enforcement.Request {
			r := call("bank", "pay", `{"n":1}`)
			r.AgentID, r.UserID = agent, user
			return r
		}
		held := e.decide(pay("billing", "ada"))
		e.say(held, approval.Approval{})
		for name, r := range map[string]enforcement.Request{
			"another agent": pay("crawler", "ada"), "no agent": pay("", "ada"), "another user": pay("billing", "eve"),
			"no user": pay("billing", ""),
		} {
			if got := e.decide(r); got.Verdict != verdict.Hold || got.ApprovalID == held.ApprovalID {
				t.Errorf("%s: %s by request %s", name, got.Verdict, got.ApprovalID)
			}
		}
		want(t, e.decide(pay("billing", "ADA")), verdict.Allow, policy.ByApproval, "approved, once")
	})
}

// TestAYesToOneRuleLiftsNoOther, even where both want the same of approvers: who
// said yes was told of one reason, and not of the other.
func TestAYesToOneRuleLiftsNoOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		rules := e.active("rules", holdPay)
		pay := call("bank", "pay", `{}`)
		held := e.decide(pay)
		e.say(held, approval.Approval{})
		e.active("other", `id: frozen; effect: hold; tools: ["bank.*"]`)
		if _, err := e.policies.Deactivate(t.Context(), e.owner, rules.ID); err != nil {
			t.Fatal(err)
		}
		if got := e.decide(pay); got.Verdict != verdict.Hold || got.ApprovalID == held.ApprovalID {
			t.Errorf("%s by request %s", got.Verdict, got.ApprovalID)
		}
	})
}

// TestANoIsNotEscaped: what a person said no to stays denied under a new plan, as
// another agent, in another session, in another spelling, and where a rule now
// wants more; another person's call is another one.
func TestANoIsNotEscaped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, `id: upper; effect: hold; tools: ["bank.PAY"]`, allowAll)
		plain := `{"steps":[{"action":"pay","mcp":"bank"}]}`
		first := e.mint(e.agent, plain)
		for i := range 25 { // as many as could hide the one that was answered
			other := planned(e.mint(e.agent, plain, func(r *intent.Request) { r.ContextID = string(rune('a' + i)) }),
				"pay", `{}`)
			other.UserEmail = string(rune('a'+i)) + "@example.org"
			want(t, e.decide(other), verdict.Hold, "rules", "")
		}
		asks := from("a", "u@example.org", "s", planned(first, "pay", `{}`))
		held := e.decide(asks)
		if _, err := e.approvals.Reject(t.Context(), bob, held.ApprovalID, "no"); err != nil {
			t.Fatal(err)
		}
		second := e.mint(e.agent, plain, func(r *intent.Request) { r.ContextID = "again" })
		tries := map[string]enforcement.Request{
			"the same":         asks,
			"a new plan":       from("a", "u@example.org", "s", planned(second, "pay", `{}`)),
			"another agent":    from("b", "u@example.org", "s", planned(second, "pay", `{}`)),
			"another session":  from("a", "u@example.org", "s2", planned(second, "pay", `{}`)),
			"nobody":           planned(second, "pay", `{}`),
			"another spelling": from("a", "u@example.org", "s", planned(second, "PAY", `{}`)),
			"a longer name":    from("a", "u@example.org", "s", call("bank", "mcp__bank__pay", `{}`)),
		}
		for name, r := range tries {
			if got := e.decide(r); got.Verdict != verdict.Deny || got.ApprovalID != held.ApprovalID {
				t.Errorf("%s: %s, %s", name, got.Verdict, got.Reason)
			}
		}
		asked := approval.Asked{
			Tool:      "pay",
			Domain:    "bank",
			Arguments: []byte(`{}`),
			Email:     "u@example.org",
			PlanID:    second.PlanID,
		}
		if r, opened, err := e.approvals.Ask(t.Context(), e.agent, asked); err != nil || opened ||
			r.Status != approval.Rejected {
			t.Errorf("a client asks again: %s, opened %t, %v", r.Status, opened, err)
		}
		want(t, e.decide(from("a", "v@example.org", "s", planned(second, "pay", `{}`))), verdict.Hold, "rules", "")
		e.active("more", `id: two; effect: hold; tools: ["bank.pay"]; approvers: {role: approver, count: 2}`)
		want(t, e.decide(tries["a new plan"]), verdict.Deny, policy.ByApproval, "an approver said no")
		if got := e.decisions.Decide(t.Context(), e.other, call("bank", "pay", `{}`)); got.Verdict != verdict.Hold {
			t.Errorf("another key: %s", got.Verdict)
		}
	})
}
