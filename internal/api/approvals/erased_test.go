package approvals_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/testserver"
)

// erase erases the payload of the entry with an action.
func (h *holding) erase(t *testing.T, action string) {
	t.Helper()
	var index int
	if err := h.Database.QueryRow(t.Context(), `SELECT max(position) FROM audit_entry WHERE log = $1 AND action = $2`,
		h.Org, action).Scan(&index); err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/audit-log/entries/%d/erase?organizationId=%s", index, h.Org)
	if err := h.Owner.Call(t.Context(), http.MethodPost, path, nil, map[string]string{"reason": "asked for"},
		nil); err != nil {
		t.Fatal(err)
	}
}

// TestARequestOutlivesTheTextOfItsPlan erases a plan, while it is live and after it has ended: the request remains
// readable and says what is gone.
func TestARequestOutlivesTheTextOfItsPlan(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		id := h.decide("the call", payment, "hold")["approvalId"].(string)
		before, err := h.approver.ApprovalRequest(t.Context(), h.Org, id)
		if err != nil || before.PlanGoal == "" || len(before.PlanSteps) == 0 || before.PlanErased {
			t.Fatalf("before: %+v, %v", before, err)
		}
		h.erase(t, "plan.minted")
		want := func(when string) {
			t.Helper()
			got, err := h.approver.ApprovalRequest(t.Context(), h.Org, id)
			if err != nil || got.ID != id || got.Tool != before.Tool || !got.PlanErased || got.PlanGoal != "" ||
				len(got.PlanSteps) != 0 {
				t.Errorf("%s: %+v, %v; want the request without its plan", when, got, err)
			}
		}
		want("while the plan is live")
		if answer := h.Request(t, "POST", "/iap/plans/"+before.PlanID+"/status", `{"status":"completed"}`,
			testserver.Credentials(h.Public.WithKey(h.Key))...); answer.Status != http.StatusOK {
			t.Fatalf("end the plan: %d %s", answer.Status, answer.Body)
		}
		want("after it has ended")
	})
}

// TestTheLogKeepsTheWordsOfAnApproval: also those of an approval for a single call.
func TestTheLogKeepsTheWordsOfAnApproval(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		id := h.decide("the call", payment, "hold")["approvalId"].(string)
		done, err := h.approver.Approve(t.Context(), h.Org, client.Approval{ID: id})
		if err != nil || done.Permits == "" {
			t.Fatalf("approve: %+v, %v", done, err)
		}
		entries, err := audit.ReadEntries(t.Context(), h.Database, h.Org, 0, 10_000)
		if last := entries[len(entries)-1]; err != nil || last.Action != "approval.approved" ||
			!strings.Contains(string(last.Payload), testserver.JSON(t, done.Permits)) {
			t.Errorf("the entry %s says %s (%v), want the words %q", last.Action, last.Payload, err, done.Permits)
		}
	})
}
