package approval_test

import (
	"testing"

	"writ/internal/approval"
	"writ/internal/policy/document"
	"writ/internal/principal"
)

// TestWhoSaidYesSawIt: once somebody said yes, the client cannot complete the request
// with other words.
func TestWhoSaidYesSawIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		two := hold
		two.Approvers = &document.Approvers{Role: "approver", Count: 2}
		r := e.held(approval.Call{Server: "bank", Tool: "pay"}, `{"n":1}`, two)
		e.approve(e.person(principal.Approver), r.ID, approval.Approval{})
		again, opened := e.ask(approval.Asked{
			Tool:      "pay",
			Domain:    "bank",
			Arguments: []byte(`{"n":1}`),
			Amount:    amount(1),
			Reason:    "harmless",
		})
		if opened || again.ID != r.ID || again.AskedFor != "" || again.Amount != nil {
			t.Errorf("opened %t: %+v", opened, again)
		}
	})
}
