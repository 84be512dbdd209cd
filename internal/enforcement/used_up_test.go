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
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, allowAll)
		once := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank","max_calls":1}]}`)
		e.say(e.decide(planned(once, "pay", `{}`)), approval.Approval{})
		want(t, e.decide(planned(once, "pay", `{}`)), verdict.Allow, policy.ByApproval, "")
		requests := e.count("approval_request")
		want(t, e.decide(planned(once, "pay", `{}`)), verdict.Deny, policy.ByIntent, "used up")

		ordered := e.mint(e.agent,
			`{"ordered":true,"steps":[{"action":"read","mcp":"fs"},{"action":"pay","mcp":"bank","max_calls":1}]}`)
		want(t, e.decide(planned(ordered, "pay", `{}`)), verdict.Deny, policy.ByIntent, "comes before")
		if n := e.count("approval_request"); n != requests {
			t.Errorf("%d requests were opened for calls that cannot run", n-requests)
		}
		want(t, e.decide(planned(ordered, "read", `{}`)), verdict.Allow, "", "")
		want(t, e.decide(planned(ordered, "pay", `{}`)), verdict.Hold, "rules", "")
	})
}
