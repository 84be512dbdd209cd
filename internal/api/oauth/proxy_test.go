package oauth_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/testserver"
)

// registeredOnly allows calls of registered agents alone.
const registeredOnly = `version: v1
name: registered
default: deny
rules:
  - {id: registered, effect: allow, tools: ["yard.*"], when: "agent.registered"}
`

// startYard serves one tool.
func startYard(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "yard", Version: "1"}, nil)
	type none struct{}
	mcp.AddTool(server, &mcp.Tool{Name: "lift", Description: "Lifts a crate."}, func(
		context.Context, *mcp.CallToolRequest, none,
	) (*mcp.CallToolResult, none, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "lifted"}}}, none{}, nil
	})
	yard := httptest.NewServer(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(yard.Close)
	t.Cleanup(yard.CloseClientConnections)
	return yard.URL
}

// bearer sends a token with each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

func (f *flow) connect(address, token string) (*mcp.ClientSession, error) {
	return mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(f.t.Context(),
		&mcp.StreamableClientTransport{
			Endpoint:   address,
			HTTPClient: &http.Client{Transport: bearer{token}},
			MaxRetries: -1,
		}, nil)
}

// TestTheProxyTakesTokens: a client is the agent that a person let it act as, whatever it says, and only at the address
// that its token is for.
func TestTheProxyTakesTokens(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		f.ActivePolicy(f.owner, f.org, registeredOnly)
		made, err := f.owner.RegisterMCPServer(t.Context(), f.org, client.NewMCPServer{Name: "yard", URL: startYard(t)})
		if err != nil || made.Status != "approved" {
			t.Fatalf("register: %+v, %v", made, err)
		}
		tokens := f.tokens()
		session, err := f.connect("http://"+f.Address+"/proxy/mcp", tokens.AccessToken)
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		defer session.Close()
		listed, err := session.ListTools(t.Context(), nil)
		if err != nil || len(listed.Tools) != 1 {
			t.Fatalf("tools: %+v, %v", listed, err)
		}
		params := &mcp.CallToolParams{Name: listed.Tools[0].Name, Meta: mcp.Meta{"writ/agent": "somebody"}}
		if result, err := session.CallTool(t.Context(), params); err != nil || result.IsError {
			t.Errorf("call as the agent: %+v, %v", result, err)
		}
		if _, err := f.connect("http://"+f.Address+"/proxy/mcp/yard", tokens.AccessToken); err == nil {
			t.Error("a token for all servers is good at the address of one")
		}
		if err := f.end(f.owner, f.consents(f.owner)[0].ID); err != nil {
			t.Fatal(err)
		}
		refused := func() bool {
			_, err := session.CallTool(t.Context(), params)
			return err != nil
		}
		testserver.Soon(t, "the end of the consent ends the session", refused)
	}, testserver.PermitLoopback...)
}

// TestTheProxySaysWhereTokensAre: without credentials, and with ones that do not work.
func TestTheProxySaysWhereTokensAre(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		for path, metadata := range map[string]string{
			"/proxy/mcp":      "/.well-known/oauth-protected-resource/proxy/mcp",
			"/proxy/mcp/yard": "/.well-known/oauth-protected-resource/proxy/mcp/yard",
		} {
			for name, headers := range map[string][]string{
				"nothing":            nil,
				"a token that ended": {"Authorization", "Bearer " + f.refresh("gone").AccessToken + "x"},
				"a person's token":   {"Authorization", "Bearer " + f.owner.Tokens.AccessToken},
			} {
				got := f.Request(t, http.MethodPost, path, `{}`, headers...)
				challenge := got.Header.Get("WWW-Authenticate")
				if got.Status != http.StatusUnauthorized ||
					!strings.Contains(challenge, `resource_metadata="`+f.OAuth.Issuer()+metadata+`"`) {
					t.Errorf("%s with %s: %d, challenge %q", path, name, got.Status, challenge)
				}
			}
		}
	})
}

// TestAClientActsInTheEnvironmentOfItsAgent: rules about production hold for it.
func TestAClientActsInTheEnvironmentOfItsAgent(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		for agentID, environment := range map[string]string{"careful": "production", "free": "", "tester": "sandbox"} {
			_, err := f.owner.RegisterAgent(t.Context(), f.org, client.NewAgent{
				AgentID: agentID, OwnerID: f.owner.ID, Environment: environment,
			})
			if err != nil {
				t.Fatal(err)
			}
			f.agent = agentID
			got := f.wantWorks(agentID, f.tokens().AccessToken).Caller.Environment
			if want := cmp.Or(environment, "production"); got != want {
				t.Errorf("the client of %s acts in %q, want %q", agentID, got, want)
			}
		}
	})
}

// TestACodeThatOthersHaveSeen ends no consent: only its own client proves that it was used twice.
func TestACodeThatOthersHaveSeen(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		code := f.approve()
		tokens := f.exchange(code)
		f.wantWorks("before", tokens.AccessToken)
		f.wantError("with another verifier", f.exchange(code, "code_verifier", strings.Repeat("x", 43)),
			http.StatusBadRequest, "invalid_grant")
		f.wantError("of another client", f.exchange(code, "client_id", f.register(redirect)),
			http.StatusBadRequest, "invalid_grant")
		f.wantWorks("after", tokens.AccessToken)
	})
}

