package servers_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/testserver"
)

type m = map[string]any

// live is an MCP server of the SDK whose tools a test changes.
type live struct {
	URL string

	mu     sync.Mutex // guards the rest
	server *mcp.Server
	seen   http.Header // of the last request
	asked  func()      // called before each request is answered; nil: nothing is
}

// startLive starts a server with some tools, by name and description.
func startLive(t *testing.T, tools map[string]string) *live {
	t.Helper()
	l := &live{}
	l.set(tools)
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		l.mu.Lock()
		l.seen = r.Header.Clone()
		server, asked := l.server, l.asked
		l.mu.Unlock()
		if asked != nil {
			asked()
		}
		return server
	}, nil)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	l.URL = server.URL + "/mcp"
	return l
}

// set has the server list other tools from now on.
func (l *live) set(tools map[string]string) {
	s := mcp.NewServer(&mcp.Implementation{Name: "live", Version: "1"}, &mcp.ServerOptions{Instructions: "Be careful."})
	for name, description := range tools {
		s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = s
}

// whenAsked has f called once, before the next request is answered.
func (l *live) whenAsked(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = sync.OnceFunc(f)
}

func (l *live) header(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.Get(name)
}

// eachOrg runs a test in an organization of a server that may call this machine.
func eachOrg(t *testing.T, body func(t *testing.T, o *testserver.Org)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		body(t, &testserver.Org{Server: s, Owner: owner, ID: s.Organization(owner, "Harbour")})
	}, testserver.PermitLoopback...)
}

// decide asks for a decision about a tool of a server.
func decide(t *testing.T, o *testserver.Org, key, server, tool string) m {
	t.Helper()
	body := testserver.JSON(t, m{
		"tool_name": tool, "tool_input": m{}, "mcp_context": m{"server_name": server, "tool_name": tool},
	})
	answer := o.Request(t, "POST", "/iap/enforce", body, "X-Api-Key", key)
	var said m
	if err := json.Unmarshal(answer.Body, &said); err != nil {
		t.Fatalf("%d %s", answer.Status, answer.Body)
	}
	return said
}
