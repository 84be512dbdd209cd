package standalone_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/app"
	"writ/internal/testserver"
)

type m = map[string]any

const (
	secretOfBank = "registered-s3cret"

	policyText = "version: v1\nname: bank\ndefault: deny\nrules:\n" +
		"  - {id: reads, effect: allow, tools: [\"bank.search\"]}\n" +
		"  - {id: pays, effect: hold, tools: [\"bank.pay\"]}\n"
)

// house is an organization with a bank, whose agents reach it through a proxy apart from the server.
type house struct {
	*testserver.Org
	T     *testing.T
	key   client.IssuedKey
	proxy *app.Proxy
	away  *atomic.Bool // the server cannot be reached by the proxy

	mu    sync.Mutex // guards the rest
	calls map[string]int
	shown []string // what callers of tools have shown
}

func (h *house) ran(tool string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[tool]
}

func (h *house) answer(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[r.Params.Name]++
	h.shown = append(h.shown, r.Extra.Header.Get("Authorization"))
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found it"}}}, nil
}

// between stands between the proxy and the server, so that the server can be away.
func (h *house) between() string {
	at, err := url.Parse("http://" + h.Address)
	if err != nil {
		h.T.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }}
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.away.Load() {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		pass.ServeHTTP(w, r)
	}))
	h.T.Cleanup(func() { live.CloseClientConnections(); live.Close() })
	return live.URL
}

func newHouse(t *testing.T, s *testserver.Server) *house {
	t.Helper()
	owner := s.Person("owner")
	h := &house{Org: &testserver.Org{Server: s, Owner: owner, ID: s.Organization(owner, "House")}, T: t}
	h.key, h.calls, h.away = s.AgentKey(owner, h.ID), map[string]int{}, &atomic.Bool{}
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	for _, name := range []string{"search", "pay"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h.answer)
	}
	server.AddPrompt(&mcp.Prompt{Name: "greet"}, func(
		context.Context, *mcp.GetPromptRequest,
	) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	guarded := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secretOfBank {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		guarded.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { live.CloseClientConnections(); live.Close() })
	s.ActivePolicy(owner, h.ID, policyText)
	made, err := owner.RegisterMCPServer(t.Context(), h.ID, client.NewMCPServer{
		Name: "bank", URL: live.URL + "/mcp", Auth: &client.MCPAuth{Type: "bearer", Token: secretOfBank},
	})
	if err != nil || made.Status != "approved" || made.ToolCount != 2 {
		t.Fatalf("register the bank: %+v, %v", made, err)
	}
	h.proxy = testserver.StartProxy(t, h.between(), "WRIT_PROXY_HOLD_SECONDS", "120",
		"WRIT_METRICS_TOKEN", "metrics-token-of-a-test")
	return h
}

func each(t *testing.T, body func(t *testing.T, h *house)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) { body(t, newHouse(t, s)) },
		slices.Concat(testserver.PermitLoopback, testserver.AsProxied)...)
}

type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Api-Key", string(k))
	return http.DefaultTransport.RoundTrip(r)
}