// TestATokenForOneServerAtTheGuard: what a proxy apart asks with a token for one server is about that one alone.
func TestATokenForOneServerAtTheGuard(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		f.ActivePolicy(f.owner, f.org, strings.Replace(registeredOnly, `"yard.*"`, `"yard.*", "mail.*"`, 1))
		for _, name := range []string{"yard", "mail"} {
			made, err := f.owner.RegisterMCPServer(t.Context(), f.org, client.NewMCPServer{
				Name: name, URL: startYard(t), Auth: &client.MCPAuth{Type: "bearer", Token: "s3cret-of-it"},
			})
			if err != nil || made.Status != "approved" {
				t.Fatalf("register: %+v, %v", made, err)
			}
		}
		yard := f.OAuth.Resource("yard")
		tokens := f.exchange(f.approve("resource", yard), "resource", yard)
		ask := func(method, path, body string) (int, m) {
			t.Helper()
			answer := f.Request(t, method, "/proxy/guard"+path, body, "Authorization", "Bearer "+testserver.ProxyToken,
				"Writ-On-Behalf-Of", tokens.AccessToken, "Writ-Mcp-Server", "yard")
			var got m
			if err := json.Unmarshal(answer.Body, &got); err != nil {
				t.Fatalf("%s: %d %s", path, answer.Status, answer.Body)
			}
			return answer.Status, got
		}
		decide := func(server string) m {
			t.Helper()
			status, d := ask("POST", "/decisions", `{"server":"`+server+`","tool":"lift","proofRule":2}`)
			if status != http.StatusOK {
				t.Fatalf("%s: %d %v", server, status, d)
			}
			return d
		}
		own := decide("yard")
		if own["decision"] != "allow" {
			t.Fatalf("its own server: %v", own)
		}
		if status, body := ask("POST", "/decisions/"+own["decisionId"].(string)+"/secret", ""); status != 200 {
			t.Errorf("the secret of its own server: %d %v", status, body)
		}
		other := decide("mail")
		if other["decision"] != "deny" || other["decisionId"] == nil ||
			!strings.Contains(other["reason"].(string), "another MCP server") {
			t.Errorf("another server: %v", other)
		}
		if status, body := ask("POST", "/decisions", `{"server":"mail","tool":"lift","only":true}`); status != 403 {
			t.Errorf("another server, only judged: %d %v", status, body)
		}
		if status, body := ask("GET", "/route?server=mail&tool=lift", ""); status != http.StatusForbidden {
			t.Errorf("the route of another: %d %v", status, body)
		}
		if status, body := ask("GET", "/route?server=yard&tool=lift", ""); status != http.StatusOK {
			t.Errorf("the route of its own: %d %v", status, body)
		}
		_, list := ask("GET", "/servers", "")
		if servers := list["servers"].([]any); len(servers) != 1 || servers[0].(m)["name"] != "yard" {
			t.Errorf("servers: %v", list)
		}
		_, seen := ask("POST", "/visible",
			`{"tools":[{"server":"yard","tool":"lift"},{"server":"mail","tool":"lift"}]}`)
		if testserver.JSON(t, seen["visible"]) != `[true,false]` {
			t.Errorf("visible: %v", seen)
		}
	}, slices.Concat(testserver.PermitLoopback, testserver.AsProxied)...)
}

// TestATokenForOneServerThroughAProxyApart sees that server, and does not change what others see.
func TestATokenForOneServerThroughAProxyApart(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		f.ActivePolicy(f.owner, f.org, "version: v1\nname: open\ndefault: allow\nrules: []\n")
		for _, name := range []string{"yard", "mail"} {
			server := client.NewMCPServer{Name: name, URL: startYard(t)}
			made, err := f.owner.RegisterMCPServer(t.Context(), f.org, server)
			if err != nil || made.Status != "approved" {
				t.Fatalf("register: %+v, %v", made, err)
			}
		}
		at := testserver.StartProxy(t, "http://"+f.Address).Address
		list := func(path, credential string) (names []string) {
			t.Helper()
			session, err := f.connect("http://"+at+path, credential)
			if err != nil {
				t.Fatalf("connect to %s: %v", path, err)
			}
			defer session.Close()
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatalf("list %s: %v", path, err)
			}
			for _, tool := range tools.Tools {
				names = append(names, tool.Name)
			}
			return names
		}
		key := f.AgentKey(f.owner, f.org).APIKey
		for range 2 { // the second time from what is kept
			for _, server := range []string{"yard", "mail"} {
				resource := f.OAuth.Resource(server)
				token := f.exchange(f.approve("resource", resource), "resource", resource).AccessToken
				if seen := list("/proxy/mcp/"+server, token); !slices.Equal(seen, []string{"lift"}) {
					t.Errorf("a token for %s sees %v", server, seen)
				}
			}
			if seen := list("/proxy/mcp", key); !slices.Equal(seen, []string{"mail__lift", "yard__lift"}) {
				t.Errorf("a key sees %v", seen)
			}
		}
	}, slices.Concat(testserver.PermitLoopback, testserver.AsProxied)...)
}
