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
	each(t, func(t *testing.T, w *world) {
		w.approver()
		w.active("rules", holdPay, allowAll)
		pay := func(agent, user string) enforcement.Request {
			r := call("bank", "pay", `{"n":1}`)
			r.AgentID, r.UserID = agent, user
			return r
		}
		held := w.decide(pay("billing", "ada"))
		w.say(held, approval.Approval{})
		for name, r := range map[string]enforcement.Request{
			"another agent": pay("crawler", "ada"), "no agent": pay("", "ada"), "another user": pay("billing", "eve"),
			"no user": pay("billing", ""),
		} {
			if got := w.decide(r); got.Verdict != verdict.Hold || got.ApprovalID == held.ApprovalID {
				t.Errorf("%s: %s by request %s", name, got.Verdict, got.ApprovalID)
			}
		}
		want(t, w.decide(pay("billing", "ADA")), verdict.Allow, policy.ByApproval, "approved, once")
	})
}

// TestAYesToOneRuleLiftsNoOther, even where both want the same of approvers: who
// said yes was told of one reason, and not of the other.
func TestAYesToOneRuleLiftsNoOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.approver()
		rules := w.active("rules", holdPay)
		pay := call("bank", "pay", `{}`)
		held := w.decide(pay)
		w.say(held, approval.Approval{})
		w.active("other", `id: frozen; effect: hold; tools: ["bank.*"]`)
		if _, err := w.policies.Deactivate(t.Context(), w.owner, rules.ID); err != nil {
			t.Fatal(err)
		}
		if got := w.decide(pay); got.Verdict != verdict.Hold || got.ApprovalID == held.ApprovalID {
			t.Errorf("%s by request %s", got.Verdict, got.ApprovalID)
		}
	})
}

// TestANoIsNotEscaped: what a person said no to stays denied under a new plan, as
// another agent, in another session, in another spelling, and where a rule now
// wants more; another person's call is another one.
func TestANoIsNotEscaped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.approver()
		w.active("rules", holdPay, `id: upper; effect: hold; tools: ["bank.PAY"]`, allowAll)
		plain := `{"steps":[{"action":"pay","mcp":"bank"}]}`
		first := w.mint(w.agent, plain)
		for i := range 25 { // as many as could hide the one that was answered
			other := planned(w.mint(w.agent, plain, func(r *intent.Request) { r.ContextID = string(rune('a' + i)) }),
				"pay", `{}`)
			other.UserEmail = string(rune('a'+i)) + "@example.org"
			want(t, w.decide(other), verdict.Hold, "rules", "")
		}
		asks := from("a", "u@example.org", "s", planned(first, "pay", `{}`))
		held := w.decide(asks)
		if _, err := w.approvals.Reject(t.Context(), bob, held.ApprovalID, "no"); err != nil {
			t.Fatal(err)
		}
		second := w.mint(w.agent, plain, func(r *intent.Request) { r.ContextID = "again" })
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
			if got := w.decide(r); got.Verdict != verdict.Deny || got.ApprovalID != held.ApprovalID {
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
		if r, opened, err := w.approvals.Ask(t.Context(), w.agent, asked); err != nil || opened ||
			r.Status != approval.Rejected {
			t.Errorf("a client asks again: %s, opened %t, %v", r.Status, opened, err)
		}
		want(t, w.decide(from("a", "v@example.org", "s", planned(second, "pay", `{}`))), verdict.Hold, "rules", "")
		w.active("more", `id: two; effect: hold; tools: ["bank.pay"]; approvers: {role: approver, count: 2}`)
		want(t, w.decide(tries["a new plan"]), verdict.Deny, policy.ByApproval, "an approver said no")
		if got := w.decisions.Decide(t.Context(), w.other, call("bank", "pay", `{}`)); got.Verdict != verdict.Hold {
			t.Errorf("another key: %s", got.Verdict)
		}
	})
}