func (h *house) connect(p *app.Proxy, path, key string) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	s, err := c.Connect(h.T.Context(), &mcp.StreamableClientTransport{
		Endpoint: "http://" + p.Address + path, HTTPClient: &http.Client{Transport: withKey(key)}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err == nil {
		h.T.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func (h *house) session(path string) *mcp.ClientSession {
	h.T.Helper()
	s, err := h.connect(h.proxy, path, h.key.APIKey)
	if err != nil {
		h.T.Fatalf("connect: %v", err)
	}
	return s
}

func (h *house) call(s *mcp.ClientSession, tool string, args m) (*mcp.CallToolResult, error) {
	return s.CallTool(h.T.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
}

func textOf(r *mcp.CallToolResult) string {
	if r == nil || len(r.Content) == 0 {
		return ""
	}
	text, _ := r.Content[0].(*mcp.TextContent)
	return text.Text
}

func (h *house) entries(action string) int {
	h.T.Helper()
	page, err := h.Owner.LogEntries(h.T.Context(), h.ID, client.LogFilter{Action: action})
	if err != nil {
		h.T.Fatal(err)
	}
	return len(page.Items)
}

// TestCallsThroughAProxyApart: the bank gets its secret, once for each session, and every call is decided and recorded.
func TestCallsThroughAProxyApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		s := h.session("/proxy/mcp/bank")
		// Before anything is allowed the proxy has no secret, and lists what the registry knows.
		prompts, err := s.ListPrompts(t.Context(), nil)
		if err != nil || len(prompts.Prompts) != 0 { // no policy allows any
			t.Errorf("%+v, %v", prompts, err)
		}
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 2 {
			t.Errorf("%+v, %v", tools, err)
		}
		if n := h.entries("mcp.secret_released"); n != 0 {
			t.Errorf("%d secrets were given before anything was allowed", n)
		}
		for range 3 {
			if r, err := h.call(s, "search", m{"q": "x"}); err != nil || r.IsError || textOf(r) != "found it" {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		r, err := h.call(s, "unlisted", m{})
		if err == nil {
			t.Errorf("a tool that nobody has listed: %+v", r)
		}
		h.mu.Lock()
		for _, shown := range h.shown {
			if shown != "Bearer "+secretOfBank {
				t.Errorf("the bank was shown %q", shown)
			}
		}
		h.mu.Unlock()
		if n := h.entries("mcp.secret_released"); n != 1 {
			t.Errorf("the log says that %d secrets were given, want one for the session", n)
		}
		if n := h.entries("call.executed"); n != 3 || h.ran("search") != 3 {
			t.Errorf("%d outcomes are recorded, %d calls ran", n, h.ran("search"))
		}
	})
}

// TestAHeldCallThroughAProxyApart waits for a person, and runs once.
func TestAHeldCallThroughAProxyApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		s := h.session("/proxy/mcp")
		answered := make(chan *mcp.CallToolResult, 1)
		go func() {
			r, err := h.call(s, "bank__pay", m{"to": "ann"})
			if err != nil {
				t.Error(err)
			}
			answered <- r
		}()
		var id string
		testserver.Soon(t, "the call waits for approval", func() bool {
			open, err := h.Owner.ApprovalRequests(t.Context(), h.ID, client.ApprovalFilter{Status: "pending"})
			if err != nil {
				t.Fatal(err)
			}
			if len(open.Items) == 1 {
				id = open.Items[0].ID
			}
			return id != ""
		})
		if h.ran("pay") != 0 {
			t.Fatal("it ran before anybody agreed")
		}
		if _, err := h.Owner.Approve(t.Context(), h.ID, client.Approval{ID: id}); err != nil {
			t.Fatal(err)
		}
		if r := <-answered; textOf(r) != "found it" || r.IsError || h.ran("pay") != 1 {
			t.Errorf("%+v, it ran %d times", r, h.ran("pay"))
		}
	})
}

// TestAKillEndsSessionsOfAProxyApart stops the key.
func TestAKillEndsSessionsOfAProxyApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		s := h.session("/proxy/mcp/bank")
		if r, err := h.call(s, "search", m{}); err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		if _, err := h.Owner.KillScope(t.Context(), h.ID, "key", h.key.ID, "it ran away", false); err != nil {
			t.Fatal(err)
		}
		testserver.Soon(t, "the session has ended", func() bool { return h.proxy.API.Gateway.Sessions() == 0 })
		if r, err := h.call(s, "search", m{}); err == nil && !r.IsError {
			t.Errorf("a killed agent called: %+v", r)
		}
		if _, err := h.connect(h.proxy, "/proxy/mcp/bank", h.key.APIKey); err == nil {
			t.Error("a killed agent opened a session")
		}
		if n := h.ran("search"); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

