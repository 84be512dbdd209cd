package invoke_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/testserver"
)

type m = map[string]any

const policyText = `
version: v1
name: wired
default: deny
rules:
  - {id: reads, effect: allow, tools: ["bank.search", "bank.hang", "bank.crash", "bank.flood", "bank.lie", "bank.fails", "bank.asks"]}
  - {id: pays, effect: hold, tools: ["*.pay"], message: A person must approve payments.}
  - {id: drops, effect: deny, tools: ["*.drop"], message: Nothing is dropped here.}
  - {id: elsewhere, effect: allow, tools: ["nowhere.search", "waits.search", "refused.search", "files.search"]}
  - {id: unlisted, effect: allow, tools: ["bank.unlisted"]}
`

var tools = []string{"search", "pay", "drop", "hang", "crash", "flood", "lie", "fails", "asks"}

// planOf is a plan with a step for each tool of the bank, and for some of other servers.
func planOf(more ...string) string {
	var steps []m
	for _, tool := range append(append([]string{}, tools...), "unlisted") {
		steps = append(steps, m{"action": tool, "tool": tool, "mcp": "bank", "params": m{}})
	}
	for _, server := range more {
		steps = append(steps, m{"action": "search", "mcp": server, "params": m{}})
	}
	text, err := json.Marshal(m{"goal": "agent task", "steps": steps})
	if err != nil {
		panic(err) // it is of texts
	}
	return string(text)
}

// bank is a real MCP server of the SDK, which misbehaves where a tool says so.
type bank struct {
	URL string

	mu      sync.Mutex // guards the rest
	calls   map[string]int
	args    map[string]string // of the last call of each tool
	headers http.Header       // of the last call of a tool: the registry asks too
	says    string            // by search
	hanging int               // calls that hang now
}

// running is how many calls hang now.
func (b *bank) running() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hanging
}

// hang waits until its client is gone.
func (b *bank) hang(ctx context.Context) {
	count := func(n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.hanging += n
	}
	count(1)
	defer count(-1)
	<-ctx.Done()
}

func startBank(t *testing.T) *bank {
	t.Helper()
	b := &bank{calls: map[string]int{}, args: map[string]string{}, says: "found it"}
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	for _, name := range tools {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, b.answer)
	}
	real := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		b.mu.Lock()
		if strings.Contains(string(body), `"tools/call"`) {
			b.headers = r.Header.Clone()
		}
		b.mu.Unlock()
		if !b.misbehaves(w, r, string(body)) {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			real.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { live.CloseClientConnections(); live.Close() })
	b.URL = live.URL + "/mcp"
	return b
}

