package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/api"
	"writ/internal/database"
)

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// pathOf is a route's path with its parameters filled in. A parameter without a
// value gets an id that nobody has.
func pathOf(r api.Route, values map[string]string) string {
	return pathVariable.ReplaceAllStringFunc(r.Path, func(parameter string) string {
		value, ok := values[strings.Trim(parameter, "{}")]
		if !ok {
			value = database.NewID()
		}
		return url.PathEscape(value)
	})
}

// plausibleBody has something for every member a body of ours may ask for.
const plausibleBody = `{"name":"Taken over","email":"someone@example.org","role":"owner","token":"inv_x","product":"p"}`

// tenant is an organization with something in it of everything that has an id.
type tenant struct {
	owner           *person
	org, name       string
	member, invite  string // ids
	key, unboundKey string // ids of the owner's
	session         string // id of the owner's

	agentSecret, terminalSecret string // keys themselves

	foreignIDs map[string]map[string]string // by route, then path parameter
	private    []string                     // what nobody else may learn
}

func (s *server) tenant(name string) *tenant {
	s.t.Helper()
	w := &tenant{owner: s.person("owner"), name: name}
	w.org = s.organization(w.owner, name)
	w.member, w.invite, w.key = s.bareMember(w.org, "member"), s.openInvite(w.org, "member"), s.keyFor(w.owner.ID, w.org).ID
	w.unboundKey = s.keyFor(w.owner.ID, "").ID
	w.agentSecret, w.terminalSecret = s.keyFor(w.owner.ID, w.org).Secret.Reveal(), s.terminalKey(w.owner, w.org).APIKey
	sessions, err := w.owner.Sessions(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	w.session = sessions[0].ID
	w.private = []string{name, w.org, w.owner.ID, w.owner.Email, w.member, w.invite, w.key, w.session}
	// A new route with an id in its path has to name one here.
	w.foreignIDs = map[string]map[string]string{
		"PATCH /organization/{orgId}/members/{userId}/role": {"userId": w.member},
		"DELETE /organization/{orgId}/members/{userId}":     {"userId": w.member},
		"DELETE /organization/{orgId}/invites/{id}":         {"id": w.invite},
		"DELETE /auth/sessions/{id}":                        {"id": w.session},
		"POST /api-keys/{id}/revoke":                        {"id": w.key},
		"POST /api-keys/{id}/rotate":                        {"id": w.key},
	}
	return w
}

// pathIn is the path of a route into the tenant, with an organization id that
// need not be its own.
func (w *tenant) pathIn(r api.Route, orgID string) string {
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

func (s *server) outsiders(w *tenant) []outsider {
	s.t.Helper()
	other := s.tenant("Elsewhere")
	former := s.join(w.owner, w.org, "admin")
	if err := w.owner.RemoveMember(s.t.Context(), w.org, former.ID); err != nil {
		s.t.Fatal(err)
	}
	return []outsider{
		{"the owner of another organization", withBearer(other.owner.Tokens.AccessToken), http.StatusForbidden},
		{"a person in no organization", withBearer(s.person("loner").Tokens.AccessToken), http.StatusForbidden},
		{"a former member", withBearer(former.Tokens.AccessToken), http.StatusForbidden},
		{"an agent of another organization", withXAPIKey(other.agentSecret), http.StatusUnauthorized},
		{"a terminal of another organization", withXAPIKey(other.terminalSecret), http.StatusUnauthorized},
		{"nobody", http.Header{}, http.StatusUnauthorized},
	}
}

// wantNothingLearned checks that an answer holds nothing private that the
// request did not.
func (w *tenant) wantNothingLearned(t *testing.T, what, path string, answer tenancyAnswer) {
	t.Helper()
	text := answer.body
	for _, values := range answer.header {
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
	each(t, func(t *testing.T, s *server) {
		w := s.tenant("Secret Harbour")
		outsiders := s.outsiders(w)
		before := s.dump()
		routes := 0
		for _, r := range s.API.Routes() {
			if !r.OrganizationScoped() {
				continue
			}
			routes++
			for _, o := range outsiders {
				what := r.Method + " " + r.Path + " by " + o.name
				path := w.pathIn(r, w.org)
				got := s.tenancyCall(r.Method, path, o.header, plausibleBody)
				if got.status != o.status {
					t.Errorf("%s: status %d, want %d: %s", what, got.status, o.status, got.body)
				}
				w.wantNothingLearned(t, what, path, got)
				unknown := s.tenancyCall(r.Method, w.pathIn(r, database.NewID()), o.header, plausibleBody)
				if diff := diffAnswers(unknown.withoutRequestID(t), got.withoutRequestID(t)); diff != "" {
					t.Errorf("%s: can be told from an unknown organization (-unknown +got):\n%s", what, diff)
				}
			}
			if r.Method != http.MethodGet {
				continue
			}
			got := s.tenancyCall(r.Method, w.pathIn(r, w.org), withBearer(w.owner.Tokens.AccessToken), "")
			if got.status == http.StatusUnauthorized || got.status == http.StatusForbidden {
				t.Errorf("%s %s refuses even the owner: %s", r.Method, r.Path, got.body)
			}
		}
		if routes < 9 {
			t.Errorf("%d organization-scoped routes, want at least those of members", routes)
		}
		if diff := cmp.Diff(before, s.dump()); diff != "" {
			t.Errorf("outsiders changed something (-before +after):\n%s", diff)
		}
	})
}

func TestMalformedOrganizations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		w := s.tenant("Secret Harbour")
		outsiders := append(s.outsiders(w), outsider{"its own owner", withBearer(w.owner.Tokens.AccessToken), http.StatusForbidden})
		before := s.dump()
		for _, malformed := range []string{
			"x", "0", "null", "*", "%", strings.ToUpper(w.org), " " + w.org, w.org + " ", w.org + "\x00", w.org + "\xff", "{" + w.org + "}",
			"urn:uuid:" + w.org, strings.ReplaceAll(w.org, "-", ""), w.org + "," + w.org, w.name, "' OR '1'='1", strings.Repeat("a", 2000),
		} {
			for _, r := range s.API.Routes() {
				if !r.OrganizationScoped() {
					continue
				}
				for _, o := range outsiders {
					got := s.tenancyCall(r.Method, w.pathIn(r, malformed), o.header, plausibleBody)
					if got.status != o.status {
						t.Errorf("%s %s with %.50q by %s: status %d, want %d: %s", r.Method, r.Path, malformed, o.name, got.status, o.status, got.body)
					}
				}
			}
		}
		if diff := cmp.Diff(before, s.dump()); diff != "" {
			t.Errorf("something changed (-before +after):\n%s", diff)
		}
	})
}

