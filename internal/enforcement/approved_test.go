package enforcement_test

import (
	"testing"

	"writ/internal/approval"
	"writ/internal/intent/plan"
	"writ/internal/testenv"
)

// TestAnApprovalIsGivenOutAsADecisionWouldUseIt: a client that asks without arguments
// gets no yes where enforce would not give it, because policies changed since.
func TestAnApprovalIsGivenOutAsADecisionWouldUseIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay)
		five, email := 5.0, "u@example.org"
		e.say(e.decide(from("", email, "", call("bank", "pay", `{"amount":5}`))), approval.Approval{})
		asked := approval.Asked{
			Tool:      "pay",
			Domain:    "bank",
			Arguments: []byte(`{"amount":7}`),
			Amount:    &five,
			Email:     email,
		}
		r, _, err := e.approvals.Ask(t.Context(), e.agent, asked)
		if err != nil {
			t.Fatal(err)
		}
		e.Pass(approval.GrantLife) // of the first, so that only one can be meant
		if _, err := e.approvals.Approve(t.Context(), testenv.Person(e.bob, e.acme, "approver"), r.ID,
			approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		question := approval.Question{Tool: "pay", Amount: 5, Email: email}
		for name, rule := range map[string]string{
			"two must say yes":    `id: r; effect: hold; tools: ["bank.pay"]; when: args.amount > 6; approvers: {role: approver, count: 2}`,
			"an admin must":       `id: r; effect: hold; tools: ["bank.pay"]; when: args.amount > 6; approvers: {role: admin, count: 1}`,
			"such are denied":     `id: r; effect: deny; tools: ["bank.pay"]; when: args.amount > 6`,
			"nobody may any more": `id: r; effect: deny; tools: ["bank.*"]`,
			"calls are counted":   `id: r; effect: deny; tools: ["bank.pay"]; limit: {calls: 9, per: 1h, by: org}`,
		} {
			changed := e.active("changed", rule)
			if given, err := e.decisions.CheckApproved(t.Context(), e.agent, question); err != nil || given != nil {
				t.Errorf("%s: given out: %+v, %v", name, given, err)
			}
			if _, err := e.policies.Deactivate(t.Context(), e.owner, changed.ID); err != nil {
				t.Fatal(err)
			}
			if err := e.policies.Delete(t.Context(), e.owner, changed.ID); err != nil {
				t.Fatal(err)
			}
		}
		e.active("elsewhere", `id: r; effect: deny; tools: ["bank.pay"]; when: args.amount > 8`)
		if given, err := e.decisions.CheckApproved(t.Context(), e.agent, question); err != nil || given == nil {
			t.Errorf("nothing forbids it: %+v, %v", given, err)
		}
	})
}

// TestNobodyIsAskedBlindlyForMore: a client that tells no arguments does not get by
// with one yes where a rule about the tool may want two.
func TestNobodyIsAskedBlindlyForMore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay,
			`id: large; effect: hold; tools: ["bank.pay"]; when: args.amount > 1000; approvers: {role: approver, count: 2}`)
		five := 5.0
		r, _, err := e.approvals.Ask(t.Context(), e.agent, approval.Asked{Tool: "pay", Domain: "bank", Amount: &five})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.approvals.Approve(t.Context(), testenv.Person(e.bob, e.acme, "approver"), r.ID,
			approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		if given, err := e.decisions.CheckApproved(t.Context(), e.agent, approval.Question{
			Tool: "pay", Amount: 5,
		}); err != nil || given != nil {
			t.Errorf("given out: %+v, %v", given, err)
		}
	})
}

// TestAnEndedPlanGivesNothingOut, nor one that counts its calls: only a decision does.
func TestAnEndedPlanGivesNothingOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay)
		five := 5.0
		for name, text := range map[string]string{
			"ended":   `{"steps":[{"action":"pay","mcp":"bank"}]}`,
			"counted": `{"steps":[{"action":"pay","mcp":"bank","max_calls":3}]}`,
		} {
			shown := e.mint(e.agent, text)
			held := e.decide(planned(shown, "pay", `{}`))
			if _, _, err := e.approvals.Ask(t.Context(), e.agent, approval.Asked{
				Tool:      "pay",
				Domain:    "bank",
				Arguments: []byte(`{}`),
				Amount:    &five,
				PlanID:    shown.PlanID,
			}); err != nil {
				t.Fatal(err)
			}
			e.say(held, approval.Approval{})
			if name == "ended" {
				if _, err := e.plans.SetStatus(t.Context(), e.agent, shown.PlanID, plan.Completed); err != nil {
					t.Fatal(err)
				}
			}
			if given, err := e.decisions.CheckApproved(t.Context(), e.agent, approval.Question{
				Tool: "pay", Amount: 5,
			}); err != nil || given != nil {
				t.Errorf("%s: given out: %+v, %v", name, given, err)
			}
			e.Pass(approval.GrantLife)
		}
	})
}
