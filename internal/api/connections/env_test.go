package connections_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

type m = map[string]any

const permissive = "version: v1\nname: open\ndefault: allow\nrules: []\n"

// permits lets both servers call each other on this machine.
var permits = []string{"WRIT_OUTBOUND_ALLOW", "127.0.0.0/8,localhost"}

// far is another Writ: an MCP server with an OAuth of its own, with everything real that belongs to that.
type far struct {
	*testserver.Server
	owner *testserver.Person
	org   string

	mu    sync.Mutex
	heard []string // the Authorization headers that reached the tool behind it
}

// near is the Writ under test, with a person and a key of theirs.
type near struct {
	*testserver.Server
	t     *testing.T
	far   *far
	owner *testserver.Person
	org   string
	key   string
	mcpID string
}

func startFar(t *testing.T) *far {
	t.Helper()
	f := &far{Server: testserver.Start(t, dbtest.SQLite(t), permits...)}
	f.owner = f.Person("far")
	f.org = f.Organization(f.owner, "Far")
	f.ActivePolicy(f.owner, f.org, permissive)
	agent := client.NewAgent{AgentID: "writ", OwnerID: f.owner.ID}
	if _, err := f.owner.RegisterAgent(t.Context(), f.org, agent); err != nil {
		t.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "berth", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "moor", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.heard = append(f.heard, req.Extra.Header.Get("Authorization"))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "moored"}}}, nil
		})
	live := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() { live.CloseClientConnections(); live.Close() })
	berth := client.NewMCPServer{Name: "berth", URL: live.URL + "/mcp"}
	made, err := f.owner.RegisterMCPServer(t.Context(), f.org, berth)
	if err != nil || made.ToolCount != 1 {
		t.Fatalf("register the berth: %+v, %v", made, err)
	}
	return f
}

func (f *far) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.heard)
}

// address is the MCP server with an OAuth of its own.
func (f *far) address() string { return f.OAuth.Resource("berth") }

// each runs a test on each database.
func each(t *testing.T, body func(t *testing.T, n *near)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		n := &near{t: t, far: startFar(t)}
		n.Server = testserver.Start(t, o, slices.Concat(permits, testserver.AsProxied)...)
		n.owner = n.Person("owner")
		n.org = n.Organization(n.owner, "Near")
		n.key = n.AgentKey(n.owner, n.org).APIKey
		n.ActivePolicy(n.owner, n.org, permissive)
		made, err := n.owner.RegisterMCPServer(t.Context(), n.org, client.NewMCPServer{
			Name: "harbour", URL: n.far.address(), Auth: &client.MCPAuth{Type: "oauth"},
		})
		if err != nil || made.Status != "approved" || made.ToolCount != 0 {
			t.Fatalf("register: %+v, %v", made, err)
		}
		n.mcpID = made.MCPID
		body(t, n)
	})
}

type started struct {
	AuthorizeURL string `json:"authorizeUrl"`
	Issuer       string `json:"issuer"`
	Server       string `json:"server"`
}

func (n *near) start(p *testserver.Person) (s started, err error) {
	err = p.Call(n.t.Context(), http.MethodPost, "/organization/"+n.org+"/connections", nil, m{"server": "harbour"}, &s)
	return s, err
}

// consent is what a person's browser brings back from the far server, where they consent.
func (n *near) consent(s started) m {
	n.t.Helper()
	at, err := url.Parse(s.AuthorizeURL)
	if err != nil || !strings.HasPrefix(s.AuthorizeURL, n.far.OAuth.Issuer()+"/oauth/authorize?") {
		n.t.Fatalf("the person is sent to %s, %v", s.AuthorizeURL, err)
	}
	var answer struct {
		ReturnTo string `json:"returnTo"`
	}
	err = n.far.owner.Call(n.t.Context(), http.MethodPost, "/oauth/approve", nil,
		m{"request": at.RawQuery, "organizationId": n.far.org, "agentId": "writ"}, &answer)
	if err != nil {
		n.t.Fatalf("consent: %v", err)
	}
	back, err := url.Parse(answer.ReturnTo)
	if err != nil || back.Path != "/ui/connected" || back.Host != hostOf(n.t, n.OAuth.Issuer()) {
		n.t.Fatalf("the person is sent back to %s, %v", answer.ReturnTo, err)
	}
	q := back.Query()
	return m{"state": q.Get("state"), "code": q.Get("code"), "iss": q.Get("iss")}
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

type connected struct {
	ID         string `json:"id"`
	OwnerID    string `json:"ownerId"`
	ServerName string `json:"serverName"`
	Issuer     string `json:"issuer"`
	Resource   string `json:"resource"`
}

func (n *near) finish(p *testserver.Person, returned m) (c connected, err error) {
	err = p.Call(n.t.Context(), http.MethodPost, "/connections/finish", nil, returned, &c)
	return c, err
}

// connect connects the owner, whatever it takes.
func (n *near) connect() connected {
	n.t.Helper()
	s, err := n.start(n.owner)
	if err != nil {
		n.t.Fatalf("start: %v", err)
	}
	c, err := n.finish(n.owner, n.consent(s))
	if err != nil || c.OwnerID != n.owner.ID || c.ServerName != "harbour" || c.Resource != n.far.address() {
		n.t.Fatalf("finish: %+v, %v", c, err)
	}
	n.acceptListed()
	return c
}

// acceptListed looks at what the server lists, which nobody could see before the consent, and accepts it.
func (n *near) acceptListed() {
	n.t.Helper()
	seen, err := n.owner.MCPServer(n.t.Context(), n.org, n.mcpID)
	if err != nil || seen.ListedHash == "" {
		n.t.Fatalf("with the consent: %+v, %v", seen, err)
	}
	_, err = n.owner.UpdateMCPServer(n.t.Context(), n.org, n.mcpID, m{
		"status": "approved", "seen": seen.ListedHash, "reason": "read it",
	})
	if err != nil {
		n.t.Fatalf("accept: %v", err)
	}
}

// moor calls the tool through the proxy with a key, and gives what its agent is told.
func (n *near) moor(key string) (text string, failed bool) {
	n.t.Helper()
	return n.moorAt("http://"+n.Address, key)
}

// moorAt is moor through the proxy at an address.
func (n *near) moorAt(proxy, key string) (text string, failed bool) {
	n.t.Helper()
	web := &http.Client{Transport: withKey(key)}
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	s, err := c.Connect(n.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: proxy + "/proxy/mcp/harbour", HTTPClient: web, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		n.t.Fatalf("connect to the proxy: %v", err)
	}
	defer func() { _ = s.Close() }()
	result, err := s.CallTool(n.t.Context(), &mcp.CallToolParams{Name: "moor", Arguments: m{}})
	if err != nil {
		return err.Error(), true
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Api-Key", string(k))
	return http.DefaultTransport.RoundTrip(r)
}

func (n *near) recorded(action string) bool {
	n.t.Helper()
	return slices.Contains(n.Recorded(audit.LogOf(n.org)), action)
}

func (n *near) list(p *testserver.Person) []connected {
	n.t.Helper()
	var list client.Page[connected]
	path := "/organization/" + n.org + "/connections"
	if err := p.Call(n.t.Context(), http.MethodGet, path, nil, nil, &list); err != nil {
		n.t.Fatalf("list: %v", err)
	}
	return list.Items
}

func (n *near) end(p *testserver.Person, id string) error {
	return p.Call(n.t.Context(), http.MethodDelete, "/organization/"+n.org+"/connections/"+id, nil, nil, nil)
}
