package connections_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// authority is an MCP server with its authorization server, which describe themselves as a test says.
type authority struct {
	URL        string
	registered atomic.Int64
	resource   m
	server     m
	token      m
}

func startAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(status int, document m) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(document)
		}
		switch {
		case r.URL.Path == "/mcp":
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+a.URL+`/about", scope="berths"`)
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/about":
			answer(http.StatusOK, a.resource)
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			answer(http.StatusOK, a.server)
		case r.URL.Path == "/register":
			a.registered.Add(1)
			answer(http.StatusCreated, m{"client_id": "writ-1", "client_secret": "s3cret-of-writ",
				"token_endpoint_auth_method": "client_secret_post", "redirect_uris": []string{}})
		case r.URL.Path == "/token":
			if r.FormValue("client_secret") != "s3cret-of-writ" || r.FormValue("resource") != a.URL+"/mcp" ||
				r.FormValue("code_verifier") == "" {
				answer(http.StatusUnauthorized, m{"error": "invalid_client"})
				return
			}
			answer(http.StatusOK, a.token)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(live.Close)
	a.URL = live.URL
	a.resource = m{"resource": a.URL + "/mcp", "authorization_servers": []string{a.URL}}
	a.server = m{
		"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
		"registration_endpoint": a.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
		"response_types_supported": []string{"code"},
	}
	a.token = m{"access_token": "far-t0ken", "token_type": "Bearer", "expires_in": 600}
	return a
}

// with is a document with other members.
func with(document m, name string, value any) m {
	changed := m{}
	for n, v := range document {
		changed[n] = v
	}
	changed[name] = value
	return changed
}

// TestWhomNobodyIsSentTo has authorization servers describe themselves wrong. Nobody is sent there, and nothing is told
// to them.
func TestWhomNobodyIsSentTo(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Near")
		a := startAuthority(t)
		_, err := owner.RegisterMCPServer(t.Context(), org, client.NewMCPServer{
			Name: "berth", URL: a.URL + "/mcp", Auth: &client.MCPAuth{Type: "oauth"},
		})
		if err != nil {
			t.Fatal(err)
		}
		start := func() (begun started, err error) {
			s.NextMinute() // of the throttle
			err = owner.Call(t.Context(), http.MethodPost, "/organization/"+org+"/connections", nil,
				m{"server": "berth"}, &begun)
			return begun, err
		}
		resource, server := a.resource, a.server
		private, plain := []string{"https://10.0.0.1"}, []string{"plain"}
		for what, change := range map[string]func(){
			"another resource":   func() { a.resource = with(resource, "resource", "https://bank.example.org/mcp") },
			"no authority":       func() { a.resource = with(resource, "authorization_servers", []string{}) },
			"a private one":      func() { a.resource = with(resource, "authorization_servers", private) },
			"another issuer":     func() { a.server = with(server, "issuer", "https://other.example.org") },
			"no PKCE":            func() { a.server = with(server, "code_challenge_methods_supported", []string{}) },
			"plain PKCE":         func() { a.server = with(server, "code_challenge_methods_supported", plain) },
			"a script":           func() { a.server = with(server, "authorization_endpoint", "javascript:alert(1)") },
			"tokens in the open": func() { a.server = with(server, "token_endpoint", "http://token.example.org/") },
			"no registration":    func() { a.server = with(server, "registration_endpoint", "") },
		} {
			a.resource, a.server = resource, server
			change()
			if begun, err := start(); client.StatusOf(err) != http.StatusConflict {
				t.Errorf("%s: %+v, %v", what, begun, err)
			}
		}
		if n := a.registered.Load(); n != 0 {
			t.Errorf("clients were registered %d times", n)
		}
		a.resource, a.server = resource, server
		for range 2 {
			begun, err := start()
			to := begun.AuthorizeURL
			if err != nil || !strings.Contains(to, "client_id=writ-1") || !strings.Contains(to, "scope=berths") ||
				strings.Contains(to, "s3cret") {
				t.Errorf("%+v, %v", begun, err)
			}
		}
		if n := a.registered.Load(); n != 1 {
			t.Errorf("clients were registered %d times, want once", n)
		}
	}, permits...)
}

// TestTokensOfNoUse has an authorization server give what no token is.
func TestTokensOfNoUse(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		n := &near{t: t, Server: s, owner: owner, org: s.Organization(owner, "Near")}
		a := startAuthority(t)
		_, err := owner.RegisterMCPServer(t.Context(), n.org, client.NewMCPServer{
			Name: "harbour", URL: a.URL + "/mcp", Auth: &client.MCPAuth{Type: "oauth"},
		})
		if err != nil {
			t.Fatal(err)
		}
		try := func() error {
			s.NextMinute()
			begun, err := n.start(owner)
			if err != nil {
				t.Fatal(err)
			}
			state := strings.SplitN(strings.SplitN(begun.AuthorizeURL, "state=", 2)[1], "&", 2)[0]
			_, err = n.finish(owner, m{"state": state, "code": "good"})
			return err
		}
		good := a.token
		for what, wrong := range map[string]m{
			"another type":  with(good, "token_type", "mac"),
			"no token":      with(good, "access_token", ""),
			"a line break":  with(good, "access_token", "a\r\nX-Admin: 1"),
			"a long one":    with(good, "access_token", strings.Repeat("a", 9000)),
			"a long answer": with(good, "more", strings.Repeat("a", 100_000)),
		} {
			a.token = wrong
			if err := try(); client.StatusOf(err) != http.StatusConflict {
				t.Errorf("%s: %v", what, err)
			}
		}
		a.token = good
		if err := try(); err != nil {
			t.Errorf("a good one: %v", err)
		}
		for _, row := range s.Dump() {
			for _, hidden := range []string{"far-t0ken", "s3cret-of-writ"} {
				if strings.Contains(row, hidden) {
					t.Errorf("a secret is stored as it is: %.200s", row)
				}
			}
		}
	}, permits...)
}
