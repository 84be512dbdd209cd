package enforcement_test

import (
	"testing"

	"writ/internal/approval"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/verdict"
)

// reanchor puts another plan in the place of one.
func (e *env) reanchor(shown plan.Presented, text string, widening intent.Widening) intent.Reanchored {
	e.T.Helper()
	done, err := e.plans.Reanchor(e.T.Context(), e.agent, intent.ReanchorRequest{
		PlanID: shown.PlanID, Plan: []byte(text), Widening: widening,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return done
}

// TestAnApprovedStepIsOfItsVersion: a yes to a step is for the step as it was, not for what a later version of the plan
// has in its place.
func TestAnApprovedStepIsOfItsVersion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, allowAll)
		shown := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank","metadata":{"inputs":{"amount":10}}}]}`)
		held := e.verify(shown, "pay")
		e.approve(bob, held.ApprovalID, approval.Approval{})
		e.reanchor(shown,
			`{"steps":[{"action":"pay","mcp":"bank","metadata":{"inputs":{"amount":99999,"to":"mallory"}}}]}`,
			intent.HoldWidening)
		again := e.verify(shown, "pay")
		if again.Verdict != verdict.Hold || again.ApprovalID == held.ApprovalID {
			t.Errorf("%v by approval %s, which was %s", again.Verdict, again.ApprovalID, held.ApprovalID)
		}
		e.approve(bob, again.ApprovalID, approval.Approval{})
		if last := e.verify(shown, "pay"); last.Verdict != verdict.Allow {
			t.Errorf("with a yes to the new version: %v, %s", last.Verdict, last.Reason)
		}
	})
}

// TestAGrantIsNotReleasedToAnotherVersion: whether the plan still permits the call, only a decision can tell.
func TestAGrantIsNotReleasedToAnotherVersion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, allowAll)
		shown := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank"},{"action":"read","mcp":"fs"}]}`)
		r := planned(shown, "pay", `{"amount":5}`)
		r.Server, r.UserEmail = "bank", "u@example.org"
		held := e.decide(r)
		asked, _ := e.ask(approval.Asked{
			Tool:      "pay",
			Domain:    "bank",
			Arguments: []byte(`{"amount":5}`),
			Amount:    amount(5),
			Email:     "u@example.org",
		})
		if asked.ID != held.ApprovalID {
			t.Fatalf("another request was opened: %s, %s", asked.ID, held.ApprovalID)
		}
		e.approve(bob, held.ApprovalID, approval.Approval{})
		e.reanchor(shown, `{"steps":[{"action":"read","mcp":"fs"}]}`, intent.HoldWidening)
		if e.released(approval.Question{Tool: "pay", Amount: 5, Email: "u@example.org"}) != nil {
			t.Error("the grant was released")
		}
	})
}

// TestAnApprovalOfAPlanIsOfItsVersion: nobody agreed to steps that were added later, whoever may add them.
func TestAnApprovalOfAPlanIsOfItsVersion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", `id: all; effect: hold; tools: ["*"]`)
		shown := e.mint(e.agent, `{"steps":[{"action":"read","mcp":"fs"}]}`)
		held := e.decide(planned(shown, "read", `{}`))
		e.approve(bob, held.ApprovalID, approval.Approval{Scope: approval.Scope{Kind: approval.Plan}})
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Allow, "", "")
		e.reanchor(shown, `{"steps":[{"action":"read","mcp":"fs"},{"action":"pay","mcp":"bank"}]}`, intent.AllowWidening)
		want(t, e.decide(planned(shown, "pay", `{"amount":1000000}`)), verdict.Hold, "", "")
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Hold, "", "")
	})
}
