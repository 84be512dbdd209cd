package discovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/definition"
	"writ/internal/mcp/discovery"
	"writ/internal/outbound"
	"writ/internal/outbound/nametest"
)

// sdkServer is a server of the SDK with some of everything.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "files", Title: "Files", Version: "1.2"},
		&mcp.ServerOptions{Instructions: "Read before you write.", PageSize: 2})
	for _, name := range []string{"write", "read", "stat"} {
		s.AddTool(&mcp.Tool{
			Name: name, Description: "Does " + name + ".",
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name == "read"},
			InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"const":12345678901234567890}}}`),
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	s.AddPrompt(&mcp.Prompt{Name: "review", Arguments: []*mcp.PromptArgument{{Name: "path", Required: true}}}, nil)
	s.AddResource(&mcp.Resource{URI: "file:///srv/app/README", Name: "readme"}, nil)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "file:///{path}", Name: "any"}, nil)
	return s
}

func wantFiles(t *testing.T, found definition.Server, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Tools) != 3 || found.Tools[0].Name != "read" || found.Instructions != "Read before you write." ||
		found.Name != "files" || found.Version != "1.2" || len(found.Prompts) != 1 || len(found.Resources) != 1 ||
		len(found.Templates) != 1 || found.Partial {
		t.Errorf("found %+v", found)
	}
	schema, annotations := string(found.Tools[0].InputSchema), string(found.Tools[0].Annotations)
	if !strings.Contains(schema, "12345678901234567890") || !strings.Contains(annotations, `"readOnlyHint":true`) {
		t.Errorf("the tool is not as it was sent: %s %s", schema, annotations)
	}
}

// TestTransports lists a server of the SDK by each transport, with its credentials.
func TestTransports(t *testing.T) {
	t.Parallel()
	get := func(*http.Request) *mcp.Server { return sdkServer() }
	for transport, handler := range map[string]http.Handler{
		definition.HTTP: mcp.NewStreamableHTTPHandler(get, nil),
		definition.SSE:  mcp.NewSSEHandler(get, nil),
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer t0ken" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		target := discovery.Target{
			URL: server.URL, Transport: transport, Header: http.Header{"Authorization": {"Bearer t0ken"}},
		}
		found, err := discovery.List(t.Context(), http.DefaultTransport, target)
		wantFiles(t, found, err)
		target.Header = nil
		_, err = discovery.List(t.Context(), http.DefaultTransport, target)
		wantReason(t, transport+" without credentials", err, false, "wants credentials, and was sent none")
		target.Header = http.Header{"Authorization": {"Bearer other"}}
		_, err = discovery.List(t.Context(), http.DefaultTransport, target)
		wantReason(t, transport+" with wrong credentials", err, false, "refuses the credentials")
		target.Header, target.Transport = http.Header{"Authorization": {"Bearer t0ken"}}, ""
		if found, err = discovery.List(t.Context(), http.DefaultTransport, target); err != nil ||
			found.Transport != transport {
			t.Errorf("%s without a transport: %s, %v", transport, found.Transport, err)
		}
	}
}

// wantReason checks why a server cannot be listed.
func wantReason(t *testing.T, what string, err error, unreadable bool, reason string) {
	t.Helper()
	_, isUnreadable := errors.AsType[*discovery.Unreadable](err)
	_, isUnreachable := errors.AsType[*discovery.Unreachable](err)
	if err == nil || isUnreadable != unreadable || isUnreachable == unreadable ||
		!strings.Contains(err.Error(), reason) {
		t.Errorf("%s: %T %v, want %q", what, err, err, reason)
	}
}

// rawServer answers tools/list with a text as it is.
func rawServer(t *testing.T, list func(w io.Writer, id json.RawMessage)) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch asked.Method {
		case "initialize":
			fmt.Fprintf(w,
				`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
					`"serverInfo":{"name":"raw","version":"1"}}}`, asked.ID)
		case "tools/list":
			list(w, asked.ID)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, asked.ID)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// answered answers with a result.
func answered(result string) func(io.Writer, json.RawMessage) {
	return func(w io.Writer, id json.RawMessage) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}
}

