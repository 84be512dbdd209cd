package oauth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/testserver"
)

// TestWrongRequestsAreRefused: nothing is stored of them, and a client that is not known is told nothing.
func TestWrongRequestsAreRefused(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		issuer := f.OAuth.Issuer()
		other := f.register("https://other.example.org/cb")
		const evil, otherPort = "https://evil.example.org", "https://other.example.org:8443/cb"
		for i, test := range []struct {
			name     string
			query    string
			code     string // as the client is told; empty: it is not
			contains string
		}{
			{"no PKCE", f.query("code_challenge", ""), "invalid_request", "code_challenge"},
			{"no method", f.query("code_challenge_method", ""), "invalid_request", "S256"},
			{"plain PKCE", f.query("code_challenge_method", "plain"), "invalid_request", "S256"},
			{"a short challenge", f.query("code_challenge", "abc"), "invalid_request", "code_challenge"},
			{"no resource", f.query("resource", ""), "invalid_target", "resource"},
			{"another server's resource", f.query("resource", evil+"/proxy/mcp"), "invalid_target", "resource"},
			{"another path", f.query("resource", issuer+"/organization"), "invalid_target", "resource"},
			{"a path like ours", f.query("resource", issuer+"/proxy/mcpx"), "invalid_target", "resource"},
			{"two servers", f.query("resource", issuer+"/proxy/mcp/a/b"), "invalid_target", "resource"},
			{"a way out", f.query("resource", issuer+"/proxy/mcp/%2e%2e"), "invalid_target", "resource"},
			{"a resource with a query", f.query("resource", issuer+"/proxy/mcp?x=1"), "invalid_target", "resource"},
			{"a token at once", f.query("response_type", "token"), "unsupported_response_type", "response_type"},
			{"an answer in the fragment", f.query("response_mode", "fragment"), "invalid_request", "response_mode"},
			{"a long state", f.query("state", strings.Repeat("s", 3000)), "invalid_request", "state"},

			{"no redirect", f.query("redirect_uri", ""), "", "redirect_uri"},
			{"another path", f.query("redirect_uri", redirect+"/more"), "", "redirect_uri"},
			{"another query", f.query("redirect_uri", redirect+"?x=1"), "", "redirect_uri"},
			{"another host", f.query("redirect_uri", evil+"/callback"), "", "redirect_uri"},
			{"another loopback", f.query("redirect_uri", "http://localhost:4711/callback"), "", "redirect_uri"},
			{"a user name", f.query("redirect_uri", "http://127.0.0.1:4711@evil.example.org/"), "", "redirect_uri"},
			{"a script", f.query("redirect_uri", "javascript:alert(1)"), "", "redirect_uri"},
			{"another client's", f.query("client_id", other), "", "redirect_uri"},
			{"a port of TLS", f.query("client_id", other, "redirect_uri", otherPort), "", "redirect_uri"},
			{"no client", f.query("client_id", ""), "", "client_id"},
			{"an unknown client", f.query("client_id", client404), "", "client_id"},
			{"a client that is no id", f.query("client_id", "x'; DROP TABLE"), "", "client_id"},
			{"a document without TLS", f.query("client_id", "http://client.example.org/c.json"), "", "client_id"},
			{"a document at the root", f.query("client_id", "https://client.example.org/"), "", "client_id"},
			{"a private document", f.query("client_id", "https://127.0.0.1/c.json"), "", "client_id"},
			{"a parameter twice", f.query() + "&client_id=" + f.clientID, "", "twice"},
			{"no form", "%zz", "", "read"},
		} {
			if i%12 == 0 {
				f.NextMinute() // a person answers some requests a minute
			}
			var shown struct {
				Refused struct{ Reason, ReturnTo string }
			}
			err := f.owner.Call(
				t.Context(),
				http.MethodGet,
				"/oauth/request",
				url.Values{"request": {test.query}},
				nil,
				&shown,
			)
			if test.code == "" {
				testserver.WantStatus(t, test.name, err, http.StatusBadRequest)
			} else if told := queryOf(t, shown.Refused.ReturnTo); err != nil || told.Get("error") != test.code ||
				told.Get("iss") != issuer || !strings.HasPrefix(shown.Refused.ReturnTo, redirect) {
				t.Errorf("%s: %+v, %v, want the client to be told %s", test.name, shown, err, test.code)
			}
			to, err := f.tryApprove(f.owner, test.query, f.org, f.agent)
			if client.StatusOf(err) != http.StatusBadRequest || to != "" ||
				!strings.Contains(err.Error(), test.contains) {
				t.Errorf("%s: approved with %q, %v", test.name, to, err)
			}
		}
		if got := f.consents(f.owner); len(got) != 0 || f.recorded("consent.given") {
			t.Errorf("consents of wrong requests: %+v", got)
		}
	})
}