// TestForeignIDsAreUnknown asks within one's own organization, or without any,
// for what belongs to another.
func TestForeignIDsAreUnknown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		w, other := s.tenant("Secret Harbour"), s.tenant("Elsewhere")
		colleague := s.join(w.owner, w.org, "member")
		before := s.dump()
		compare := func(r api.Route, who string, header http.Header, foreign, unknown map[string]string) {
			t.Helper()
			what := r.Method + " " + r.Path + " by " + who
			path := pathOf(r, foreign)
			got, want := s.tenancyCall(r.Method, path, header, plausibleBody), s.tenancyCall(r.Method, pathOf(r, unknown), header, plausibleBody)
			if got.status != http.StatusNotFound {
				t.Errorf("%s: status %d, want 404: %s", what, got.status, got.body)
			}
			w.wantNothingLearned(t, what, path, got)
			if diff := diffAnswers(want.withoutRequestID(t), got.withoutRequestID(t)); diff != "" {
				t.Errorf("%s: a foreign id can be told from an unknown one (-unknown +foreign):\n%s", what, diff)
			}
		}
		for _, r := range s.API.Routes() {
			if len(pathVariable.FindAllString(strings.ReplaceAll(r.Path, "{orgId}", ""), -1)) == 0 {
				continue
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
			if r.Mode == api.JWT || r.Mode == api.Either {
				compare(r, "another's owner", withBearer(other.owner.Tokens.AccessToken), foreign, unknown)
			}
			if r.Mode == api.Key || r.Mode == api.Either {
				compare(r, "another's terminal", withXAPIKey(other.terminalSecret), foreign, unknown)
			}
			if !strings.HasPrefix(r.Path, "/api-keys/") {
				continue
			}
			for name, id := range map[string]string{"malformed": "x", "upper case": strings.ToUpper(w.key), "hostile": "' OR 1=1 --\x00"} {
				compare(r, "its owner with an id "+name, withBearer(w.owner.Tokens.AccessToken), map[string]string{"id": id}, nil)
			}
			compare(r, "a colleague", withBearer(colleague.Tokens.AccessToken), foreign, nil)
			compare(r, "another, of an unbound key", withBearer(other.owner.Tokens.AccessToken), map[string]string{"id": w.unboundKey}, nil)
			compare(r, "a colleague, of an unbound key", withBearer(colleague.Tokens.AccessToken), map[string]string{"id": w.unboundKey}, nil)
		}
		if diff := cmp.Diff(before, s.dump()); diff != "" {
			t.Errorf("something changed (-before +after):\n%s", diff)
		}
	})
}

