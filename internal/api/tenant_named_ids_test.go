package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"writ/internal/database"
	"writ/internal/testserver"
)

// named is a request that names something by an id outside of its path. ID stands for the id, OWN for the id of
// something of the caller's own organization that the request is about, ORG for that organization.
type named struct {
	method, path, body string
	foreign            string // an id that another organization has
	own                string
	byKey, byProxy     bool
}

// namedIn are requests with ids of a tenant in their query or body.
func namedIn(w, other *tenant) []named {
	certificate := func(w *tenant) string { return w.foreignIDs["GET /certificate/{certificateId}"]["certificateId"] }
	agent := func(w *tenant) string { return w.foreignIDs["GET /agent/agents/{agentId}"]["agentId"] }
	server := func(w *tenant) string { return w.foreignIDs["GET /mcp/servers/{mcpId}"]["mcpId"] }
	var all []named
	read := func(id string, paths ...string) {
		for _, path := range paths {
			all = append(all, named{method: http.MethodGet, path: path, foreign: id})
		}
	}
	write := func(id, own, path string, bodies ...string) {
		for _, body := range bodies {
			all = append(all, named{
				method: http.MethodPost, path: path, body: body,
				foreign: id, own: own,
			})
		}
	}
	byKey := func(id, path string, bodies ...string) {
		for _, body := range bodies {
			all = append(all, named{
				method: http.MethodPost, path: path, body: body,
				foreign: id, byKey: true,
			})
		}
	}
	read(w.owner.ID, "/agent/agents?ownerId=ID", "/iap/plans?user=ID",
		"/organization/ORG/observability/sessions?userId=ID", "/organization/ORG/observability/traces?userId=ID")
	read(w.plan, "/audit-log/entries?plan=ID")
	read(w.draft, "/audit-log/entries?policy=ID")
	read(w.agentSession, "/audit-log/entries?session=ID", "/organization/ORG/observability/traces?sessionId=ID")
	read(agent(w), "/audit-log/entries?agent=ID", "/certificate?agentId=ID", "/delegation/requests?agentId=ID",
		"/iap/plans?agentId=ID", "/organization/ORG/observability/analytics/series?metric=cost&agent=ID",
		"/pap/decisions?agent=ID",
		"/organization/ORG/observability/sessions?agentId=ID", "/organization/ORG/observability/traces?agentId=ID",
		"/pap/stats/overview?agent=ID", "/pap/stats/series?agent=ID")
	read(w.key, "/delegation/requests?keyId=ID")
	read(server(w), "/mcp/certificates?mcpId=ID")
	for _, id := range []string{w.org, w.trace, w.agentSession, w.plan, w.draft, w.key, w.approval, agent(w), w.name} {
		read(id, "/search?q=ID")
	}

	for _, change := range []string{`{"keys":["ID"]}`, `{"ownerId":"ID"}`} {
		for _, id := range []string{w.key, w.unboundKey, w.owner.ID, w.member} {
			all = append(all, named{
				method: http.MethodPatch, path: "/agent/agents/OWN", body: change,
				foreign: id, own: agent(other),
			})
		}
	}
	write(w.key, "", "/agent/register", `{"agentId":"named-keys","keys":["ID"]}`)
	write(w.owner.ID, "", "/agent/register", `{"agentId":"named-owner","ownerId":"ID"}`)
	write(w.key, agent(other), "/iap/agent/OWN/kill", `{"reason":"r","keys":["ID"]}`)
	write(w.plan, "", "/organization/ORG/kill-switch", `{"scope":"plan","subject":"ID","reason":"r"}`)
	write(w.key, "", "/organization/ORG/kill-switch", `{"scope":"key","subject":"ID","reason":"r"}`)
	write(certificate(w), "", "/certificate/check", `{"certificateId":"ID"}`)
	write(certificate(w), "", "/certificate/rotate", `{"certificateId":"ID"}`)
	write(certificate(w), "", "/certificate/revoke", `{"certificateId":"ID","reason":"r"}`)
	write(agent(w), "", "/certificate/issue", `{"agentId":"ID"}`)
	write(server(w), "", "/certificate/issue", `{"mcpId":"ID"}`)
	write(server(w), "", "/mcp/certificates", `{"mcpId":"ID"}`)
	for _, route := range []string{"approve", "reject", "preview", "cancel"} {
		write(w.approval, "", "/delegation/"+route, `{"approvalId":"ID"}`, `{"delegationId":"ID"}`)
	}
	write(w.plan, "", "/iap/trust/revoke", `{"trustId":"ID"}`, `{"planId":"ID"}`)
	write(w.proposal, "", "/policies/profiles/confirm", `{"proposalId":"ID","hash":"`+strings.Repeat("0", 64)+`"}`)
	write(w.draft, "", "/policies/simulate", `{"policyId":"ID","call":{"tool":"t"}}`)
	write(w.draft, "", "/policy-replays", `{"policyId":"ID"}`)
	write(w.plan, "", "/policies/simulate",
		`{"document":{"version":"v1","name":"n","rules":[]},"call":{"tool":"t","intent":{"planId":"ID"}}}`)
	write(agent(w), "", "/policies/suggest", `{"agentId":"ID","days":1}`)
	write(agent(w), "", "/policies/check-access", `{"agentId":"ID","tool":"t"}`)

	all = append(all,
		named{method: http.MethodGet, path: "/delegation/poll?delegationId=ID", foreign: w.approval, byKey: true},
		named{method: http.MethodGet, path: "/delegation/poll?approvalId=ID", foreign: w.approval, byKey: true})
	byKey(w.approval, "/delegation/mark-executed", `{"approvalId":"ID"}`)
	byKey(w.approval, "/delegation/cancel", `{"approvalId":"ID"}`)
	byKey(w.plan, "/delegation/request", `{"tool":"pay","planId":"ID","amount":1,"requesterEmail":"a@example.org"}`)
	byKey(w.plan, "/iap/trust/reanchor", `{"planId":"ID","newPlan":`+testserver.OnePlan+`}`)
	byKey(w.plan, "/iap/trust/revoke", `{"trustId":"ID"}`)
	byKey(w.plan, "/iap/enforce", `{"tool_name":"pay","tool_input":{},"intent":{"plan_id":"ID"}}`)
	byKey(w.plan, "/iap/sdk/enforce", `{"tool_name":"pay","tool_input":{},"intent_token":{"plan_id":"ID"}}`)
	byKey(w.plan, "/iap/audit", `{"plan_id":"ID","tool":"pay","step_index":0,"status":"success"}`)
	byKey(w.agentSession, "/iap/session/state", `{"session_id":"ID"}`)
	byKey(w.agentSession, "/iap/session/end", `{"session_id":"ID"}`)
	byKey(w.agentSession, "/iap/session/ticket", `{"session_id":"ID","turn":1}`)
	const batch = `{"product":"p","batches":[{"trace":{"id":%q,"name":"n","startTime":"2026-01-02T03:04:05Z"%s},` +
		`"spans":[{"id":%q,"kind":"tool_call","name":"p","startTime":"2026-01-02T03:04:05Z"}]}]}`
	byKey(w.trace, "/observability/spans", fmt.Sprintf(batch, "ID", "", database.NewID()))
	byKey(w.agentSession, "/observability/spans",
		fmt.Sprintf(batch, database.NewID(), `,"sessionId":"ID"`, database.NewID()))
	byKey(w.span, "/observability/spans", fmt.Sprintf(batch, database.NewID(), "", "ID"))
	all = append(all, named{
		method: http.MethodPost, path: "/proxy/guard/decisions", foreign: w.plan, byProxy: true,
		body: `{"server":"s","tool":"t","plan":{"planId":"ID"}}`,
	})
	return all
}

