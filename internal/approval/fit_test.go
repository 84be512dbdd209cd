package approval_test

import (
	"strings"
	"testing"

	"writ/internal/approval"
	"writ/internal/fault"
	"writ/internal/testenv"
)

// TestAPatternFitsItsOwnRequest: a yes after which the very call that was asked
// about waits on is a mistake.
func TestAPatternFitsItsOwnRequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person("approver")
		for _, c := range []struct {
			name, arguments, pattern string
			says                     string // of the refusal; empty: it is taken
		}{
			{"it fits", `{"amount":5,"to":"x"}`, `{"amount":{"max":10},"to":{"any":true}}`, ""},
			{
				"another value", `{"amount":50,"to":"x"}`, `{"amount":{"max":10},"to":{"any":true}}`,
				"scope.pattern.amount: does not take",
			},
			{
				"an argument that is not named", `{"amount":5,"to":"x"}`, `{"amount":{"max":10}}`,
				"scope.pattern.to: does not take",
			},
			{
				"an argument that is not there", `{"amount":5}`, `{"amount":{"max":10},"to":{"any":true}}`,
				"scope.pattern.to: is no argument",
			},
			{
				"within an object", `{"to":{"iban":"DE1","name":"x"}}`,
				`{"to.iban":{"equals":"DE2"},"to.name":{"any":true}}`, "scope.pattern.to.iban: does not take",
			},
			{"a name with a dot", `{"a.b":1}`, `{"a.b":{"equals":1}}`, "scope.pattern: does not take"},
			{
				"what nobody may see", `{"amount":5,"token":"[redacted]"}`,
				`{"amount":{"max":10},"token":{"equals":"t"}}`, "",
			},
			{
				"beside what nobody may see", `{"amount":50,"token":"[redacted]"}`,
				`{"amount":{"max":10},"token":{"equals":"t"}}`, "scope.pattern.amount: does not take",
			},
			{"nothing is known", "", `{"amount":{"max":10}}`, ""},
		} {
			r := e.openCall(approval.Call{Server: "bank", Tool: "pay", Arguments: c.arguments})
			scope := approval.Scope{Kind: approval.ByPattern, Pattern: argumentPattern(t, c.pattern)}
			_, previewed := r.Permits(scope)
			_, err := e.approvals.Approve(t.Context(), bob, r.ID, approval.Approval{Scope: scope})
			if c.says == "" {
				if err != nil || previewed != nil {
					t.Errorf("%s: %v, %v", c.name, err, previewed)
				}
				continue
			}
			testenv.WantFault(t, c.name, err, fault.Invalid)
			for _, refusal := range []error{err, previewed} {
				if refusal == nil || !strings.Contains(refusal.Error(), c.says) {
					t.Errorf("%s: %v, want %q", c.name, refusal, c.says)
				}
			}
		}
	})
}