// misbehaves answers calls of some tools as no server should.
func (b *bank) misbehaves(w http.ResponseWriter, r *http.Request, body string) bool {
	if !strings.Contains(body, `"tools/call"`) {
		return false
	}
	called := func(tool string) bool {
		if !strings.Contains(body, `"name":"`+tool+`"`) {
			return false
		}
		b.note(tool, "")
		return true
	}
	switch {
	case called("hang"):
		b.hang(r.Context())
	case called("crash"):
		panic(http.ErrAbortHandler)
	case called("flood"):
		w.Header().Set("Content-Type", "application/json")
		block := strings.Repeat("a", 64<<10)
		for range 100 << 20 / len(block) {
			if _, err := io.WriteString(w, block); err != nil {
				return true
			}
		}
	case called("lie"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}`)
	case called("asks"): // something that the SDK cannot read
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"inputRequests":{"x":null},"resultType":"input_required"}}`,
			idOf(body))
	case called("fails"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"no such account"}}`, idOf(body))
	default:
		return false
	}
	return true
}

// idOf is the id of a request.
func idOf(body string) string { return strings.SplitN(strings.SplitN(body, `"id":`, 2)[1], ",", 2)[0] }

func (b *bank) note(tool, args string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[tool]++
	b.args[tool] = args
	return b.says
}

func (b *bank) answer(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	says := b.note(r.Params.Name, string(r.Params.Arguments))
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: says}}}, nil
}

// ran is how often a tool ran, and with which arguments last.
func (b *bank) ran(tool string) (int, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[tool], b.args[tool]
}

func (b *bank) header(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.headers.Get(name)
}

// env is an organization with a bank, a policy and a key.
type env struct {
	*testserver.Published
	bank *bank
	id   string // of the bank in the registry

	keyID string
	at    string // where agents reach the proxy
}

// apart runs the tests against a proxy in a process of its own, as writd proxy is one.
var apart = flag.Bool("apart", false, "test a proxy apart from its server")

// Request sends a request to the server, and to the proxy what is for it.
func (e *env) Request(t *testing.T, method, path, body string, headers ...string) testserver.Answer {
	t.Helper()
	if *apart && path == "/invoke" {
		return testserver.RequestAt(t, method, e.at+path, body, headers...)
	}
	return e.Server.Request(t, method, path, body, headers...)
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		e := &env{Published: &testserver.Published{Server: s, T: t, Owner: s.Person("owner")}, bank: startBank(t)}
		e.Org = s.Organization(e.Owner, "Wired")
		s.ActivePolicy(e.Owner, e.Org, policyText)
		issued := s.KeyFor(e.Owner.ID, e.Org)
		e.Key, e.keyID = issued.Secret.Reveal(), issued.ID
		made, err := e.Owner.RegisterMCPServer(t.Context(), e.Org, client.NewMCPServer{
			Name: "bank", URL: e.bank.URL, Auth: &client.MCPAuth{Type: "bearer", Token: "registered-s3cret"},
		})
		if err != nil || made.ToolCount != len(tools) {
			t.Fatalf("register the bank: %+v, %v", made, err)
		}
		e.id, e.at = made.MCPID, s.Public.BaseURL
		if *apart {
			e.at = "http://" + testserver.StartProxy(t, s.Public.BaseURL).Address
		}
		body(t, e)
	}, slices.Concat(testserver.PermitLoopback, testserver.AsProxied)...)
}

// invocation is a request as an SDK makes it.
type invocation struct {
	headers http.Header
	body    m
}

// invocation makes the request for a tool as the SDK in TypeScript does.
func (e *env) invocation(plan string, minted m, tool string, args m) invocation {
	e.T.Helper()
	token := testserver.RawToken(json.RawMessage(plan), minted)
	i := e.stepOf(plan, tool)
	proof := testserver.JSON(e.T, minted["step_proofs"].([]any)[i])
	digest := sha256.Sum256([]byte(testserver.JSON(e.T, tool)))
	h := http.Header{}
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("X-CSRG-Path", fmt.Sprintf("/steps/[%d]/action", i))
	h.Set("X-CSRG-Value-Digest", hex.EncodeToString(digest[:]))
	h.Set("X-CSRG-Proof", proof)
	return invocation{h, m{
		"mcp": "bank", "tool": tool, "action": tool, "params": args, "arguments": args, "intent_token": token,
		"plan": json.RawMessage(plan), "_iam_context": m{"user_id": "u", "agent_id": "root"}, "token": minted["token"],
		"csrg_token": minted["token"], "policy_snapshot": []m{{"policyName": "mine", "rules": m{"allowedTools": "*"}}},
	}}
}

func (e *env) stepOf(plan, tool string) int {
	e.T.Helper()
	var p struct{ Steps []struct{ Action string } }
	if err := json.Unmarshal([]byte(plan), &p); err != nil {
		e.T.Fatal(err)
	}
	for i, step := range p.Steps {
		if step.Action == tool {
			return i
		}
	}
	e.T.Fatalf("%s is not in the plan", tool)
	return 0
}

// send sends the request.
func (e *env) send(i invocation) (testserver.Answer, m) {
	e.T.Helper()
	headers := e.SDK()
	for name, values := range i.headers {
		headers = append(headers, name, values[0])
	}
	answer := e.Request(e.T, "POST", "/invoke", testserver.JSON(e.T, i.body), headers...)
	return answer, e.Members("/invoke", answer)
}

// with is the request with other members.
func (i invocation) with(members m) invocation {
	i.body = maps.Clone(i.body)
	maps.Copy(i.body, members)
	return i
}

// header is the request with another header; empty: without it.
func (i invocation) header(name, value string) invocation {
	i.headers = i.headers.Clone()
	i.headers.Del(name)
	if value != "" {
		i.headers.Set(name, value)
	}
	return i
}

// entries are the payloads of an action in the log, the newest first.
func (e *env) entries(action string) (payloads []m) {
	e.T.Helper()
	page, err := e.Owner.LogEntries(e.T.Context(), e.Org, client.LogFilter{Action: action})
	if err != nil {
		e.T.Fatal(err)
	}
	for _, entry := range page.Items {
		var payload m
		if err := json.Unmarshal(entry.Payload, &payload); err != nil {
			e.T.Fatal(err)
		}
		payloads = append(payloads, payload)
	}
	return payloads
}