// differing is what differs between two answers to the same question.
var differing = []*regexp.Regexp{
	regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
	regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z?`),
	regexp.MustCompile(`[A-Za-z0-9+/_=-]{30,}`),
	regexp.MustCompile(`\d+`),
}

// comparable is an answer without what differs from request to request.
func comparable(t *testing.T, answer string) string {
	t.Helper()
	var read any
	if err := json.Unmarshal([]byte(answer), &read); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	if members, ok := read.(map[string]any); ok {
		delete(members, "receipt")
		delete(members, "requestId")
		delete(members, "indexing") // until what was made before is indexed
	}
	ordered, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	text := string(ordered)
	for _, part := range differing {
		text = part.ReplaceAllString(text, "U")
	}
	return text
}

// TestForeignIDsInQueriesAndBodies names what belongs to another organization elsewhere than in the path. The answer is
// that to an id which nobody has, and nothing of the other organization changes.
func TestForeignIDsInQueriesAndBodies(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w, other := newTenant(s, "Secret Harbour"), newTenant(s, "Elsewhere")
		before := rowsOf(s, w.org)
		for _, n := range namedIn(w, other) {
			header := testserver.WithBearer(other.owner.Tokens.AccessToken)
			switch {
			case n.byKey:
				header = testserver.WithXAPIKey(other.agentSecret)
			case n.byProxy:
				header = byProxy(other.agentSecret)
			}
			unknown := database.NewID()
			if strings.HasPrefix(n.foreign, "agent-") {
				unknown = "agent-" + unknown
			}
			answer := func(id string) (testserver.Reply, string) {
				fill := strings.NewReplacer("=ID", "="+url.QueryEscape(id), "OWN", n.own, "ORG", other.org)
				reply := s.Send(n.method, fill.Replace(n.path), header, strings.ReplaceAll(n.body, `"ID"`, `"`+id+`"`))
				return reply, comparable(t, strings.ReplaceAll(reply.Body, id, "U"))
			}
			want, wanted := answer(unknown)
			got, text := answer(n.foreign)
			what := n.method + " " + n.path + " " + n.body
			if got.Status != want.Status || text != wanted {
				t.Errorf("%s: a foreign id is answered with %d %s, an unknown one with %d %s", what, got.Status, got.Body,
					want.Status, want.Body)
			}
			if got.Status >= http.StatusInternalServerError || got.Status == http.StatusUnauthorized ||
				got.Status == http.StatusUnsupportedMediaType || got.Status == http.StatusTooManyRequests {
				t.Errorf("%s: %d %s", what, got.Status, got.Body)
			}
			field, _, _ := strings.Cut(fmt.Sprint(got.Members(t)["message"]), ":")
			if got.Status == http.StatusBadRequest && !strings.Contains(n.body, `"`+field+`"`) {
				t.Errorf("%s is refused for something else: %s", what, got.Body)
			}
			w.wantNothingLearned(t, what, n.foreign+what, got)
		}
		after := rowsOf(s, w.org)
		for row := range before {
			if !after[row] {
				t.Errorf("a row of the other organization changed: %s", row)
			}
		}
	}, testserver.AsProxied...)
}

// rowsOf are the stored rows that name an organization.
func rowsOf(s *testserver.Server, orgID string) map[string]bool {
	rows := map[string]bool{}
	for _, row := range s.Dump() {
		if strings.Contains(row, orgID) {
			rows[row] = true
		}
	}
	return rows
}
