package enforcement_test

import (
	"testing"

	"writ/internal/approval"
	"writ/internal/intent"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// TestAYesForThePlanIsNotForWhatIsAddedToIt: steps that widen a plan under way wait
// for a yes of their own, and who is asked is told.
func TestAYesForThePlanIsNotForWhatIsAddedToIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, allowAll)
		in := func(r *intent.Request) { r.ContextID = "work" }
		e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank"}]}`, in)
		wider := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank"},{"action":"wipe","mcp":"disk"}]}`, in)
		e.say(e.decide(planned(wider, "pay", `{}`)), approval.Approval{Scope: approval.Scope{Kind: approval.Plan}})
		want(t, e.decide(planned(wider, "pay", `{"n":2}`)), verdict.Allow, policy.ByApproval, "")
		added := e.decide(planned(wider, "wipe", `{}`))
		want(t, added, verdict.Hold, policy.ByIntent, "")
		r, err := e.approvals.Get(t.Context(), testenv.Person(e.bob, e.acme, principal.Approver), added.ApprovalID)
		if err != nil {
			t.Fatal(err)
		}
		outside := false
		for _, reason := range r.Risk.Reasons {
			outside = outside || reason.Code == "outside_plan"
		}
		if !outside {
			t.Errorf("the approver is not told that the step was added: %+v", r.Risk.Reasons)
		}
	})
}

// TestTheUserOfThePlanIsWhoAsks: a plan that was declared for a person says whom
// its calls are for, where they do not.
func TestTheUserOfThePlanIsWhoAsks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.Member(e.acme, e.User("carol@example.org"), principal.Approver)
		e.active("rules", holdPay)
		shown := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank"}]}`, func(r *intent.Request) {
			r.UserID = "Bob@example.org"
		})
		held := e.decide(planned(shown, "pay", `{}`))
		if _, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, approval.Approval{}); err == nil {
			t.Error("the person the plan was declared for approved its call")
		}
	})
}
