package api_test

import (
	"slices"
	"strings"
	"testing"

	"writ/internal/api/route"
	"writ/internal/database"
	"writ/internal/testserver"
)

// TestRoutesRefuseUnknownQueries: a misspelled filter is refused by its name wherever a caller may come in, and what
// of a query cannot be read is not left out.
func TestRoutesRefuseUnknownQueries(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		token := testserver.Credentials(o.Owner.Client)
		key := testserver.Credentials(o.Server.TerminalKey(o.Owner, o.ID))
		refused := 0
		for _, r := range o.API.Routes() {
			path := strings.ReplaceAll(r.Path, "{orgId}", o.ID)
			if r.OpenQuery || strings.Contains(path, "{") || r.Operators || r.Mode == route.Proxy {
				continue // the last two admit nobody here
			}
			headers := token
			if slices.Contains([]route.Mode{route.Key, route.Agent, route.PlanToken}, r.Mode) {
				headers = key
			}
			answer := o.Request(t, r.Method, path+"?unheardOf=1", "", headers...)
			if answer.Status == 401 || answer.Status == 403 {
				continue // refused before anything of the request is looked at
			}
			refused++
			if !strings.Contains(string(answer.Body), "unheardOf: unknown query parameter") {
				t.Errorf("%s %s: status %d: %s", r.Method, path, answer.Status, answer.Body)
			}
		}
		if refused < 100 {
			t.Errorf("only %d routes were tried", refused)
		}
	})
}

// TestFiltersOfTelemetryAreNotMisspelled: what shows agents' work does not show all of it for a filter of no route.
func TestFiltersOfTelemetryAreNotMisspelled(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		of := "/organization/" + o.ID + "/observability/"
		policyID := o.ActivePolicy(o.Owner, o.ID,
			"version: v1\nname: reads\nrules:\n  - {id: all, effect: allow, tools: ['*']}\n")
		for _, c := range []struct{ path, field string }{
			{of + "traces?agent=nosuch", "agent"},
			{of + "sessions?agent=nosuch", "agent"},
			{of + "stream?agent=nosuch", "agent"},
			{of + "traces/export?agent=nosuch", "agent"},
			{of + "traces/export?agentid=nosuch", "agentid"},
			{of + "traces?organizationId=" + database.NewID(), "organizationId"},
			{"/policies/" + policyID + "/findings?day=1", "day"},
			{"/audit-log/export?from=1", "from"},
			{"/dashboard/usage?form=2026-11-01", "form"},
		} {
			answer := o.Request(t, "GET", c.path, "", testserver.Credentials(o.Owner.Client)...)
			if fields := answer.ErrorFields(t, 400); !slices.Equal(fields, []string{c.field}) {
				t.Errorf("%s: complains of %q: %s", c.path, fields, answer.Body)
			}
		}
		for _, query := range []string{"days=1;agentId=a", "agentId=%zz"} {
			answer := o.Request(t, "GET", of+"traces?"+query, "", testserver.Credentials(o.Owner.Client)...)
			if answer.Status != 400 || !strings.Contains(string(answer.Body), "cannot be read") {
				t.Errorf("%s: status %d: %s", query, answer.Status, answer.Body)
			}
		}
	})
}

// TestAnyQuery lists the routes that take unknown query parameters: a reviewer sees one more here.
func TestAnyQuery(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		var open []string
		for _, r := range o.API.Routes() {
			if r.OpenQuery {
				open = append(open, r.Method+" "+r.Path)
			}
		}
		want := []string{
			"GET /auth/google", "GET /auth/google/callback", "GET /auth/oidc", "GET /auth/oidc/{organization}",
			"GET /auth/oidc/{organization}/callback", "POST /oauth/token", "POST /oauth/revoke",
			"POST /proxy/mcp", "GET /proxy/mcp", "DELETE /proxy/mcp",
			"POST /proxy/mcp/{mcpId}", "GET /proxy/mcp/{mcpId}", "DELETE /proxy/mcp/{mcpId}",
		}
		if !slices.Equal(open, want) {
			t.Errorf("take any query: %q, want %q", open, want)
		}
	})
}
