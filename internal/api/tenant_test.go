package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/api/route"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/testserver"
)

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// pathOf is a route's path with its parameters filled in. A parameter without a
// value gets an id that nobody has.
func pathOf(r route.Route, values map[string]string) string {
	return pathVariable.ReplaceAllStringFunc(r.Path, func(parameter string) string {
		value, ok := values[strings.Trim(parameter, "{}")]
		if !ok {
			value = database.NewID()
		}
		return url.PathEscape(value)
	})
}

// plausibleBody has something for every member a body of ours may ask for.
const plausibleBody = `{"name":"Taken over","email":"someone@example.org","role":"owner","token":"inv_x","product":"p","reason":"r"}`

// bodyFor is plausibleBody, or one that has nothing that the route does not know.
func bodyFor(r route.Route) string {
	switch {
	case !r.ClosedBody:
		return plausibleBody
	case strings.HasSuffix(r.Path, "/kill"), strings.HasSuffix(r.Path, "/revive"):
		return `{"reason":"r"}`
	case strings.HasSuffix(r.Path, "{agentId}/status"):
		return `{"status":"suspended","reason":"r"}`
	case strings.HasSuffix(r.Path, "{fingerprint}/accept"):
		return `{"reason":"r"}`
	case strings.HasSuffix(r.Path, "/accept"):
		return `{"hash":"","reason":"r"}`
	case strings.HasSuffix(r.Path, "{mcpId}"):
		return `{"description":"Taken over"}`
	case strings.HasSuffix(r.Path, "/role"):
		return `{"role":"owner"}`
	case strings.HasSuffix(r.Path, "/bindings"):
		return `{"bindings":[]}`
	}
	return `{"name":"Taken over"}`
}

// tenant is an organization with something in it of everything that has an id.
type tenant struct {
	owner           *testserver.Person
	org, name       string
	member, invite  string // ids
	key, unboundKey string // ids of the owner's
	session         string // id of the owner's

	trace, span, agentSession, policy string // ids in its telemetry

	agentSecret, terminalSecret, draftSecret string // keys themselves

	draft    string // id of a policy that is stored
	proposal string // id of a profile that waits for a person
	replay   string // id of a replay under way
	plan     string // id of a plan that its agent declared

	approval, allow string // ids of a request that waits, and of a wider yes
	finding         string // id of something that does not fit together

	foreignIDs map[string]map[string]string // by route, then path parameter
	private    []string                     // what nobody else may learn
}

