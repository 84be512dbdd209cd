package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/testserver"
)

// organizationNames are the members and parameters that name an organization.
var organizationNames = []string{"organizationId", "orgId", "organization_id", "org_id", "org"}

// TestNamedOrganizationsAreChecked covers routes that take an organization
// elsewhere than in the path. It finds them in the published description.
func TestNamedOrganizationsAreChecked(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newTenant(s, "Secret Harbour")
		outsiders := outsiders(s, w)
		inBody := func(member string) func(org string) (query, body string) {
			return func(org string) (string, string) {
				return "", `{"name":"n","product":"p","` + member + `":"` + org + `"}`
			}
		}
		inQuery := func(body string) func(org string) (query, body string) {
			return func(org string) (string, string) { return "?organizationId=" + org, body }
		}
		const document = `{"version":"v1","name":"n","rules":[]}`
		cases := map[string]func(org string) (query, body string){
			"POST /api-keys":           inBody("organizationId"),
			"POST /api-keys/provision": inBody("organizationId"),
			"POST /iap/sdk/switch-org": inBody("org"),
			"GET /api-keys":            inQuery(""),

			"POST /auth/device/approve": func(org string) (string, string) {
				return "", `{"userCode":"BCDF-GHJK","organizationId":"` + org + `"}`
			},

			"POST /oauth/approve": func(org string) (string, string) {
				return "", `{"request":"client_id=x","agentId":"a","organizationId":"` + org + `"}`
			},

			"GET /referral/code":   inQuery(""),
			"POST /referral/code":  inQuery(""),
			"POST /referral/claim": inQuery(`{"code":"AAAAAAAAAAAA"}`),
			"GET /referral/stats":  inQuery(""),

			"GET /dashboard/usage":   inQuery(""),
			"GET /billing/plan":      inQuery(""),
			"GET /billing/usage":     inQuery(""),
			"GET /billing/invoices":  inQuery(""),
			"POST /billing/portal":   inQuery(""),
			"POST /checkout/session": inQuery(`{"plan":"team"}`),

			"POST /access-requests/{id}/approve": inBody("organizationId"),

			"POST /auth/identities": inBody("organizationId"),

			"GET /search": func(org string) (string, string) { return "?q=harbour&organizationId=" + org, "" },

			"GET /policies":               inQuery(""),
			"POST /policies":              inQuery(document),
			"POST /policies/draft":        inQuery(`{"description":"pay people"}`),
			"POST /policies/validate":     inQuery(document),
			"POST /policies/yaml/import":  inQuery(document),
			"POST /policies/check-access": inQuery(`{"tool":"t"}`),
			"POST /policies/simulate":     inQuery(`{"document":` + document + `,"call":{"tool":"t"}}`),
			"POST /policies/test":         inQuery(`{"yaml":"version: v1","tests":"tests: []"}`),

			"POST /policies/suggest": inQuery(`{"agentId":"a","days":1}`),

			"PUT /policies/profiles/draft":             inQuery(`{"policy":{"rules":[]}}`),
			"POST /policies/profiles/propose":          inQuery(`{}`),
			"GET /policies/profiles/active":            inQuery(""),
			"GET /policies/profiles/proposals":         inQuery(""),
			"GET /policies/profiles/proposals/{id}":    inQuery(""),
			"DELETE /policies/profiles/proposals/{id}": inQuery(""),
			"POST /policies/profiles/confirm": inQuery(`{"proposalId":"x","hash":"` +
				strings.Repeat("0", 64) + `"}`),

			"GET /policy-replays":                    inQuery(""),
			"POST /policy-replays":                   inQuery(`{"policyId":"x"}`),
			"GET /policy-replays/{replayId}":         inQuery(""),
			"POST /policy-replays/{replayId}/cancel": inQuery(""),

			"GET /iap/plans":           inQuery(""),
			"POST /iap/trust/revoke":   inQuery(`{"trustId":"0190d6f8-0000-7000-8000-000000000000"}`),
			"GET /pap/decisions":       inQuery(""),
			"GET /pap/stats/overview":  inQuery(""),
			"GET /pap/stats/series":    inQuery(""),
			"GET /pap/policy/snapshot": inQuery(""),

			"GET /audit-log/entries":                inQuery(""),
			"GET /audit-log/entries/{index}":        inQuery(""),
			"GET /audit-log/check":                  inQuery(""),
			"GET /audit-log/checkpoint":             inQuery(""),
			"GET /audit-log/key":                    inQuery(""),
			"GET /audit-log/proof/inclusion":        inQuery(""),
			"GET /audit-log/proof/consistency":      inQuery(""),
			"GET /audit-log/findings":               inQuery(""),
			"GET /audit-log/findings/{findingId}":   inQuery(""),
			"GET /audit-log/export":                 inQuery(""),
			"POST /audit-log/entries/{index}/erase": inQuery(`{}`),

			"POST /agent/register":                inQuery(`{"agentId":"a"}`),
			"GET /agent/agents":                   inQuery(""),
			"GET /agent/agents/{agentId}":         inQuery(""),
			"PATCH /agent/agents/{agentId}":       inQuery(`{}`),
			"POST /agent/agents/{agentId}/status": inQuery(`{"status":"active","reason":"r"}`),

			"GET /agent/leases": inQuery(""),

			"POST /iap/agent/{agentId}/kill":   inQuery(`{"reason":"r"}`),
			"POST /iap/agent/{agentId}/revive": inQuery(`{"reason":"r"}`),
			"GET /iap/agent/{agentId}/status":  inQuery(""),

			"POST /mcp/register":                                             inQuery(`{"name":"n"}`),
			"GET /mcp/servers":                                               inQuery(""),
			"PUT /mcp/servers/{mcpId}/definition":                            inQuery(`{"tools":[]}`),
			"GET /mcp/my-servers":                                            inQuery(""),
			"GET /mcp/servers/{mcpId}":                                       inQuery(""),
			"PATCH /mcp/servers/{mcpId}":                                     inQuery(`{}`),
			"DELETE /mcp/servers/{mcpId}":                                    inQuery(""),
			"GET /mcp/servers/{mcpId}/health":                                inQuery(""),
			"GET /mcp/servers/{mcpId}/telemetry":                             inQuery(""),
			"GET /mcp/servers/{mcpId}/tools":                                 inQuery(""),
			"GET /mcp/servers/{mcpId}/vulnerabilities":                       inQuery(""),
			"GET /mcp/tool-metadata/{mcp}":                                   inQuery(""),
			"GET /mcp/tools/{mcp}":                                           inQuery(""),
			"POST /mcp/servers/{mcpId}/refresh":                              inQuery(""),
			"POST /mcp/servers/{mcpId}/scan":                                 inQuery(""),
			"POST /mcp/servers/{mcpId}/tools/{tool}/accept":                  inQuery(`{}`),
			"POST /mcp/servers/{mcpId}/vulnerabilities/{fingerprint}/accept": inQuery(`{"reason":"r"}`),

			"GET /certificate":                   inQuery(""),
			"GET /certificate/{certificateId}":   inQuery(""),
			"GET /certificate/authority":         inQuery(""),
			"GET /mcp/certificates":              inQuery(""),
			"POST /certificate/authority/rotate": inQuery(`{}`),
			"POST /certificate/check":            inQuery(`{"certificateId":"x"}`),
			"POST /certificate/issue":            inQuery(`{"agentId":"a"}`),
			"POST /certificate/revoke":           inQuery(`{"certificateId":"x","reason":"r"}`),
			"POST /certificate/rotate":           inQuery(`{"certificateId":"x"}`),
			"POST /mcp/certificates":             inQuery(`{"mcpId":"m"}`),

			"GET /notifications":              inQuery(""),
			"GET /notifications/unread-count": inQuery(""),
			"POST /notifications/{id}/read":   inQuery(""),
			"POST /notifications/read-all":    inQuery(""),
			"GET /notifications/preferences":  inQuery(""),
			"PUT /notifications/preferences":  inQuery(`{"mail":false}`),
			"GET /notifications/stream":       inQuery(""),

			"GET /notification":              inQuery(""),
			"GET /notification/unread-count": inQuery(""),
			"POST /notification/{id}/read":   inQuery(""),
			"POST /notification/read-all":    inQuery(""),
			"GET /notification/preferences":  inQuery(""),
			"PUT /notification/preferences":  inQuery(`{"mail":false}`),
			"GET /notification/stream":       inQuery(""),

			"GET /delegation/requests":       inQuery(""),
			"GET /delegation/requests/{id}":  inQuery(""),
			"GET /delegation/allows":         inQuery(""),
			"DELETE /delegation/allows/{id}": inQuery(""),
			"GET /delegation/figures":        inQuery(""),
			"GET /delegation/settings":       inQuery(""),
			"PUT /delegation/settings":       inQuery(`{"selfApproval":true,"pendingSeconds":60,"grantSeconds":60}`),
			"POST /delegation/cancel":        inQuery(`{"delegationId":"x"}`),
			"POST /delegation/approve":       inQuery(`{"delegationId":"x"}`),
			"POST /delegation/reject":        inQuery(`{"delegationId":"x"}`),
			"POST /delegation/preview":       inQuery(`{"delegationId":"x"}`),
		}
		named := namedOrganizations(s)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(cases)), named); diff != "" {
			t.Fatalf("routes that name an organization outside of their path (-cases +described):\n%s", diff)
		}
		before := s.Dump()
		for _, r := range s.API.Routes() {
			build := cases[r.Method+" "+r.Path]
			if build == nil {
				continue
			}
			for _, o := range outsiders {
				what := r.Method + " " + r.Path + " by " + o.name
				query, body := build(w.org)
				got := s.Send(r.Method, r.Path+query, o.header, body)
				if got.Status != http.StatusUnauthorized && got.Status != http.StatusForbidden {
					t.Errorf("%s: status %d, want 401 or 403: %s", what, got.Status, got.Body)
				}
				w.wantNothingLearned(t, what, query+body, got)
				query, body = build(database.NewID())
				unknown := s.Send(r.Method, r.Path+query, o.header, body)
				if diff := testserver.DiffReplies(unknown.WithoutRequestID(t), got.WithoutRequestID(t)); diff != "" {
					t.Errorf("%s: can be told from an unknown organization (-unknown +got):\n%s", what, diff)
				}
			}
		}
		if diff := cmp.Diff(before, s.Dump()); diff != "" {
			t.Errorf("outsiders changed something (-before +after):\n%s", diff)
		}
	})
}