// TestNothingPassesWhileTheServerIsAway covers new sessions, open ones and POST /invoke, and what happens afterwards.
func TestNothingPassesWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		s := h.session("/proxy/mcp/bank")
		if r, err := h.call(s, "search", m{}); err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		h.away.Store(true)
		const says = "cannot be reached: nothing passes until it can"
		base := "http://" + h.proxy.Address
		for _, path := range []string{"/proxy/mcp/bank", "/invoke"} {
			answer := testserver.RequestAt(t, "POST", base+path, `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
				"X-Api-Key", h.key.APIKey, "Mcp-Session-Id", s.ID(), "Accept", "application/json, text/event-stream")
			if answer.Status != http.StatusServiceUnavailable || !strings.Contains(string(answer.Body), says) {
				t.Errorf("%s: %d %s", path, answer.Status, answer.Body)
			}
		}
		if answer := testserver.RequestAt(t, "GET", base+"/ready", ""); answer.Status != http.StatusServiceUnavailable {
			t.Errorf("/ready: %d %s", answer.Status, answer.Body)
		}
		if answer := testserver.RequestAt(t, "GET", base+"/health", ""); answer.Status != http.StatusOK {
			t.Errorf("/health: %d %s", answer.Status, answer.Body)
		}
		if r, err := h.call(s, "search", m{}); err == nil && !r.IsError {
			t.Errorf("a call passed: %+v", r)
		}
		if n := h.ran("search"); n != 1 {
			t.Errorf("it ran %d times", n)
		}
		h.away.Store(false)
		s = h.session("/proxy/mcp/bank")
		if r, err := h.call(s, "search", m{}); err != nil || r.IsError {
			t.Errorf("when the server is back: %+v, %v", r, err)
		}
	})
}

// TestAProxyWithAnotherToken is told apart from an agent with another key: nothing passes.
func TestAProxyWithAnotherToken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		p := testserver.StartProxy(t, "http://"+h.Address, "WRIT_PROXY_TOKEN", "d2f0b7a95d3e48268b0d6a7f92e4135d")
		answer := testserver.RequestAt(t, "POST", "http://"+p.Address+"/proxy/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "X-Api-Key", h.key.APIKey)
		if answer.Status != http.StatusServiceUnavailable ||
			!strings.Contains(string(answer.Body), "does not know this proxy") {
			t.Errorf("%d %s", answer.Status, answer.Body)
		}
		if answer := testserver.RequestAt(t, "GET", "http://"+p.Address+"/ready", ""); answer.Status == http.StatusOK {
			t.Errorf("/ready: %d", answer.Status)
		}
		answer = testserver.RequestAt(t, "POST", "http://"+h.proxy.Address+"/proxy/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "X-Api-Key", "ak_test_none")
		if answer.Status != http.StatusUnauthorized {
			t.Errorf("an agent with another key: %d %s", answer.Status, answer.Body)
		}
		answer = testserver.RequestAt(t, "POST", "http://"+h.proxy.Address+"/proxy/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if challenge := answer.Header.Get("WWW-Authenticate"); answer.Status != http.StatusUnauthorized ||
			!strings.Contains(challenge, "resource_metadata=") {
			t.Errorf("nobody: %d %q", answer.Status, challenge)
		}
	})
}

// TestTwoProxiesNeedNoMoreThanSessions: a call without a session may go to either, one of a session to its own.
func TestTwoProxiesNeedNoMoreThanSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		second := testserver.StartProxy(t, "http://"+h.Address)
		for _, p := range []*app.Proxy{h.proxy, second} {
			s, err := h.connect(p, "/proxy/mcp", h.key.APIKey)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := h.call(s, "bank__search", m{}); err != nil || r.IsError {
				t.Errorf("%+v, %v", r, err)
			}
		}
		if n := h.ran("search"); n != 2 {
			t.Errorf("it ran %d times", n)
		}
	})
}

// TestMetricsOfAProxyApart counts calls by decision, and asks for the token.
func TestMetricsOfAProxyApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		s := h.session("/proxy/mcp/bank")
		if r, err := h.call(s, "search", m{}); err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		at := "http://" + h.proxy.Address + "/metrics"
		if answer := testserver.RequestAt(t, "GET", at, ""); answer.Status != http.StatusUnauthorized {
			t.Errorf("without a token: %d", answer.Status)
		}
		answer := testserver.RequestAt(t, "GET", at, "", "Authorization", "Bearer metrics-token-of-a-test")
		for _, line := range []string{
			`writ_proxy_calls_total{decision="allow"} 1`, `writ_proxy_calls_total{decision="deny"} 0`,
			`writ_proxy_sessions 1`, `writ_proxy_call_duration_seconds_count 1`,
			`writ_proxy_upstream_errors_total{kind="timed_out"} 0`,
		} {
			if !strings.Contains(string(answer.Body), line+"\n") {
				t.Errorf("no line %s", line)
			}
		}
	})
}