const client404 = "0197a1f0-0000-7000-8000-000000000000"

// TestPortsOfThisMachineMayDiffer: a program takes the one that is free.
func TestPortsOfThisMachineMayDiffer(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		code := f.approve("redirect_uri", "http://127.0.0.1:5999/callback")
		f.wantError("with the registered port", f.exchange(code), http.StatusBadRequest, "invalid_grant")
		got := f.exchange(code, "redirect_uri", "http://127.0.0.1:5999/callback")
		if got.status != http.StatusOK {
			t.Errorf("with the port of the request: %+v", got)
		}
	})
}

// TestWhoMayConsent: a client gets an agent from its owner, or from somebody who manages agents, of that
// organization.
func TestWhoMayConsent(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		member, viewer, stranger := f.Join(
			f.owner,
			f.org,
			"member",
		), f.Join(
			f.owner,
			f.org,
			"viewer",
		), f.Person(
			"stranger",
		)
		elsewhere := f.Organization(stranger, "Elsewhere")
		f.registerAgent(member, "members")
		f.registerAgent(viewer, "viewers")
		if _, err := stranger.RegisterAgent(t.Context(), elsewhere, client.NewAgent{AgentID: "theirs"}); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			name       string
			who        *testserver.Person
			org, agent string
			status     int
		}{
			{"another's agent", member, f.org, f.agent, http.StatusForbidden},
			{"a viewer", viewer, f.org, "viewers", http.StatusForbidden},
			{"a stranger", stranger, f.org, f.agent, http.StatusForbidden},
			{"a stranger, in their organization", stranger, elsewhere, f.agent, http.StatusBadRequest},
			{"an agent of another organization", f.owner, f.org, "theirs", http.StatusBadRequest},
			{"an agent that nobody registered", f.owner, f.org, "nobody", http.StatusBadRequest},
			{"an organization that is none", f.owner, client404, f.agent, http.StatusForbidden},
			{"one's own", member, f.org, "members", 0},
			{"as a manager", f.owner, f.org, "members", 0},
		} {
			_, err := f.tryApprove(test.who, f.query(), test.org, test.agent)
			if got := client.StatusOf(err); got != test.status && !(test.status == 403 && got == 404) {
				t.Errorf("%s: %v, want %d", test.name, err, test.status)
			}
		}
		var shown struct {
			Organizations []struct {
				Agents []struct{ AgentID string }
			}
		}
		err := member.Call(
			t.Context(),
			http.MethodGet,
			"/oauth/request",
			url.Values{"request": {f.query()}},
			nil,
			&shown,
		)
		if err != nil || len(shown.Organizations) != 1 || fmt.Sprint(shown.Organizations[0].Agents) != "[{members}]" {
			t.Errorf("a member chooses among %+v, %v", shown, err)
		}
		if got := f.consents(member); len(got) != 1 || got[0].OwnerID != member.ID {
			t.Errorf("a member sees %+v", got)
		}
		all := f.consents(f.owner)
		if len(all) != 2 {
			t.Errorf("the owner sees %+v", all)
		}
		for _, c := range all {
			if c.OwnerID == f.owner.ID {
				testserver.WantStatus(t, "a member ends another's", f.end(member, c.ID), http.StatusNotFound)
			}
		}
		testserver.WantStatus(t, "a stranger lists", stranger.Call(t.Context(), http.MethodGet,
			"/organization/"+f.org+"/consents", nil, nil, nil), http.StatusForbidden)
	})
}