// organizationNames are the members and parameters that name an organization.
var organizationNames = []string{"organizationId", "orgId", "organization_id", "org_id", "org"}

// TestNamedOrganizationsAreChecked covers routes that take an organization
// elsewhere than in the path. It finds them in the published description.
func TestNamedOrganizationsAreChecked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		w := s.tenant("Secret Harbour")
		outsiders := s.outsiders(w)
		inBody := func(member string) func(org string) (query, body string) {
			return func(org string) (string, string) {
				return "", `{"name":"n","product":"p","` + member + `":"` + org + `"}`
			}
		}
		cases := map[string]func(org string) (query, body string){
			"POST /api-keys":           inBody("organizationId"),
			"POST /api-keys/provision": inBody("organizationId"),
			"POST /iap/sdk/switch-org": inBody("org"),
			"GET /api-keys":            func(org string) (string, string) { return "?organizationId=" + org, "" },
		}
		named := s.namedOrganizations()
		if diff := cmp.Diff(slices.Sorted(maps.Keys(cases)), named); diff != "" {
			t.Fatalf("routes that name an organization outside of their path (-cases +described):\n%s", diff)
		}
		before := s.dump()
		for _, r := range s.API.Routes() {
			build := cases[r.Method+" "+r.Path]
			if build == nil {
				continue
			}
			for _, o := range outsiders {
				what := r.Method + " " + r.Path + " by " + o.name
				query, body := build(w.org)
				got := s.tenancyCall(r.Method, r.Path+query, o.header, body)
				if got.status != http.StatusUnauthorized && got.status != http.StatusForbidden {
					t.Errorf("%s: status %d, want 401 or 403: %s", what, got.status, got.body)
				}
				w.wantNothingLearned(t, what, query+body, got)
				query, body = build(database.NewID())
				unknown := s.tenancyCall(r.Method, r.Path+query, o.header, body)
				if diff := diffAnswers(unknown.withoutRequestID(t), got.withoutRequestID(t)); diff != "" {
					t.Errorf("%s: can be told from an unknown organization (-unknown +got):\n%s", what, diff)
				}
			}
		}
		if diff := cmp.Diff(before, s.dump()); diff != "" {
			t.Errorf("outsiders changed something (-before +after):\n%s", diff)
		}
	})
}

// namedOrganizations lists the operations with a body member or a query
// parameter that names an organization.
func (s *server) namedOrganizations() []string {
	s.t.Helper()
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
	answer := s.tenancyCall(http.MethodGet, "/openapi.json", http.Header{}, "")
	if err := json.Unmarshal([]byte(answer.body), &described); err != nil {
		s.t.Fatalf("decode the description: %v", err)
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
				referred := described.Components.Schemas[strings.TrimPrefix(content.Schema.Ref, "#/components/schemas/")]
				names = slices.Concat(names, slices.Collect(maps.Keys(content.Schema.Properties)), slices.Collect(maps.Keys(referred.Properties)))
			}
			if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(organizationNames, name) }) {
				found = append(found, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(found)
	return found
}
