package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
)

// tenancyAnswer is an answer as it came.
type tenancyAnswer struct {
	status int
	header http.Header
	body   string
}

// tenancyCall sends exactly these headers, for what the client would not send.
func (s *server) tenancyCall(method, path string, header http.Header, body string) tenancyAnswer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.public.BaseURL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	request.Header = header.Clone()
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	content, err := readAll(response)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return tenancyAnswer{response.StatusCode, response.Header, string(content)}
}

// members decodes a body that is an object.
func (a tenancyAnswer) members(t *testing.T) map[string]any {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(a.body), &members); err != nil {
		t.Fatalf("decode %q: %v", a.body, err)
	}
	return members
}

// withoutRequestID is the answer without what differs from request to request.
func (a tenancyAnswer) withoutRequestID(t *testing.T) tenancyAnswer {
	t.Helper()
	a.header = a.header.Clone()
	a.header.Del("Date")
	a.header.Del("X-Request-Id")
	members := a.members(t)
	if members["requestId"] == nil {
		t.Errorf("no requestId in %s", a.body)
	}
	delete(members, "requestId")
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	a.body = string(text)
	return a
}

func diffAnswers(a, b tenancyAnswer) string {
	return cmp.Diff(a, b, cmp.AllowUnexported(tenancyAnswer{}))
}

// withXAPIKey is how published command lines send a key.
func withXAPIKey(key string) http.Header { return http.Header{"X-Api-Key": {key}} }

func withBearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func TestTerminalListsOrganizations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		p := s.person("dev")
		here, there := s.organization(p, "Here"), s.organization(p, "There")
		s.bareMember(there, "viewer")
		s.organization(s.person("stranger"), "Hidden")
		closed := s.organization(p, "Closed")
		if err := p.CloseOrganization(t.Context(), closed); err != nil {
			t.Fatal(err)
		}
		key := s.terminalKey(p, here)
		answer := s.tenancyCall(http.MethodGet, "/iap/sdk/orgs", withXAPIKey(key.APIKey), "")
		want := map[string]any{"data": []any{
			map[string]any{"name": "Here", "orgId": here, "userRole": "owner", "memberCount": 1.0, "active": true},
			map[string]any{"name": "There", "orgId": there, "userRole": "owner", "memberCount": 2.0, "active": false},
		}}
		if diff := cmp.Diff(want, answer.members(t)); diff != "" || answer.status != http.StatusOK {
			t.Errorf("status %d (-want +got):\n%s", answer.status, diff)
		}
		list, err := key.TerminalOrganizations(t.Context())
		if err != nil || len(list) != 2 ||
			list[1] != (client.TerminalOrganization{Name: "There", OrgID: there, UserRole: "owner", MemberCount: 2}) {
			t.Errorf("through the client: %+v, %v", list, err)
		}
	})
}

func TestTerminalSwitchesOrganization(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		p := s.person("dev")
		here, there := s.organization(p, "Here"), s.organization(p, "There & then")
		key := s.terminalKey(p, here)
		byID := s.tenancyCall(http.MethodPost, "/iap/sdk/switch-org", withXAPIKey(key.APIKey), `{"org":"`+there+`"}`)
		got := byID.members(t)
		secret, _ := got["api_key"].(string)
		delete(got, "api_key")
		if diff := cmp.Diff(map[string]any{"org_id": there, "org_name": "There & then"}, got); diff != "" ||
			byID.status != http.StatusOK {
			t.Fatalf("by id: status %d (-want +got):\n%s", byID.status, diff)
		}
		byName, err := key.SwitchOrganization(ctx, " There & then ", "laptop")
		if err != nil || byName.OrgID != there || byName.OrgName != "There & then" || byName.APIKey == secret {
			t.Fatalf("by name: %+v, %v", byName, err)
		}
		names := map[string]string{secret: "cli-" + s.Database.Now().Format("2006-01-02"), byName.APIKey: "laptop"}
		for text, name := range names {
			fresh := s.public.WithKey(text)
			current, err := fresh.CurrentKey(ctx)
			if err != nil || current.OrganizationID == nil || *current.OrganizationID != there ||
				current.OwnerID != p.ID {
				t.Fatalf("key %s: %+v, %v", name, current, err)
			}
			want := []string{"audit", "cli", "delegation.request", "enforce", "ingest"}
			if diff := cmp.Diff(want, current.Scopes); diff != "" {
				t.Errorf("scopes of %s (-want +got):\n%s", name, diff)
			}
			listed, err := fresh.Keys(ctx, "", client.List{})
			if err != nil || len(listed.Items) != 2 {
				t.Fatalf("keys of the new organization: %+v, %v", listed, err)
			}
			found := false
			for _, k := range listed.Items {
				found = found || k.ID == current.ID && k.Name == name
			}
			if !found {
				t.Errorf("no key named %s in %+v", name, listed.Items)
			}
			orgs, err := fresh.TerminalOrganizations(ctx)
			if err != nil || orgs[0].Active || !orgs[1].Active {
				t.Errorf("the new key's organizations: %+v, %v", orgs, err)
			}
		}
		if _, err := key.CurrentKey(ctx); err != nil {
			t.Errorf("the old key: %v", err)
		}
		if _, err := key.SwitchOrganization(ctx, here, "  "); err != nil {
			t.Errorf("to where it is, with a blank name: %v", err)
		}
	})
}