// TestDeny tells the client, with the issuer, and gives nothing.
func TestDeny(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		var answer returned
		err := f.owner.Call(t.Context(), http.MethodPost, "/oauth/deny", nil, m{"request": f.query()}, &answer)
		told := queryOf(t, answer.ReturnTo)
		if err != nil || told.Get("error") != "access_denied" || told.Get("state") != f.lastState ||
			told.Get("iss") != f.OAuth.Issuer() || told.Has("code") {
			t.Errorf("%s, %v", answer.ReturnTo, err)
		}
		if actions := f.Recorded(audit.System); actions[len(actions)-1] != "consent.denied" {
			t.Errorf("the log says %v", actions)
		}
	})
}

// TestRegistration refuses what would send a browser anywhere but to TLS or this machine.
func TestRegistration(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		many := make([]string, 11)
		for i := range many {
			many[i] = fmt.Sprintf("https://client.example.org/%d", i)
		}
		const one = "redirect_uris"
		uris := func(list ...string) m { return m{one: list} }
		for _, test := range []struct {
			name string
			body m
			code string
		}{
			{"nothing", m{}, "invalid_redirect_uri"},
			{"many", m{"redirect_uris": many}, "invalid_redirect_uri"},
			{"no TLS", uris("http://client.example.org/cb"), "invalid_redirect_uri"},
			{"a script", uris("javascript:alert(1)"), "invalid_redirect_uri"},
			{"data", uris("data:text/html,x"), "invalid_redirect_uri"},
			{"another program", uris("evil://callback"), "invalid_redirect_uri"},
			{"a fragment", uris("https://client.example.org/cb#x"), "invalid_redirect_uri"},
			{"a user", uris("https://a@client.example.org/cb"), "invalid_redirect_uri"},
			{"a host like this machine", uris("http://127.0.0.1.evil.example.org/"), "invalid_redirect_uri"},
			{"a long one", uris("https://c.example.org/" + strings.Repeat("x", 600)), "invalid_redirect_uri"},
			{"a name that hides", m{one: many[:1], "client_name": "Cl\u202eaude"}, "invalid_client_metadata"},
			{"a long name", m{one: many[:1], "client_name": strings.Repeat("x", 81)}, "invalid_client_metadata"},
			{"another grant", m{one: many[:1], "grant_types": []string{"password"}}, "invalid_client_metadata"},
			{"another response", m{one: many[:1], "response_types": []string{"token"}}, "invalid_client_metadata"},
			{"no list", m{"redirect_uris": "https://c.example.org/"}, "invalid_request"},
		} {
			f.NextMinute()
			got := f.Request(t, http.MethodPost, "/oauth/register", testserver.JSON(t, test.body))
			var refused answer
			if err := json.Unmarshal(got.Body, &refused); err != nil || got.Status != http.StatusBadRequest ||
				refused.Error != test.code {
				t.Errorf("%s: %d %s, want %s", test.name, got.Status, got.Body, test.code)
			}
		}
	})
}

// document serves what a client says of itself at its id.
type document struct {
	*httptest.Server
	id     string
	status int
	body   string
}

func startDocument(t *testing.T) *document {
	d := &document{status: http.StatusOK}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(d.status)
		_, _ = w.Write([]byte(d.body))
	}))
	t.Cleanup(d.Close)
	d.id = d.URL + "/client.json"
	return d
}

