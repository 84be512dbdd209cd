package enforcement_test

import (
	"testing"

	"writ/internal/approval"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// TestACallThatCannotRunAsksNobody: where the plan's step is used up, or it is not
// its turn, a yes would be of no use, so that no person is asked for one.
func TestACallThatCannotRunAsksNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.approver()
		w.active("rules", holdPay, allowAll)
		once := w.mint(w.agent, `{"steps":[{"action":"pay","mcp":"bank","max_calls":1}]}`)
		w.say(w.decide(planned(once, "pay", `{}`)), approval.Approval{})
		want(t, w.decide(planned(once, "pay", `{}`)), verdict.Allow, policy.ByApproval, "")
		requests := w.count("approval_request")
		want(t, w.decide(planned(once, "pay", `{}`)), verdict.Deny, policy.ByIntent, "used up")

		ordered := w.mint(w.agent,
			`{"ordered":true,"steps":[{"action":"read","mcp":"fs"},{"action":"pay","mcp":"bank","max_calls":1}]}`)
		want(t, w.decide(planned(ordered, "pay", `{}`)), verdict.Deny, policy.ByIntent, "comes before")
		if n := w.count("approval_request"); n != requests {
			t.Errorf("%d requests were opened for calls that cannot run", n-requests)
		}
		want(t, w.decide(planned(ordered, "read", `{}`)), verdict.Allow, "", "")
		want(t, w.decide(planned(ordered, "pay", `{}`)), verdict.Hold, "rules", "")
	})
}
