package organizations_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

func TestTerminalListsOrganizations(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("dev")
		here, there := s.Organization(p, "Here"), s.Organization(p, "There")
		s.BareMember(there, "viewer")
		s.Organization(s.Person("stranger"), "Hidden")
		closed := s.Organization(p, "Closed")
		if err := p.CloseOrganization(t.Context(), closed); err != nil {
			t.Fatal(err)
		}
		key := s.TerminalKey(p, here)
		answer := s.Send(http.MethodGet, "/iap/sdk/orgs", testserver.WithXAPIKey(key.APIKey), "")
		want := map[string]any{"data": []any{
			map[string]any{"name": "Here", "orgId": here, "userRole": "owner", "memberCount": 1.0, "active": true},
			map[string]any{"name": "There", "orgId": there, "userRole": "owner", "memberCount": 2.0, "active": false},
		}}
		if diff := cmp.Diff(want, answer.Members(t)); diff != "" || answer.Status != http.StatusOK {
			t.Errorf("status %d (-want +got):\n%s", answer.Status, diff)
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("dev")
		here, there := s.Organization(p, "Here"), s.Organization(p, "There & then")
		key := s.TerminalKey(p, here)
		byID := s.Send(http.MethodPost, "/iap/sdk/switch-org", testserver.WithXAPIKey(key.APIKey),
			`{"org":"`+there+`"}`)
		got := byID.Members(t)
		secret, _ := got["api_key"].(string)
		delete(got, "api_key")
		if diff := cmp.Diff(map[string]any{"org_id": there, "org_name": "There & then"}, got); diff != "" ||
			byID.Status != http.StatusOK {
			t.Fatalf("by id: status %d (-want +got):\n%s", byID.Status, diff)
		}
		byName, err := key.SwitchOrganization(ctx, " There & then ", "laptop")
		if err != nil || byName.OrgID != there || byName.OrgName != "There & then" || byName.APIKey == secret {
			t.Fatalf("by name: %+v, %v", byName, err)
		}
		names := map[string]string{secret: "cli-" + s.Database.Now().Format("2006-01-02"), byName.APIKey: "laptop"}
		for text, name := range names {
			fresh := s.Public.WithKey(text)
			current, err := fresh.CurrentKey(ctx)
			if err != nil || current.OrganizationID == nil || *current.OrganizationID != there ||
				current.OwnerID != p.ID {
				t.Fatalf("key %s: %+v, %v", name, current, err)
			}
			want := []string{"audit", "cli", "delegation.request", "enforce", "ingest", "profile.propose"}
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p, stranger := s.Person("dev"), s.Person("stranger")
		here := s.Organization(p, "Here")
		s.Organization(p, "Twin")
		s.Organization(p, "Twin")
		foreign := s.Organization(stranger, "Foreign")
		closed := s.Organization(p, "Closed")
		if err := p.CloseOrganization(ctx, closed); err != nil {
			t.Fatal(err)
		}
		key := s.TerminalKey(p, here)
		send := func(body string) testserver.Reply {
			return s.Send(http.MethodPost, "/iap/sdk/switch-org", testserver.WithXAPIKey(key.APIKey), body)
		}
		unknown := send(`{"org":"` + database.NewID() + `"}`).WithoutRequestID(t)
		if unknown.Status != http.StatusForbidden {
			t.Errorf("an unknown organization: status %d", unknown.Status)
		}
		for _, org := range []string{foreign, "Foreign", closed, "Closed", "here", "No such"} {
			if diff := testserver.DiffReplies(unknown, send(`{"org":"`+org+`"}`).WithoutRequestID(t)); diff != "" {
				t.Errorf("%q can be told from an unknown organization (-unknown +got):\n%s", org, diff)
			}
		}
		_, err := key.SwitchOrganization(ctx, "Twin", "")
		wantInvalidField(t, "a name of two", err, "org")
		s.PutMember(foreign, p.ID, "viewer")
		_, err = key.SwitchOrganization(ctx, foreign, "")
		testserver.WantStatus(t, "as a viewer, who has no keys", err, http.StatusForbidden)
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("dev")
		org, other := s.Organization(p, "Here"), s.Organization(p, "Other")
		own, elsewhere := s.AgentKey(p, org), s.KeyFor(p.ID, other)
		foreign := s.KeyFor(s.BareMember(org, "member"), org)
		key := s.TerminalKey(p, org)
		self, err := key.CurrentKey(ctx)
		if err != nil {
			t.Fatal(err)
		}
		answer := s.Send(http.MethodGet, "/api-keys", testserver.WithXAPIKey(key.APIKey), "")
		body := answer.Members(t)
		data, _ := body["data"].([]any)
		if answer.Status != http.StatusOK || len(data) != 2 || body["hasMore"] != false {
			t.Fatalf("the owner's keys here: status %d, %s", answer.Status, answer.Body)
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

		revoke := func(id string) testserver.Reply {
			return s.Send(http.MethodPost, "/api-keys/"+id+"/revoke", testserver.WithXAPIKey(key.APIKey), `{}`)
		}
		if got := revoke(self.ID); got.Status != http.StatusConflict ||
			!strings.Contains(got.Body, "key you are calling with") {
			t.Errorf("revoke itself: status %d, %s", got.Status, got.Body)
		}
		if got := revoke(foreign.ID); got.Status != http.StatusNotFound {
			t.Errorf("revoke a colleague's, whatever the owner's role: status %d, %s", got.Status, got.Body)
		}
		got := revoke(own.ID)
		if diff := cmp.Diff(map[string]any{"id": own.ID, "status": "revoked"}, got.Members(t)); diff != "" ||
			got.Status != http.StatusOK {
			t.Errorf("revoke: status %d (-want +got):\n%s", got.Status, diff)
		}
		_, err = s.Public.WithKey(own.APIKey).CurrentKey(ctx)
		testserver.WantStatus(t, "the revoked key", err, http.StatusUnauthorized)
		for name, secret := range map[string]string{
			"itself": key.APIKey, "a colleague's": foreign.Secret.Reveal(), "elsewhere": elsewhere.Secret.Reveal(),
		} {
			if _, err := s.Public.WithKey(secret).CurrentKey(ctx); err != nil {
				t.Errorf("%s after: %v", name, err)
			}
		}
	})
}