// TestClientsWithADocument are known by its address, and believed no further than that.
func TestClientsWithADocument(t *testing.T) {
	t.Parallel()
	d := startDocument(t)
	eachFlow(t, func(t *testing.T, f *flow) {
		f.clientID = d.id
		good := testserver.JSON(
			t,
			m{"client_id": d.id, "client_name": "Documented", "redirect_uris": []string{redirect}},
		)
		d.status = http.StatusOK
		for name, body := range map[string]string{
			"of another client":  strings.Replace(good, "client.json", "other.json", 1),
			"no JSON":            "<html>",
			"no redirect":        testserver.JSON(t, m{"client_id": d.id}),
			"a secret":           strings.Replace(good, "{", `{"token_endpoint_auth_method":"private_key_jwt",`, 1),
			"a member twice":     strings.Replace(good, "{", `{"client_id":"x",`, 1),
			"too long":           good + strings.Repeat(" ", 20<<10),
			"a name that hides":  strings.Replace(good, "Documented", "Docu\u202emented", 1),
			"a foreign redirect": strings.Replace(good, "callback", "elsewhere", 1),
		} {
			f.NextMinute()
			d.body = body
			if to, err := f.tryApprove(f.owner, f.query(), f.org, f.agent); client.StatusOf(
				err,
			) != http.StatusBadRequest {
				t.Errorf("%s: %s, %v", name, to, err)
			}
		}
		d.body, d.status = good, http.StatusFound
		if to, err := f.tryApprove(f.owner, f.query(), f.org, f.agent); client.StatusOf(
			err,
		) != http.StatusBadRequest {
			t.Errorf("elsewhere: %s, %v", to, err)
		}
		d.status = http.StatusOK
		var shown struct{ ClientName, Document string }
		err := f.owner.Call(
			t.Context(),
			http.MethodGet,
			"/oauth/request",
			url.Values{"request": {f.query()}},
			nil,
			&shown,
		)
		if err != nil || shown.ClientName != "Documented" || "http://"+shown.Document != d.URL {
			t.Errorf("the page shows %+v, %v", shown, err)
		}
		f.wantWorks("a client with a document", f.tokens().AccessToken)
	}, "WRIT_OUTBOUND_ALLOW", strings.TrimPrefix(d.URL, "http://"))
}

// TestAuthorizeOnlyLeadsToThePage: whatever a client asks for, the browser stays here until a person answers.
func TestAuthorizeOnlyLeadsToThePage(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		for _, query := range []string{
			f.query(), f.query("code_challenge", ""), f.query("client_id", client404), "", "//evil.example.org",
			f.query("state", strings.Repeat("s", 9<<10)),
		} {
			got := f.Request(t, http.MethodGet, "/oauth/authorize?"+query, "")
			want := "/ui/consent?request=" + url.QueryEscape(query)
			if query == "" || len(query) > 8<<10 {
				want = "/ui/consent"
			}
			if to := got.Header.Get("Location"); got.Status != http.StatusFound || to != want ||
				got.Header.Get("X-Frame-Options") != "DENY" {
				t.Errorf("%s: %d, %s", query, got.Status, to)
			}
		}
	})
}

// TestMetadata is what clients read before anything else.
func TestMetadata(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		issuer := f.OAuth.Issuer()
		for path, want := range map[string]string{
			"":                       issuer + "/proxy/mcp",
			"/proxy/mcp":             issuer + "/proxy/mcp",
			"/proxy/mcp/files":       issuer + "/proxy/mcp/files",
			"/proxy/mcp/team%2Fa%20": issuer + "/proxy/mcp/team%2Fa%20",
		} {
			var got struct {
				Resource string   `json:"resource"`
				Servers  []string `json:"authorization_servers"`
			}
			answer := f.Request(t, http.MethodGet, "/.well-known/oauth-protected-resource"+path, "")
			if err := json.Unmarshal(answer.Body, &got); err != nil || got.Resource != want ||
				fmt.Sprint(got.Servers) != "["+issuer+"]" {
				t.Errorf("%s: %s, %v", path, answer.Body, err)
			}
		}
		for controller, same := range map[string]string{
			"/proxy-enforcement/oauth":    "/.well-known/oauth-authorization-server",
			"/proxy-enforcement/resource": "/.well-known/oauth-protected-resource",
		} {
			got, want := f.Request(t, http.MethodGet, controller, ""), f.Request(t, http.MethodGet, same, "")
			if got.Status != http.StatusOK || !bytes.Equal(got.Body, want.Body) {
				t.Errorf("%s: %d %s", controller, got.Status, got.Body)
			}
		}
		f.verifier = oauth2.GenerateVerifier()
		got := f.exchange(f.approve("resource", issuer+"/proxy/mcp/files"), "resource", issuer+"/proxy/mcp/files/")
		if got.status != http.StatusOK {
			t.Fatalf("%+v", got)
		}
		f.wantRefused("a server's token for all", got.AccessToken, "unauthenticated")
		if _, err := f.OAuth.Authenticate(t.Context(), got.AccessToken, "files"); err != nil {
			t.Errorf("a server's token at that server: %v", err)
		}
		if _, err := f.OAuth.Authenticate(t.Context(), got.AccessToken, "mail"); err == nil {
			t.Error("a server's token works at another")
		}
	})
}