func TestRefusedSwitches(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		p, stranger := s.person("dev"), s.person("stranger")
		here := s.organization(p, "Here")
		s.organization(p, "Twin")
		s.organization(p, "Twin")
		foreign := s.organization(stranger, "Foreign")
		closed := s.organization(p, "Closed")
		if err := p.CloseOrganization(ctx, closed); err != nil {
			t.Fatal(err)
		}
		key := s.terminalKey(p, here)
		send := func(body string) tenancyAnswer {
			return s.tenancyCall(http.MethodPost, "/iap/sdk/switch-org", withXAPIKey(key.APIKey), body)
		}
		unknown := send(`{"org":"` + database.NewID() + `"}`).withoutRequestID(t)
		if unknown.status != http.StatusForbidden {
			t.Errorf("an unknown organization: status %d", unknown.status)
		}
		for _, org := range []string{foreign, "Foreign", closed, "Closed", "here", "No such"} {
			if diff := diffAnswers(unknown, send(`{"org":"`+org+`"}`).withoutRequestID(t)); diff != "" {
				t.Errorf("%q can be told from an unknown organization (-unknown +got):\n%s", org, diff)
			}
		}
		_, err := key.SwitchOrganization(ctx, "Twin", "")
		wantInvalidField(t, "a name of two", err, "org")
		s.putMember(foreign, p.ID, "viewer")
		_, err = key.SwitchOrganization(ctx, foreign, "")
		wantStatus(t, "as a viewer, who has no keys", err, http.StatusForbidden)
		for body, field := range map[string]string{
			`{}`: "org", `{"org":""}`: "org", `{"org":null}`: "org", `{"org":5}`: "org", `{"ORG":"Here"}`: "org",
			`{"org":"` + strings.Repeat("a", 201) + `"}`:                  "org",
			`{"org":"Here","keyName":"` + strings.Repeat("a", 101) + `"}`: "keyName",
			`{"org":"Here","keyName":["a"]}`:                              "keyName",
			`{"org":"Here","keyName":"two\nlines"}`:                       "keyName",
			`{"org":"Here","keyName":"nul\u0000"}`:                        "keyName",
		} {
			var out any
			err := key.Call(ctx, http.MethodPost, "/iap/sdk/switch-org", nil, json.RawMessage(body), &out)
			wantInvalidField(t, body, err, field)
		}
		keys, err := p.Keys(ctx, "", client.List{})
		if err != nil || len(keys.Items) != 1 {
			t.Errorf("keys after all refusals: %+v, %v", keys, err)
		}
	})
}

// TestTerminalManagesKeys makes the calls of published command lines: the key
// in x-api-key, an empty object as body.
func TestTerminalManagesKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		p := s.person("dev")
		org, other := s.organization(p, "Here"), s.organization(p, "Other")
		own, elsewhere := s.agentKey(p, org), s.keyFor(p.ID, other)
		foreign := s.keyFor(s.bareMember(org, "member"), org)
		key := s.terminalKey(p, org)
		self, err := key.CurrentKey(ctx)
		if err != nil {
			t.Fatal(err)
		}
		answer := s.tenancyCall(http.MethodGet, "/api-keys", withXAPIKey(key.APIKey), "")
		body := answer.members(t)
		data, _ := body["data"].([]any)
		if answer.status != http.StatusOK || len(data) != 2 || body["hasMore"] != false {
			t.Fatalf("the owner's keys here: status %d, %s", answer.status, answer.body)
		}
		listed, _ := data[1].(map[string]any)
		want := map[string]any{
			"id": own.ID, "name": "agent", "organizationId": org, "ownerId": p.ID, "environment": "sandbox",
			"product": "",
			"scopes":  []any{"audit", "delegation.request", "enforce", "ingest"}, "prefix": own.APIKey[:16],
			"status":    "active",
			"createdAt": listed["createdAt"], "expiresAt": nil, "lastUsedAt": nil, "revokedAt": nil,
		}
		if diff := cmp.Diff(want, listed); diff != "" {
			t.Errorf("a key (-want +got):\n%s", diff)
		}
		if _, ok := listed["createdAt"].(string); !ok {
			t.Errorf("createdAt is %v, want text", listed["createdAt"])
		}

		revoke := func(id string) tenancyAnswer {
			return s.tenancyCall(http.MethodPost, "/api-keys/"+id+"/revoke", withXAPIKey(key.APIKey), `{}`)
		}
		if got := revoke(self.ID); got.status != http.StatusConflict ||
			!strings.Contains(got.body, "key you are calling with") {
			t.Errorf("revoke itself: status %d, %s", got.status, got.body)
		}
		if got := revoke(foreign.ID); got.status != http.StatusNotFound {
			t.Errorf("revoke a colleague's, whatever the owner's role: status %d, %s", got.status, got.body)
		}
		got := revoke(own.ID)
		if diff := cmp.Diff(map[string]any{"id": own.ID, "status": "revoked"}, got.members(t)); diff != "" ||
			got.status != http.StatusOK {
			t.Errorf("revoke: status %d (-want +got):\n%s", got.status, diff)
		}
		_, err = s.public.WithKey(own.APIKey).CurrentKey(ctx)
		wantStatus(t, "the revoked key", err, http.StatusUnauthorized)
		for name, secret := range map[string]string{
			"itself": key.APIKey, "a colleague's": foreign.Secret.Reveal(), "elsewhere": elsewhere.Secret.Reveal(),
		} {
			if _, err := s.public.WithKey(secret).CurrentKey(ctx); err != nil {
				t.Errorf("%s after: %v", name, err)
			}
		}
	})
}
