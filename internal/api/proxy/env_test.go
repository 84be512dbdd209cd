package proxy_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/app"
	"writ/internal/gateway"
	"writ/internal/testserver"
)

type m = map[string]any

// permissive allows everything, so that nothing but what a test denies is denied.
const permissive = "version: v1\nname: open\ndefault: allow\nrules: []\n"

// apart runs the tests against a proxy in a process of its own, as writd proxy is one.
var apart = flag.Bool("apart", false, "test a proxy apart from its server")

// holdOf are the settings of a proxy whose calls wait as long as those of the server.
func holdOf(s *testserver.Server) []string {
	return []string{
		"WRIT_PROXY_HOLD_SECONDS", strconv.Itoa(int(s.Config.HoldWait / time.Second)),
		"WRIT_MAX_BODY_BYTES", strconv.FormatInt(s.Config.MaxBodyBytes, 10),
	}
}

// yard is an organization with an MCP server behind the proxy.
type yard struct {
	*testserver.Org
	T     *testing.T
	key   string
	side  *side
	at    string     // where agents reach the proxy
	apart *app.Proxy // nil: the server is the proxy itself
}

// side is an MCP server of the SDK, with something of everything, that counts what it is asked.
type side struct {
	URL    string
	http   *httptest.Server
	server *mcp.Server

	mu        sync.Mutex // guards the rest
	calls     map[string]int
	sessions  map[string]bool
	meta      mcp.Meta // of the last call
	seen      http.Header
	cancelled int
	release   chan struct{} // closed: slow calls end
}

func (s *side) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[name]
}

func (s *side) note(name string, req *mcp.CallToolRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[name]++
	s.meta = req.Params.Meta
	s.seen = req.Extra.Header
	s.sessions[req.Session.ID()] = true
}

type echoIn struct {
	Text string `json:"text"`
}

type echoOut struct {
	Said string `json:"said"`
	N    int    `json:"n"`
}

// startSide serves by streamable HTTP, without sessions if stateless.
func startSide(t *testing.T, stateless bool) *side {
	t.Helper()
	s := &side{calls: map[string]int{}, sessions: map[string]bool{}, release: make(chan struct{})}
	s.server = mcp.NewServer(&mcp.Implementation{Name: "yard", Title: "The yard", Version: "7"}, &mcp.ServerOptions{
		Instructions:       "Mind the cranes.",
		CompletionHandler:  s.complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	s.addTools()
	s.addRest()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.server },
		&mcp.StreamableHTTPOptions{Stateless: stateless})
	s.http = httptest.NewServer(handler)
	t.Cleanup(s.http.Close)
	t.Cleanup(s.http.CloseClientConnections)
	t.Cleanup(func() { close(s.release) })
	s.URL = s.http.URL + "/mcp"
	return s
}

func (s *side) addTools() {
	mcp.AddTool(s.server, &mcp.Tool{Name: "echo", Description: "Says it again.", Annotations: &mcp.ToolAnnotations{
		Title: "Echo", ReadOnlyHint: true, IdempotentHint: true,
	}}, func(_ context.Context, req *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, echoOut, error) {
		s.note("echo", req)
		return nil, echoOut{in.Text, len(in.Text)}, nil
	})
	tool := func(name string, do func(ctx context.Context, req *mcp.CallToolRequest) (string, error)) {
		s.server.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				s.note(name, req)
				text, err := do(ctx, req)
				if err != nil {
					result := &mcp.CallToolResult{}
					result.SetError(err)
					return result, nil
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			})
	}
	tool("fail", func(context.Context, *mcp.CallToolRequest) (string, error) { return "", errors.New("it failed") })
	tool("pay", func(context.Context, *mcp.CallToolRequest) (string, error) { return "paid", nil })
	tool("wipe", func(context.Context, *mcp.CallToolRequest) (string, error) { return "wiped", nil })
	tool("progress", progress)
	tool("log", func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
		line := &mcp.LoggingMessageParams{Level: "warning", Logger: "crane", Data: "swings"}
		return "logged", req.Session.Log(ctx, line)
	})
	tool("slow", s.slow)
	tool("sample", sample)
	tool("elicit", elicit)
	tool("roots", roots)
	s.server.AddTool(&mcp.Tool{Name: "picture", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.ImageContent{MIMEType: "image/png", Data: []byte{1, 2, 3}},
				&mcp.ResourceLink{URI: "yard://crane/1", Name: "crane"},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
					URI: "yard://log", Text: "fine", MIMEType: "text/plain",
				}},
			}}, nil
		})
}

