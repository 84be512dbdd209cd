package agents_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// TestCallsMissingOfALeaseAreFound: a number that no report had is a finding until it comes, in whatever order, of
// whichever lease. What is blocked, or does not fit, is reported.
func TestCallsMissingOfALeaseAreFound(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		o.ActivePolicy(o.Owner, o.ID, readsOnly)
		issued, second := o.AgentKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		if _, err := o.Owner.SetAgentSettings(ctx, o.ID,
			client.AgentSettings{UnregisteredMayAct: true, LeaseSeconds: new(int64(300))}); err != nil {
			t.Fatal(err)
		}
		lease := func() client.Lease {
			t.Helper()
			given, err := o.Public.WithKey(issued.APIKey).Lease(ctx, client.LeaseRequest{
				AgentID: "bot", Tools: []client.LeaseTool{{Server: "fs", Tool: "read"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return given
		}
		report := func(of client.Lease, key client.IssuedKey, use int, tool, status string) {
			t.Helper()
			if _, err := o.Public.WithKey(key.APIKey).ReportExecution(ctx, map[string]any{
				"mcp": "fs", "tool": tool, "status": status, "lease": of.Lease, "lease_use": use,
				"executed_at": time.Now().UTC().Format(time.RFC3339Nano), "input": map[string]any{"n": use},
			}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(of client.Lease, first, last, missing int64, resolved bool) {
			t.Helper()
			found, err := o.Owner.Findings(ctx, o.ID, "lease_gap", client.List{})
			if err != nil {
				t.Fatal(err)
			}
			items := slices.DeleteFunc(found.Items, func(f client.Finding) bool {
				return !strings.Contains(f.Detail, of.LeaseID)
			})
			if len(items) != 1 {
				t.Fatalf("%+v", items)
			}
			f := items[0]
			if f.FirstSeq != first || f.LastSeq != last || f.Missing != missing || (f.ResolvedAt != nil) != resolved ||
				f.KeyID != issued.ID {
				t.Errorf("%+v", f)
			}
		}
		one, two := lease(), lease()
		report(one, issued, 1, "read", "success")
		report(one, issued, 2, "read", "blocked")
		report(one, issued, 3, "write", "success") // does not fit, and is reported
		report(two, issued, 1, "read", "success")
		report(one, issued, 6, "read", "success")
		want(one, 4, 5, 2, false)
		report(two, issued, 6, "read", "success")
		want(two, 2, 5, 4, false)
		report(two, issued, 4, "read", "success") // fills no gap of the other lease
		want(two, 2, 5, 3, false)
		report(one, second, 4, "read", "success") // another key's word fills none
		want(one, 4, 5, 2, false)
		report(one, issued, 5, "read", "success")
		want(one, 4, 5, 1, false)
		report(one, issued, 5, "read", "failed") // twice is not two
		want(one, 4, 5, 1, false)
		report(one, issued, 4, "read", "success")
		want(one, 4, 5, 0, true)
		want(two, 2, 5, 3, false)
	})
}
