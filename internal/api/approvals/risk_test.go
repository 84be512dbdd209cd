package approvals_test

import (
	"fmt"
	"strings"
	"testing"

	"writ/client"
)

// TestRiskLearnsFromWhatRan: calls that ran are what a later request is compared
// with, and calls that were only asked for are not.
func TestRiskLearnsFromWhatRan(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		h.decide("asked for, never approved", `{"to":"mallory","amount":9000}`, "hold")
		for amount := range 3 {
			rent := fmt.Sprintf(`{"to":"landlord","amount":%d}`, 10+amount)
			id := h.decide("before the yes", rent, "hold")["approvalId"].(string)
			if _, err := h.approver.Approve(t.Context(), h.Org, client.Approval{ID: id}); err != nil {
				t.Fatal(err)
			}
			h.decide("after the yes", rent, "allow")
		}
		for arguments, want := range map[string]string{
			`{"to":"landlord","amount":9}`:               "class_money",
			`{"to":"landlord","amount":15}`:              "class_money amount_above",
			`{"to":"mallory","amount":5000}`:             "class_money amount_far_above first_value",
			`{"to":"landlord","amount":9,"memo":"rent"}`: "class_money first_argument",
		} {
			id := h.decide("a later call", arguments, "hold")["approvalId"].(string)
			got, err := h.approver.ApprovalRequest(t.Context(), h.Org, id)
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, reason := range got.Risk.Reasons {
				if !strings.HasSuffix(reason.Code, "burst") { // by then there are many
					codes = append(codes, reason.Code)
				}
			}
			if strings.Join(codes, " ") != want {
				t.Errorf("%s: %v, want %s", arguments, codes, want)
			}
		}
	})
}