func progress(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
	for n := range 3 {
		if token := req.Params.GetProgressToken(); token != nil {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(n + 1), Total: 3, Message: fmt.Sprint("step ", n+1),
			})
			if err != nil {
				return "", err
			}
		}
	}
	return "done", nil
}

func (s *side) slow(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
	select {
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cancelled++
		return "", ctx.Err()
	case <-s.release:
		return "slow", nil
	}
}

func sample(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
	said, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
		MaxTokens: 10, SystemPrompt: "short",
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "how high?"}}},
	})
	if err != nil {
		return "", err
	}
	text, _ := said.Content.(*mcp.TextContent)
	return said.Model + ": " + text.Text, nil
}

func elicit(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
	said, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Which berth?", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"berth":{"type":"string"}},"required":["berth"]}`)})
	if err != nil {
		return "", err
	}
	return fmt.Sprint(said.Action, " ", said.Content["berth"]), nil
}

func roots(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
	listed, err := req.Session.ListRoots(ctx, nil)
	if err != nil {
		return "", err
	}
	var all []string
	for _, root := range listed.Roots {
		all = append(all, root.URI)
	}
	return strings.Join(all, " "), nil
}

func (s *side) addRest() {
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		s.mu.Lock()
		s.calls["read"]++
		s.mu.Unlock()
		if strings.HasSuffix(req.Params.URI, "/404") {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: req.Params.URI, MIMEType: "text/plain", Text: "about " + req.Params.URI},
		}}, nil
	}
	s.server.AddResource(&mcp.Resource{URI: "yard://log", Name: "log", MIMEType: "text/plain"}, read)
	s.server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "yard://crane/{id}", Name: "crane"}, read)
	s.server.AddPrompt(&mcp.Prompt{Name: "greet", Description: "Greets.", Arguments: []*mcp.PromptArgument{
		{Name: "who", Description: "Whom", Required: true},
	}}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "Greets.", Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "Greet " + req.Params.Arguments["who"]}},
		}}, nil
	})
}

func (s *side) complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
		Values: []string{req.Params.Argument.Value + "ohn", req.Params.Argument.Value + "ane"}, Total: 2,
	}}, nil
}

// newYard makes an organization with the server registered as "yard".
func newYard(t *testing.T, s *testserver.Server, up *side) *yard {
	t.Helper()
	owner := s.Person("owner")
	o := &testserver.Org{Server: s, Owner: owner, ID: s.Organization(owner, "Harbour")}
	y := &yard{Org: o, T: t, key: s.AgentKey(owner, o.ID).APIKey, side: up}
	y.reachedAt()
	s.ActivePolicy(owner, o.ID, permissive)
	y.register("yard", up.URL)
	return y
}

// reachedAt says where agents reach the proxy.
func (y *yard) reachedAt() {
	if y.at = y.Address; *apart {
		y.apart = testserver.StartProxy(y.T, "http://"+y.Address, holdOf(y.Server)...)
		y.at = y.apart.Address
	}
}

// front is the endpoint that agents reach.
func (y *yard) front() *gateway.Gateway {
	if y.apart != nil {
		return y.apart.API.Gateway
	}
	return y.Gateway
}