// TestListsThatCannotBeRead: each ends in an error that says why, and none in a list.
func TestListsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat(`{"name":"t","inputSchema":{"type":"object"}},`, 50_000), ",")
	for name, c := range map[string]struct {
		list   func(io.Writer, json.RawMessage)
		reason string
	}{
		"100 MB": {func(w io.Writer, id json.RawMessage) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","description":"`, id)
			for range 100 {
				if _, err := w.Write([]byte(strings.Repeat("a", 1<<20))); err != nil {
					return
				}
			}
		}, "sends more than"},
		"50,000 tools": {answered(`{"tools":[` + many + `]}`), "more than 2000 tools"},
		"duplicate names": {
			answered(`{"tools":[{"name":"a","inputSchema":{}},{"name":"a","inputSchema":{}}]}`), "is also the name of",
		},
		"duplicate member": {answered(`{"tools":[{"name":"a","name":"b","inputSchema":{}}]}`), "duplicate"},
		"invalid UTF-8": {
			answered("{\"tools\":[{\"name\":\"a\",\"description\":\"\xff\",\"inputSchema\":{}}]}"), "invalid UTF-8",
		},
		"a hidden name": {answered(`{"tools":[{"name":"a\u202eb","inputSchema":{}}]}`), "without hidden characters"},
		"too deep": {answered(`{"tools":[{"name":"a","inputSchema":` + strings.Repeat(`{"a":`, 100) + `1` +
			strings.Repeat(`}`, 100) + `}]}`), "nested"},
		"endless pages": {answered(`{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"again"}`), "pages"},
	} {
		url := rawServer(t, c.list)
		found, err := discovery.List(t.Context(), http.DefaultTransport, discovery.Target{
			URL: url, Transport: definition.HTTP,
		})
		wantReason(t, name, err, true, c.reason)
		if len(found.Tools) != 0 {
			t.Errorf("%s: %d tools", name, len(found.Tools))
		}
	}
}

// TestSchemasThatReferToThemselves are read as they are: nothing follows a reference.
func TestSchemasThatReferToThemselves(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}},"properties":{"a":{"$ref":"#"}}}`
	url := rawServer(t, answered(`{"tools":[{"name":"a","inputSchema":`+schema+`}]}`))
	found, err := discovery.List(t.Context(), http.DefaultTransport, discovery.Target{
		URL: url, Transport: definition.HTTP,
	})
	if err != nil || len(found.Tools) != 1 || string(found.Tools[0].InputSchema) != schema {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestServersThatAreNotReached: what hangs, leads elsewhere or is no MCP server.
func TestServersThatAreNotReached(t *testing.T) {
	t.Parallel()
	guarded := outbound.New(outbound.Options{}).Stream()
	hangs := rawServer(t, func(io.Writer, json.RawMessage) { time.Sleep(time.Second) })
	private := rawServer(t, answered(`{"tools":[]}`))
	handled := func(h http.HandlerFunc) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	}
	for name, c := range map[string]struct {
		url, transport string
		next           http.RoundTripper
		reason         string
	}{
		"hangs": {hangs, definition.HTTP, nil, "did not answer within"},
		"a redirect": {handled(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, private, http.StatusTemporaryRedirect)
		}), definition.HTTP, nil, "redirect"},
		"another address for messages": {handled(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", private)
			w.(http.Flusher).Flush()
			<-r.Context().Done() // a stream that ended would be another reason
		}), definition.SSE, nil, "another address"},
		"a private address": {private, definition.HTTP, guarded, "not a public one"},
		"a name of this machine": {
			strings.Replace(private, "127.0.0.1", "localhost", 1), definition.HTTP, guarded, "not",
		},
		"no MCP server": {handled(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<html>")
		}), definition.HTTP, nil, "MCP server"},
		"a failing server": {handled(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		}), definition.HTTP, nil, "status 502"},
	} {
		next := c.next
		if next == nil {
			next = http.DefaultTransport
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if name != "hangs" {
			ctx = t.Context()
		}
		_, err := discovery.List(ctx, next, discovery.Target{URL: c.url, Transport: c.transport})
		cancel()
		wantReason(t, name, err, false, c.reason)
	}
}

// slowToConnect is a transport whose connections take longer than they may.
type slowToConnect struct{}

func (slowToConnect) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &outbound.Failure{Reason: "the target did not answer in time", Cause: context.DeadlineExceeded}
}

// TestOnlyTheWholeTimeIsSaid: a limit of the connection alone is not told as that of the discovery, which is longer.
func TestOnlyTheWholeTimeIsSaid(t *testing.T) {
	t.Parallel()
	_, err := discovery.List(t.Context(), slowToConnect{}, discovery.Target{
		URL: "https://mcp.example", Transport: definition.HTTP,
	})
	if err == nil || err.Error() != "the target did not answer in time" {
		t.Errorf("%v", err)
	}
}

// TestNamesThatMove: the address of a name is judged at every dial. One that led to a permitted address leads to
// another machine later, which nobody connects to.
func TestNamesThatMove(t *testing.T) {
	t.Parallel()
	server := rawServer(t, answered(`{"tools":[{"name":"read","inputSchema":{}}]}`))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server, "http://"))
	trap, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = trap.Close() })
	reached := make(chan struct{})
	go func() {
		if conn, err := trap.Accept(); err == nil {
			close(reached)
			_ = conn.Close()
		}
	}()
	permit, err := outbound.ParsePermit("127.0.0.1:" + port)
	if err != nil {
		t.Fatal(err)
	}
	names := nametest.New()
	names.Set("mcp.example.com", "127.0.0.1")
	guarded := outbound.New(outbound.Options{Resolver: names.Resolver(), Permits: []outbound.Permit{permit}})
	t.Cleanup(guarded.Close)
	for _, transport := range []string{definition.HTTP, definition.SSE, ""} {
		target := discovery.Target{URL: "http://mcp.example.com:" + port + "/", Transport: transport}
		if transport == definition.HTTP {
			found, err := discovery.List(t.Context(), guarded.Stream(), target)
			if err != nil || len(found.Tools) != 1 {
				t.Fatalf("while the name leads to a permitted address: %+v, %v", found, err)
			}
		}
		for _, address := range []string{"127.0.0.2", "10.0.0.1", "169.254.169.254"} {
			names.Set("mcp.example.com", address)
			guarded.Close() // a connection that is open leads to where it led
			_, err = discovery.List(t.Context(), guarded.Stream(), target)
			wantReason(t, transport+" after the name moved to "+address, err, false, "not a public one")
		}
	}
	select {
	case <-reached:
		t.Error("the machine to which the name moved was connected to")
	default:
	}
}
