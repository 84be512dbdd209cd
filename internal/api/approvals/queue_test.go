package approvals_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// TestTimeIsNo: nobody answers, and a late yes revives nothing.
func TestTimeIsNo(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		if _, err := h.Owner.SetApprovalSettings(t.Context(), h.Org, client.ApprovalSettings{
			PendingSeconds: 60, GrantSeconds: 60,
		}); err != nil {
			t.Fatal(err)
		}
		late := h.decide("nobody answers", payment, "hold")["approvalId"].(string)
		granted := h.decide("approved", `{"amount":1}`, "hold")["approvalId"].(string)
		h.answer("approve", granted, "")
		h.Advance(61 * time.Second)
		_, err := h.approver.Approve(t.Context(), h.Org, client.Approval{ID: late})
		testserver.WantStatus(t, "a late yes", err, http.StatusConflict)
		_, err = h.approver.Reject(t.Context(), h.Org, late, "")
		testserver.WantStatus(t, "a late no", err, http.StatusConflict)
		if got, err := h.approver.ApprovalRequest(t.Context(), h.Org, late); err != nil || got.Status != "expired" {
			t.Errorf("what expired: %+v, %v", got.ApprovalRequest, err)
		}
		for what, arguments := range map[string]string{
			"expired": payment, "an unused yes that is over": `{"amount":1}`,
		} {
			if again := h.decide(what, arguments, "hold"); again["approvalId"] == late ||
				again["approvalId"] == granted {
				t.Errorf("%s: %v, want another request", what, again)
			}
		}
	})
}

// TestListsOfApprovals narrows and pages.
func TestListsOfApprovals(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, approver := t.Context(), b.Join(b.Owner, b.ID, "approver")
		pending, rejected := b.OpenedApproval(b.Agent), b.OpenedApproval(b.Agent)
		if _, err := approver.Reject(ctx, b.ID, rejected, "no"); err != nil {
			t.Fatal(err)
		}
		granted := b.Approved(b.Agent, approver, b.ID, nil)
		one, err := approver.ApprovalRequest(ctx, b.ID, pending)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			f    client.ApprovalFilter
			want []string
		}{
			{"all", client.ApprovalFilter{}, []string{granted, rejected, pending}},
			{"pending", client.ApprovalFilter{Status: "pending"}, []string{pending}},
			{"rejected", client.ApprovalFilter{Status: "rejected"}, []string{rejected}},
			{"approved", client.ApprovalFilter{Status: "approved"}, []string{granted}},
			{"expired", client.ApprovalFilter{Status: "expired"}, nil},
			{"the tool", client.ApprovalFilter{Tool: "pay"}, []string{granted, rejected, pending}},
			{"another tool", client.ApprovalFilter{Tool: "mail"}, nil},
			{"the key", client.ApprovalFilter{KeyID: one.KeyID}, []string{granted, rejected, pending}},
			{"another key", client.ApprovalFilter{KeyID: "x"}, nil},
			{"the requester", client.ApprovalFilter{Requester: strings.ToUpper(one.Email)}, []string{pending}},
			{"another agent", client.ApprovalFilter{AgentID: "x"}, nil},
			{"asks", client.ApprovalFilter{Kind: "ask"}, nil},
			{"the risk", client.ApprovalFilter{Risk: one.Risk.Level, Status: "pending"}, []string{pending}},
			{"since", client.ApprovalFilter{Since: one.CreatedAt}, []string{granted, rejected, pending}},
			{"before", client.ApprovalFilter{Before: one.CreatedAt}, nil},
		} {
			found, err := approver.ApprovalRequests(ctx, b.ID, c.f)
			var got []string
			for _, a := range found.Items {
				got = append(got, a.ID)
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
			}
		}
		var paged []string
		for f := (client.ApprovalFilter{List: client.List{Limit: 1}}); ; {
			found, err := approver.ApprovalRequests(ctx, b.ID, f)
			if err != nil || len(found.Items) != 1 {
				t.Fatalf("a page: %+v, %v", found, err)
			}
			paged = append(paged, found.Items[0].ID)
			if !found.HasMore {
				break
			}
			f.Cursor = found.NextCursor
		}
		if !slices.Equal(paged, []string{granted, rejected, pending}) {
			t.Errorf("page by page: %v", paged)
		}
		for _, query := range []string{
			"status=open", "kind=x", "risk=none", "since=yesterday", "limit=0", "limit=201", "cursor=x",
		} {
			b.Request(t, "GET", "/delegation/requests?organizationId="+b.ID+"&"+query, "",
				testserver.Credentials(approver.Client)...).ErrorFields(t, http.StatusBadRequest)
		}
	})
}

// TestCancelledByWhoAsked ends a request, and the next call opens another.
func TestCancelledByWhoAsked(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		id := h.decide("the call", payment, "hold")["approvalId"].(string)
		got, err := h.Public.WithKey(h.Key).CancelApproval(t.Context(), "", id)
		if err != nil || got.Status != "cancelled" {
			t.Fatalf("cancel: %+v, %v", got, err)
		}
		_, err = h.approver.Approve(t.Context(), h.Org, client.Approval{ID: id})
		testserver.WantStatus(t, "a yes to what was cancelled", err, http.StatusConflict)
		stranger := h.Join(h.Owner, h.Org, "member")
		strangersKey := h.Public.WithKey(h.AgentKey(stranger, h.Org).APIKey)
		for who, c := range map[string]*client.Client{
			"another key": strangersKey, "another member": stranger.Client, "an approver": h.approver.Client,
		} {
			_, err := c.CancelApproval(t.Context(), orgFor(c, h.Org), id)
			testserver.WantStatus(t, "cancel what is not one's own and was answered, as "+who, err, http.StatusNotFound)
		}
		_, err = stranger.Reject(t.Context(), h.Org, id, "no")
		testserver.WantStatus(t, "a no to it by a member who may not answer", err, http.StatusForbidden)
		if again := h.decide("afterwards", payment, "hold"); again["approvalId"] == id {
			t.Errorf("the same request: %v", again)
		}
		other := h.decide("by the owner", `{"amount":2}`, "hold")["approvalId"].(string)
		if _, err := h.Owner.CancelApproval(t.Context(), h.Org, other); err != nil {
			t.Errorf("cancel by the owner of the key: %v", err)
		}
	})
}

// TestNobodyElsesPlanIsShown: a client that asks by itself may name any plan, and that
// of another key would only make its call look good.
func TestNobodyElsesPlanIsShown(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		held, err := h.approver.ApprovalRequest(t.Context(), h.Org,
			h.decide("the call", `{"to":"a","amount":1}`, "hold")["approvalId"].(string))
		if err != nil || held.PlanID == "" || held.PlanGoal == "" {
			t.Fatalf("the plan of its own call: %+v, %v", held, err)
		}
		asked := testserver.ApprovalRequest()
		asked.PlanID = held.PlanID
		other, err := h.Public.WithKey(h.AgentKey(h.Owner, h.Org).APIKey).RequestApproval(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.approver.ApprovalRequest(t.Context(), h.Org, other.ID)
		if err != nil || got.PlanGoal != "" || len(got.PlanSteps) != 0 {
			t.Errorf("another key's plan is shown: %q %+v, %v", got.PlanGoal, got.PlanSteps, err)
		}
	})
}