// namedOrganizations lists the operations with a body member or a query
// parameter that names an organization.
func namedOrganizations(s *testserver.Server) []string {
	s.T.Helper()
	type schema struct {
		Ref        string         `json:"$ref"`
		Properties map[string]any `json:"properties"`
	}
	var described struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
			Body       struct {
				Content map[string]struct{ Schema schema }
			} `json:"requestBody"`
		}
		Components struct{ Schemas map[string]schema }
	}
	answer := s.Send(http.MethodGet, "/openapi.json", http.Header{}, "")
	if err := json.Unmarshal([]byte(answer.Body), &described); err != nil {
		s.T.Fatalf("decode the description: %v", err)
	}
	var found []string
	for path, operations := range described.Paths {
		for method, op := range operations {
			var names []string
			for _, p := range op.Parameters {
				if p.In != "path" {
					names = append(names, p.Name)
				}
			}
			for _, content := range op.Body.Content {
				referred := described.Components.Schemas[strings.TrimPrefix(content.Schema.Ref,
					"#/components/schemas/")]
				names = slices.Concat(names, slices.Collect(maps.Keys(content.Schema.Properties)),
					slices.Collect(maps.Keys(referred.Properties)))
			}
			if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(organizationNames, name) }) {
				found = append(found, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(found)
	return found
}
