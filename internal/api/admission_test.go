package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/api/route"
	"writ/internal/principal"
	"writ/internal/testserver"
)

func TestWaysToSendAKey(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("dev")
		key := s.TerminalKey(p, s.Organization(p, "Here")).APIKey
		other := s.TerminalKey(p, s.Organization(p, "There")).APIKey
		for name, c := range map[string]struct {
			header http.Header
			status int
		}{
			"x-api-key":               {testserver.WithXAPIKey(key), 200},
			"bearer":                  {testserver.WithBearer(key), 200},
			"bearer in other case":    {http.Header{"Authorization": {"bearer " + key}}, 200},
			"doubled":                 {testserver.WithXAPIKey(key + ", " + key), 200},
			"doubled without a space": {testserver.WithXAPIKey(key + "," + key), 200},
			"doubled bearer":          {http.Header{"Authorization": {"Bearer " + key + ", Bearer " + key}}, 200},
			"header twice":            {http.Header{"X-Api-Key": {key, key}}, 200},
			"both headers":            {http.Header{"X-Api-Key": {key}, "Authorization": {"Bearer " + key}}, 200},
			"two keys":                {testserver.WithXAPIKey(key + ", " + other), 401},
			"two keys in two headers": {http.Header{"X-Api-Key": {key}, "Authorization": {"Bearer " + other}}, 401},
			"a key and a token": {
				http.Header{"X-Api-Key": {key}, "Authorization": {"Bearer " + p.Tokens.AccessToken}}, 401,
			},
			"a token in x-api-key": {testserver.WithXAPIKey(p.Tokens.AccessToken), 401},
			"a token":              {testserver.WithBearer(p.Tokens.AccessToken), 401},
			"one letter off":       {testserver.WithXAPIKey(key[:len(key)-1] + "g"), 401},
			"in capitals":          {testserver.WithXAPIKey(strings.ToUpper(key)), 401},
			"its prefix":           {testserver.WithXAPIKey(key[:16]), 401},
			"an unknown key":       {testserver.WithXAPIKey("ak_test_" + strings.Repeat("0", 64)), 401},
			"nothing":              {http.Header{}, 401},
			"an empty header":      {testserver.WithXAPIKey(""), 401},
		} {
			got := s.Send(http.MethodGet, "/iap/sdk/orgs", c.header, "")
			if got.Status != c.status {
				t.Errorf("%s: status %d, want %d: %s", name, got.Status, c.status, got.Body)
			}
			if got.Status == http.StatusUnauthorized && got.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: 401 without WWW-Authenticate", name)
			}
		}
		got := s.Send(http.MethodGet, "/api-keys/current", testserver.WithXAPIKey(key+", "+key), "")
		if got.Status != http.StatusOK || got.Members(t)["ownerId"] != p.ID {
			t.Errorf("doubled on another route: status %d, %s", got.Status, got.Body)
		}
	})
}

// TestEveryScopeIsAsked calls each route for keys with a key that has every
// scope a person may ask for but the one the route needs.
func TestEveryScopeIsAsked(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("dev")
		org := s.Organization(p, "Here")
		asked := 0
		for _, r := range s.API.Routes() {
			if r.Scope == "" || r.Scope == "any" {
				continue
			}
			asked++
			var scopes []string
			for _, scope := range principal.RequestableScopes() {
				if scope != r.Scope && !(scope == principal.DraftPolicy && r.Scope == principal.ProposeProfile) {
					scopes = append(scopes, string(scope))
				}
			}
			key, err := p.CreateKey(t.Context(), client.NewKey{Name: "nearly", OrganizationID: org, Scopes: scopes})
			if err != nil {
				t.Fatal(err)
			}
			got := s.Send(r.Method, pathOf(r, map[string]string{"id": s.KeyFor(p.ID, org).ID}),
				testserver.WithXAPIKey(key.APIKey), `{}`)
			if got.Status != http.StatusForbidden || !strings.Contains(got.Body, string(r.Scope)) {
				t.Errorf("%s %s without %s: status %d, %s", r.Method, r.Path, r.Scope, got.Status, got.Body)
			}
		}
		if asked < 5 {
			t.Errorf("%d routes ask for a scope, want at least those of the terminal", asked)
		}
	})
}