// Request sends a request to the endpoint.
func (y *yard) Request(t *testing.T, method, path, body string, headers ...string) testserver.Answer {
	t.Helper()
	if y.apart != nil && strings.HasPrefix(path, "/proxy/mcp") {
		return testserver.RequestAt(t, method, "http://"+y.at+path, body, headers...)
	}
	return y.Server.Request(t, method, path, body, headers...)
}

func (y *yard) register(name, url string) client.MCPServer {
	y.T.Helper()
	made, err := y.Owner.RegisterMCPServer(y.T.Context(), y.ID, client.NewMCPServer{Name: name, URL: url})
	if err != nil || made.Status != "approved" || made.ToolCount == 0 {
		y.T.Fatalf("register %s: %+v, %v", name, made, err)
	}
	return made
}

// proxied are the settings of a server that may have a proxy apart from it.
var proxied = slices.Concat(testserver.PermitLoopback, testserver.AsProxied)

// each runs a test in a yard on each database.
func each(t *testing.T, body func(t *testing.T, y *yard), settings ...string) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		body(t, newYard(t, s, startSide(t, false)))
	}, append(slices.Clone(proxied), settings...)...)
}

// withKey sends a key, and perhaps more headers.
type withKey struct {
	key  string
	more http.Header
	next http.RoundTripper
}

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if k.key != "" {
		r.Header.Set("X-Api-Key", k.key)
	}
	for name, values := range k.more {
		r.Header[name] = values
	}
	return k.next.RoundTrip(r)
}

// The versions of MCP that tests speak.
const (
	withSessions = "2025-11-25"
	stateless    = "2026-07-28"
)

// visit is how a test connects.
type visit struct {
	url, key, version string
	more              http.Header
	sse               bool
	retries           int // of a stream that broke; 0: none
	options           *mcp.ClientOptions
}

func (v visit) try(ctx context.Context) (*mcp.ClientSession, error) {
	return v.through(ctx, http.DefaultTransport)
}

// through is try by connections of its own.
func (v visit) through(ctx context.Context, next http.RoundTripper) (*mcp.ClientSession, error) {
	web := &http.Client{Transport: withKey{v.key, v.more, next}}
	var by mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: v.url, HTTPClient: web, MaxRetries: cmp.Or(v.retries, -1),
	}
	if v.sse {
		by = &mcp.SSEClientTransport{Endpoint: v.url, HTTPClient: web}
	}
	if v.options == nil {
		v.options = &mcp.ClientOptions{}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, v.options)
	c.AddRoots(&mcp.Root{URI: "file:///srv/yard", Name: "yard"})
	return c.Connect(ctx, by, &mcp.ClientSessionOptions{ProtocolVersion: v.version})
}

func (v visit) connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	session, err := v.try(t.Context())
	if err != nil {
		t.Fatalf("connect to %s: %v", v.url, err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// all is the endpoint for all servers, and one that for the yard.
func (y *yard) all() visit {
	return visit{url: "http://" + y.at + "/proxy/mcp", key: y.key, version: withSessions}
}

func (y *yard) one() visit {
	v := y.all()
	v.url += "/yard"
	return v
}

// call calls a tool and gives what it said.
func call(t *testing.T, s *mcp.ClientSession, name string, args m) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("call %s: %v", name, err)
	}
	return result
}

// textOf is the text of a result.
func textOf(r *mcp.CallToolResult) string {
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return ""
}

// codeOf is the code of an error of JSON-RPC.
func codeOf(err error) int64 {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Code
	}
	return 0
}

// decisionOf is what a refused call says of its decision.
func decisionOf(t *testing.T, r *mcp.CallToolResult) m {
	t.Helper()
	d, _ := r.Meta["writ/decision"].(m)
	if !r.IsError || d == nil {
		t.Fatalf("not refused: %+v", r)
	}
	return d
}

// patience is far longer than anything takes.
const patience = 2 * time.Minute
