package approvals_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// TestApprovalFigures: an approver sees how the organization answers, and the
// metrics tell who watches the server.
func TestApprovalFigures(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Figures")
		ann := s.Join(owner, org, "approver")
		agent := s.Public.WithKey(s.AgentKey(owner, org).APIKey)
		s.Approved(agent, ann, org, nil)
		s.Approved(agent, ann, org, nil)
		for _, by := range []*testserver.Person{ann, owner} {
			if _, err := by.Reject(t.Context(), org, s.OpenedApproval(agent), "no"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := agent.CancelApproval(t.Context(), "", s.OpenedApproval(agent)); err != nil {
			t.Fatal(err)
		}
		s.OpenedApproval(agent)

		got, err := ann.ApprovalStats(t.Context(), org, time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Opened != 6 || got.Waiting != 1 || got.Approved != 2 || got.Rejected != 2 || got.Cancelled != 1 ||
			got.Expired+got.Covered != 0 ||
			got.ShareApproved == nil || *got.ShareApproved != 0.5 || got.MedianSeconds == nil ||
			*got.MedianSeconds <= 0 || got.Before.Sub(got.Since) != 30*24*time.Hour {
			t.Errorf("figures: %+v", got)
		}
		byID := map[string]client.ApproverStats{}
		for _, a := range got.Approvers {
			byID[a.UserID] = a
		}
		if a := byID[ann.ID]; len(byID) != 2 || a.Approved != 2 || a.Rejected != 1 ||
			a.QuickApprovals != got.QuickApprovals ||
			a.MedianSeconds == nil {
			t.Errorf("by approver: %+v", got.Approvers)
		}
		earlier, err := ann.ApprovalStats(t.Context(), org, time.Now().Add(-48*time.Hour),
			time.Now().Add(-24*time.Hour))
		if err != nil || earlier.Opened+earlier.Approved+earlier.Rejected != 0 || earlier.ShareApproved != nil ||
			earlier.MedianSeconds != nil || earlier.Approvers == nil {
			t.Errorf("of yesterday: %+v, %v", earlier, err)
		}

		text := string(s.Request(t, "GET", "/metrics", "", "Authorization", "Bearer "+testserver.MetricsToken).Body)
		for _, line := range []string{
			"writ_approvals_pending 1", "writ_approvals_opened_total 6",
			`writ_approvals_decided_total{outcome="approved"} 2`,
			`writ_approvals_decided_total{outcome="rejected"} 2`, `writ_approvals_decided_total{outcome="cancelled"} 1`,
			`writ_approvals_decided_total{outcome="expired"} 0`,
		} {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("the metrics lack %s", line)
			}
		}
	}, "WRIT_METRICS_TOKEN", testserver.MetricsToken)
}

func TestWhoMaySeeApprovalFigures(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		for _, role := range []string{"owner", "admin", "approver", "member", "viewer"} {
			caller := b.Owner
			if role != "owner" {
				caller = b.Join(b.Owner, b.ID, role)
			}
			may := role == "owner" || role == "admin" || role == "approver"
			_, err := caller.ApprovalStats(t.Context(), b.ID, time.Time{}, time.Time{})
			if may != (err == nil) || !may && client.StatusOf(err) != http.StatusForbidden {
				t.Errorf("figures for a %s: %v, want leave = %t", role, err, may)
			}
		}
		if _, err := b.Agent.ApprovalStats(t.Context(), b.ID, time.Time{},
			time.Time{}); client.StatusOf(err) != http.StatusUnauthorized {
			t.Errorf("figures for a key: %v, want 401", err)
		}
		for _, query := range []string{
			"since=yesterday", "before=2026-01-01T00:00:00Z&since=2026-01-01T00:00:00Z",
			"since=2025-01-01T00:00:00Z&before=2026-01-01T00:00:00Z",
		} {
			b.Request(t, "GET", "/delegation/figures?organizationId="+b.ID+"&"+query, "",
				testserver.Credentials(b.Owner.Client)...).ErrorFields(t, http.StatusBadRequest)
		}
	})
}