// TestWrongKindOfCredential calls every route that is not public with a good
// credential it does not take, and with none.
func TestWrongKindOfCredential(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("dev")
		key, token := s.TerminalKey(p, s.Organization(p, "Here")).APIKey, p.Tokens.AccessToken
		accepted := map[route.Mode][]string{
			route.Person:      {"Authorization: Bearer <access token>"},
			route.Session:     {"Authorization: Bearer <access token>"},
			route.Key:         {"x-api-key: <key>", "Authorization: Bearer <key>"},
			route.PersonOrKey: {"Authorization: Bearer <access token>", "x-api-key"},
			route.Proxy:       {"proxy"},

			route.PlanToken: {"x-api-key: <key>", "Authorization: Bearer <key>", "token"},
			route.Agent:     {"Authorization: Bearer <access token>", "x-api-key"},
		}
		good := map[string]http.Header{
			"a token": testserver.WithBearer(token), "a key": testserver.WithXAPIKey(key),
			"a key as bearer": testserver.WithBearer(key), "nothing": {},
			"another scheme": {"Authorization": {"Basic dXNlcjpwYXNz"}},
		}
		takes := map[route.Mode][]string{
			route.Person: {"a token"}, route.Session: {"a token"}, route.Key: {"a key", "a key as bearer"},
			route.PersonOrKey: {"a token", "a key", "a key as bearer"},
			route.PlanToken:   {"a key", "a key as bearer", "nothing"},
			route.Agent:       {"a key", "a key as bearer"},
		}
		for _, r := range s.API.Routes() {
			if r.Mode == route.Public {
				continue
			}
			for name, header := range good {
				if slices.Contains(takes[r.Mode], name) {
					continue
				}
				what := r.Method + " " + r.Path + " with " + name
				got := s.Send(r.Method, pathOf(r, nil), header, "")
				if got.Status != http.StatusUnauthorized || got.Header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s: status %d, WWW-Authenticate %q, want a challenge", what, got.Status,
						got.Header.Get("WWW-Authenticate"))
				}
				message, _ := got.Members(t)["message"].(string)
				for _, scheme := range accepted[r.Mode] {
					if !strings.Contains(message, scheme) {
						t.Errorf("%s: %q does not name %s", what, message, scheme)
					}
				}
			}
		}
	})
}

// TestNoBodyIsReadBeforeRights sends what is no JSON: whoever may not call a
// route is told that, and not what is wrong with the body.
func TestNoBodyIsReadBeforeRights(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Here")
		viewer := testserver.WithBearer(s.Join(owner, org, "viewer").Tokens.AccessToken)
		agent := testserver.WithXAPIKey(s.AgentKey(owner, org).APIKey)
		tried := 0
		for _, r := range s.API.Routes() {
			header := http.Header{}
			want := http.StatusUnauthorized
			switch {
			case r.Mode == route.Public, r.Mode == route.PlanToken: // the credential is in the body
				continue
			case r.OrganizationScoped() && !principal.Viewer.May(r.Action):
				header, want = viewer, http.StatusForbidden
			case r.Scope == principal.CLI:
				header, want = agent, http.StatusForbidden
			}
			tried++
			got := s.Send(r.Method, pathOf(r, map[string]string{"orgId": org}), header, `{"name":`)
			if got.Status != want {
				t.Errorf("%s %s: status %d, want %d: %s", r.Method, r.Path, got.Status, want, got.Body)
			}
		}
		if tried < 20 {
			t.Errorf("%d routes are not public, want more", tried)
		}
	})
}