func newTenant(s *testserver.Server, name string) *tenant {
	s.T.Helper()
	w := &tenant{owner: s.Person("owner"), name: name}
	w.org = s.Organization(w.owner, name)
	w.member, w.invite, w.key = s.BareMember(w.org, "member"), s.OpenInvite(w.org, "member"),
		s.KeyFor(w.owner.ID, w.org).ID
	w.unboundKey = s.KeyFor(w.owner.ID, "").ID
	w.agentSecret, w.terminalSecret = s.KeyFor(w.owner.ID, w.org).Secret.Reveal(), s.TerminalKey(w.owner, w.org).APIKey
	w.draftSecret, w.draft = s.DraftKey(w.owner, w.org).APIKey, s.Draft(w.owner, w.org, `"`+name+` policy"`)
	w.proposal = s.Proposed(w.owner.Client, w.org, `{"rules":[]}`).ID
	w.replay = s.HeldReplay(w.org, 1, time.Hour)
	sessions, err := w.owner.Sessions(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	w.session = sessions[0].ID
	w.trace, w.span, w.agentSession, w.policy = database.NewID(), database.NewID(), database.NewID(), database.NewID()
	observe(s, w)
	w.plan = s.Declare(w.agentSecret, name).PlanID
	agent := s.Public.WithKey(w.agentSecret)
	w.approval, w.allow = s.OpenedApproval(agent), s.StandingApproval(agent, w.owner, w.org)
	w.finding = someFinding(s, w.org)
	w.private = []string{
		name, w.org, w.owner.ID, w.owner.Email, w.member, w.invite, w.key, w.session, w.trace, w.agentSession,
		w.policy, w.draft, w.plan, w.approval, w.allow, w.proposal, w.replay, w.finding,
	}
	told := tellTenant(s, w)
	someForwarding(s, w.owner, w.org)
	// A new route with an id in its path has to name one here.
	w.foreignIDs = map[string]map[string]string{
		"PATCH /organization/{orgId}/members/{userId}/role": {"userId": w.member},
		"DELETE /organization/{orgId}/members/{userId}":     {"userId": w.member},
		"DELETE /organization/{orgId}/invites/{id}":         {"id": w.invite},
		"DELETE /auth/sessions/{id}":                        {"id": w.session},
		"POST /api-keys/{id}/revoke":                        {"id": w.key},
		"POST /api-keys/{id}/rotate":                        {"id": w.key},

		"GET /organization/{orgId}/observability/sessions/{id}":              {"id": w.agentSession},
		"GET /organization/{orgId}/observability/traces/{id}":                {"id": w.trace},
		"GET /organization/{orgId}/observability/traces/{id}/spans/{spanId}": {"id": w.trace, "spanId": w.span},
		"GET /organization/{orgId}/observability/traces/{id}/decisions":      {"id": w.trace},
		"GET /organization/{orgId}/observability/policies/{policyId}":        {"policyId": w.policy},

		"GET /organization/{orgId}/observability/sessions/{id}/export": {"id": w.agentSession},
		"GET /organization/{orgId}/observability/traces/{id}/export":   {"id": w.trace},

		"GET /blog/{slug}":                       {"slug": "none-of-ours"},
		"GET /policies/yaml/templates/{name}":    {"name": "none-of-ours"}, // everybody has the same
		"GET /policies/profiles/template/{name}": {"name": "none-of-ours"},

		"GET /policies/profiles/proposals/{id}":    {"id": w.proposal},
		"DELETE /policies/profiles/proposals/{id}": {"id": w.proposal},

		"GET /policy-replays/{replayId}":         {"replayId": w.replay},
		"POST /policy-replays/{replayId}/cancel": {"replayId": w.replay},

		"GET /audit-log/entries/{index}":        {"index": "100000"}, // everybody counts from 0
		"POST /audit-log/entries/{index}/erase": {"index": "100000"},
		"GET /audit-log/findings/{findingId}":   {"findingId": w.finding},

		"GET /delegation/requests/{id}":  {"id": w.approval},
		"DELETE /delegation/allows/{id}": {"id": w.allow},
	}
	maps.Copy(w.foreignIDs, told)
	maps.Copy(w.foreignIDs, registerTenant(s, w))
	maps.Copy(w.foreignIDs, serveTenant(s, w))
	maps.Copy(w.foreignIDs, certifyTenant(s, w))
	maps.Copy(w.foreignIDs, consentTenant(s, w))
	maps.Copy(w.foreignIDs, connectTenant(s, w))
	maps.Copy(w.foreignIDs, identify(s, w))
	maps.Copy(w.foreignIDs, guardTenant(s, w))
	for _, route := range []string{
		"GET /policies/{policyId}", "PUT /policies/{policyId}", "PATCH /policies/{policyId}",
		"DELETE /policies/{policyId}",
		"POST /policies/{policyId}/activate", "POST /policies/{policyId}/deactivate",
		"POST /policies/{policyId}/rollback",
		"POST /policies/{policyId}/shadow", "DELETE /policies/{policyId}/shadow",
		"GET /policies/{policyId}/versions", "GET /policies/{policyId}/versions/{version}",
		"GET /policies/{policyId}/diff",
		"GET /policies/{policyId}/bindings", "PUT /policies/{policyId}/bindings", "POST /policies/{policyId}/bindings",
		"DELETE /policies/{policyId}/bindings/{kind}/{subject}", "GET /policies/yaml/export/{policyId}",
		"GET /policies/{policyId}/findings",
	} {
		w.foreignIDs[route] = map[string]string{
			"policyId": w.draft, "version": "1", "kind": "roles", "subject": "owner",
		}
	}
	for _, route := range []string{
		"GET /iap/plan/{planId}", "GET /iap/plan/{planId}/merkle-tree", "GET /iap/plan/{planId}/steps/{step}/proof",
		"GET /iap/plan/{planId}/report", "POST /iap/plans/{planId}/status", "GET /iap/trust/chain/{planId}",
	} {
		w.foreignIDs[route] = map[string]string{"planId": w.plan, "step": "0"}
	}
	return w
}

// someFinding stores a finding of an organization.
func someFinding(s *testserver.Server, orgID string) string {
	s.T.Helper()
	id := database.NewID()
	err := s.Database.Write(s.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO finding (id, org_id, kind, found_at, happened_at, position, key_id, agent_id, session_id, plan_id,
				tool, decision_id, execution_id, first_seq, last_seq, missing, detail)
			VALUES ($1, $2, 'execution_without_decision', 1, 1, 0, '', '', '', '', '', '', '', 0, 0, 0, '')`, id, orgID)
		return err
	}})
	if err != nil {
		s.T.Fatal(err)
	}
	return id
}

// observe has the tenant's agent do something under its policy.
func observe(s *testserver.Server, w *tenant) {
	s.T.Helper()
	at := time.Now().UTC().Format(time.RFC3339)
	batch := fmt.Sprintf(`{"trace":{"id":%q,"sessionId":%q,"name":%q,"startTime":%q,"status":"denied"},
		"spans":[{"id":%q,"kind":"policy_call","name":"p","startTime":%q,"attributes":{"policyId":%q,"policyName":%q,"decision":"deny"}}]}`,
		w.trace, w.agentSession, w.name, at, w.span, at, w.policy, w.name)
	got, err := s.Public.WithKey(w.agentSecret).Ingest(s.T.Context(), client.Spans{
		Product: w.name, Batches: []json.RawMessage{json.RawMessage(batch)},
	})
	if err != nil || got.Accepted != 1 {
		s.T.Fatalf("observe the tenant: %+v, %v", got, err)
	}
}

// pathIn is the path of a route into the tenant, with an organization id that
// need not be its own.
func (w *tenant) pathIn(r route.Route, orgID string) string {
	values := maps.Clone(w.foreignIDs[r.Method+" "+r.Path])
	if values == nil {
		values = map[string]string{}
	}
	values["orgId"] = orgID
	return pathOf(r, values)
}

// outsider is someone who must not get in.
type outsider struct {
	name   string
	header http.Header
	status int
}

func outsiders(s *testserver.Server, w *tenant) []outsider {
	s.T.Helper()
	other := newTenant(s, "Elsewhere")
	former := s.Join(w.owner, w.org, "admin")
	if err := w.owner.RemoveMember(s.T.Context(), w.org, former.ID); err != nil {
		s.T.Fatal(err)
	}
	return []outsider{
		{
			"the owner of another organization", testserver.WithBearer(other.owner.Tokens.AccessToken),
			http.StatusForbidden,
		},
		{
			"a person in no organization", testserver.WithBearer(s.Person("loner").Tokens.AccessToken),
			http.StatusForbidden,
		},
		{"a former member", testserver.WithBearer(former.Tokens.AccessToken), http.StatusForbidden},
		{"an agent of another organization", testserver.WithXAPIKey(other.agentSecret), http.StatusUnauthorized},
		{"a terminal of another organization", testserver.WithXAPIKey(other.terminalSecret), http.StatusUnauthorized},
		{"nobody", http.Header{}, http.StatusUnauthorized},
	}
}

// wantNothingLearned checks that an answer holds nothing private that the
// request did not.
func (w *tenant) wantNothingLearned(t *testing.T, what, path string, answer testserver.Reply) {
	t.Helper()
	text := answer.Body
	for _, values := range answer.Header {
		text += "\n" + strings.Join(values, "\n")
	}
	for _, private := range w.private {
		if strings.Contains(text, private) && !strings.Contains(path, private) {
			t.Errorf("%s learns %q: %s", what, private, text)
		}
	}
}

// TestNoRouteAnswersAnotherOrganization covers every route with an organization
// in its path, those to come included.
func TestNoRouteAnswersAnotherOrganization(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newTenant(s, "Secret Harbour")
		outsiders := outsiders(s, w)
		before := s.Dump()
		routes := 0
		for _, r := range s.API.Routes() {
			if !r.OrganizationScoped() {
				continue
			}
			routes++
			for _, o := range outsiders {
				what := r.Method + " " + r.Path + " by " + o.name
				path := w.pathIn(r, w.org)
				got := s.Send(r.Method, path, o.header, plausibleBody)
				if got.Status != o.status {
					t.Errorf("%s: status %d, want %d: %s", what, got.Status, o.status, got.Body)
				}
				w.wantNothingLearned(t, what, path, got)
				unknown := s.Send(r.Method, w.pathIn(r, database.NewID()), o.header, plausibleBody)
				if diff := testserver.DiffReplies(unknown.WithoutRequestID(t), got.WithoutRequestID(t)); diff != "" {
					t.Errorf("%s: can be told from an unknown organization (-unknown +got):\n%s", what, diff)
				}
			}
			if r.Method != http.MethodGet {
				continue
			}
			got := s.Send(r.Method, w.pathIn(r, w.org), testserver.WithBearer(w.owner.Tokens.AccessToken), "")
			if got.Status == http.StatusUnauthorized || got.Status == http.StatusForbidden {
				t.Errorf("%s %s refuses even the owner: %s", r.Method, r.Path, got.Body)
			}
		}
		if routes < 9 {
			t.Errorf("%d organization-scoped routes, want at least those of members", routes)
		}
		if diff := cmp.Diff(before, s.Dump()); diff != "" {
			t.Errorf("outsiders changed something (-before +after):\n%s", diff)
		}
	})
}

func TestMalformedOrganizations(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newTenant(s, "Secret Harbour")
		outsiders := append(outsiders(s, w), outsider{
			"its own owner", testserver.WithBearer(w.owner.Tokens.AccessToken), http.StatusForbidden,
		})
		before := s.Dump()
		for _, malformed := range []string{
			"x", "0", "null", "*", "%", strings.ToUpper(w.org), " " + w.org, w.org + " ", w.org + "\x00",
			w.org + "\xff", "{" + w.org + "}",
			"urn:uuid:" + w.org, strings.ReplaceAll(w.org, "-", ""), w.org + "," + w.org, w.name, "' OR '1'='1",
			strings.Repeat("a", 2000),
		} {
			for _, r := range s.API.Routes() {
				if !r.OrganizationScoped() {
					continue
				}
				for _, o := range outsiders {
					got := s.Send(r.Method, w.pathIn(r, malformed), o.header, plausibleBody)
					if got.Status != o.status {
						t.Errorf("%s %s with %.50q by %s: status %d, want %d: %s", r.Method, r.Path, malformed, o.name,
							got.Status, o.status, got.Body)
					}
				}
			}
		}
		if diff := cmp.Diff(before, s.Dump()); diff != "" {
			t.Errorf("something changed (-before +after):\n%s", diff)
		}
	})
}

// TestForeignIDsAreUnknown asks within one's own organization, or without any,
// for what belongs to another.
func TestForeignIDsAreUnknown(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w, other := newTenant(s, "Secret Harbour"), newTenant(s, "Elsewhere")
		colleague := s.Join(w.owner, w.org, "member")
		before := s.Dump()
		compare := func(r route.Route, who string, header http.Header, foreign, unknown map[string]string) {
			t.Helper()
			what := r.Method + " " + r.Path + " by " + who
			path := pathOf(r, foreign)
			got := s.Send(r.Method, path, header, bodyFor(r))
			w.wantNothingLearned(t, what, path, got)
			isRead := strings.Contains(r.Path, "/observability/") && !strings.HasSuffix(r.Path, "/export")
			if isRead { // 200 by the specification, see wantNothingThere
				for _, path := range []string{path, pathOf(r, unknown)} {
					wantNothingThere(t, path, s.Request(t, r.Method, path, "", "Authorization",
						header.Get("Authorization")))
				}
				return
			}
			want := s.Send(r.Method, pathOf(r, unknown), header, bodyFor(r))
			if got.Status != http.StatusNotFound {
				t.Errorf("%s: status %d, want 404: %s", what, got.Status, got.Body)
			}
			if diff := testserver.DiffReplies(want.WithoutRequestID(t), got.WithoutRequestID(t)); diff != "" {
				t.Errorf("%s: a foreign id can be told from an unknown one (-unknown +foreign):\n%s", what, diff)
			}
		}
		for _, r := range s.API.Routes() {
			if len(pathVariable.FindAllString(strings.ReplaceAll(r.Path, "{orgId}", ""), -1)) == 0 {
				continue
			}
			if r.Operators {
				continue // see TestOperatorsOnly: it belongs to no organization
			}
			foreign := maps.Clone(w.foreignIDs[r.Method+" "+r.Path])
			if foreign == nil {
				t.Errorf("%s %s: foreignIDs names no id of another organization", r.Method, r.Path)
				continue
			}
			unknown := map[string]string{}
			if r.OrganizationScoped() {
				foreign["orgId"], unknown["orgId"] = other.org, other.org
			}
			if r.Mode == route.Proxy {
				compare(r, "the proxy of another's key", byProxy(other.agentSecret), foreign, unknown)
			}
			if r.Mode == route.Person || r.Mode == route.PersonOrKey {
				compare(r, "another's owner", testserver.WithBearer(other.owner.Tokens.AccessToken), foreign, unknown)
			}
			if r.Mode == route.Key || r.Mode == route.PersonOrKey || r.Mode == route.Agent {
				secret := other.terminalSecret
				if r.Scope == principal.DraftPolicy {
					secret = other.draftSecret
				}
				compare(r, "another's key", testserver.WithXAPIKey(secret), foreign, unknown)
			}
			if !strings.HasPrefix(r.Path, "/api-keys/") {
				continue
			}
			for name, id := range map[string]string{
				"malformed": "x", "upper case": strings.ToUpper(w.key), "hostile": "' OR 1=1 --\x00",
			} {
				compare(r, "its owner with an id "+name, testserver.WithBearer(w.owner.Tokens.AccessToken),
					map[string]string{"id": id}, nil)
			}
			compare(r, "a colleague", testserver.WithBearer(colleague.Tokens.AccessToken), foreign, nil)
			compare(r, "another, of an unbound key", testserver.WithBearer(other.owner.Tokens.AccessToken),
				map[string]string{"id": w.unboundKey}, nil)
			compare(r, "a colleague, of an unbound key", testserver.WithBearer(colleague.Tokens.AccessToken),
				map[string]string{"id": w.unboundKey}, nil)
		}
		if diff := cmp.Diff(before, s.Dump()); diff != "" {
			t.Errorf("something changed (-before +after):\n%s", diff)
		}
	}, testserver.AsProxied...)
}
