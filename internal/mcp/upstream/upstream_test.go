package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/definition"
	"writ/internal/mcp/upstream"
	"writ/internal/outbound"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// loopback permits servers of tests.
func loopback(t *testing.T) *upstream.Dialer {
	t.Helper()
	return loopbackWith(t, callsAtOnce)
}

// loopbackWith permits servers of tests, with so many connections for calls to each.
func loopbackWith(t *testing.T, conns int) *upstream.Dialer {
	t.Helper()
	permit, err := outbound.ParsePermit("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	calls := outbound.New(outbound.Options{Permits: []outbound.Permit{permit}, Conns: conns})
	streams := outbound.New(outbound.Options{Permits: []outbound.Permit{permit}, Conns: 100})
	d := upstream.New(calls.Stream(), streams.Stream())
	t.Cleanup(func() { d.Close(); calls.Close(); streams.Close() })
	return d
}

// callsAtOnce is how many connections calls to one server may have in these tests.
const callsAtOnce = 8

// TestStreamsDelayNoCalls opens more sessions that listen than calls have connections.
func TestStreamsDelayNoCalls(t *testing.T) {
	var calls atomic.Int64
	server := echo(&calls)
	url := serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	d := loopback(t)
	var sessions []*upstream.Session
	for range 3 * callsAtOnce {
		s, err := d.Dial(t.Context(), upstream.Target{Name: "echo", URL: url}, upstream.Options{Listen: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.End()
		sessions = append(sessions, s)
	}
	for _, s := range sessions {
		if _, err := s.CallTool(t.Context(), say("hi")); err != nil {
			t.Fatal(err)
		}
	}
	if calls.Load() != 3*callsAtOnce {
		t.Errorf("%d calls", calls.Load())
	}
}

// TestACallerThatHasItsAnswerKeepsTheConnection: the stream that brought an answer ends after its caller has left, and
// the next call goes over the same connection.
func TestACallerThatHasItsAnswerKeepsTheConnection(t *testing.T) {
	var calls atomic.Int64
	server, left, over := echo(&calls), make(chan struct{}), make(chan string, 2)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before := calls.Load()
		inner.ServeHTTP(w, r)
		if calls.Load() > before {
			over <- r.RemoteAddr
			<-left
		}
	}))
	d := loopbackWith(t, 1) // the second call waits for the connection of the first, or for its end
	d.DrainFor(patience)
	session, err := d.Dial(t.Context(), upstream.Target{URL: url}, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ctx, leave := context.WithCancel(t.Context())
	if _, err := session.CallTool(ctx, say("hi")); err != nil {
		t.Fatal(err)
	}
	leave()
	close(left)
	if _, err := session.CallTool(t.Context(), say("hi")); err != nil {
		t.Fatal(err)
	}
	if first, second := <-over, <-over; first != second {
		t.Errorf("the second call came from %s, want the connection of the first, %s", second, first)
	}
}

type said struct {
	Text string `json:"text"`
}

// echo is an MCP server with a tool that says what it is told, and counts.
func echo(calls *atomic.Int64) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "say"}, func(
		_ context.Context, _ *mcp.CallToolRequest, in said,
	) (*mcp.CallToolResult, any, error) {
		calls.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	return server
}

func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

func say(text string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "say", Arguments: map[string]any{"text": text}}
}

func TestCallsRealServers(t *testing.T) {
	var calls atomic.Int64
	server := echo(&calls)
	get := func(*http.Request) *mcp.Server { return server }
	for _, c := range []struct {
		name, transport string
		handler         http.Handler
	}{
		{"streams", definition.HTTP, mcp.NewStreamableHTTPHandler(get, nil)},
		{"answers at once", "", mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: true})},
		{"without sessions", "", mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})},
		{"of 2024", definition.SSE, mcp.NewSSEHandler(get, nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var withoutKey atomic.Int64
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer s3cret" {
					withoutKey.Add(1)
				}
				c.handler.ServeHTTP(w, r)
			}))
			session, err := loopback(t).Dial(t.Context(), upstream.Target{
				Name: "echo", URL: url, Transport: c.transport,
				Header: http.Header{"Authorization": {"Bearer s3cret"}},
			}, upstream.Options{Listen: true})
			if err != nil {
				t.Fatal(err)
			}
			before := calls.Load()
			for i := range 3 {
				text := fmt.Sprint("hello ", i)
				result, err := session.CallTool(t.Context(), say(text))
				if err != nil {
					t.Fatal(err)
				}
				if got := result.Content[0].(*mcp.TextContent).Text; got != text {
					t.Errorf("the tool said %q, want %q", got, text)
				}
			}
			if n := calls.Load() - before; n != 3 {
				t.Errorf("the tool ran %d times, want 3", n)
			}
			if err := session.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if n := withoutKey.Load(); n != 0 {
				t.Errorf("%d requests had no credentials", n)
			}
		})
	}
}

// TestAnAcknowledgementMaySayAnything: by the older transport answers come on the stream, and what is said beside them,
// as the official SDKs say "Accepted", is neither read as one nor waited for.
func TestAnAcknowledgementMaySayAnything(t *testing.T) {
	var calls atomic.Int64
	server := echo(&calls)
	real := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
	hi := say("hi")
	for name, say := range map[string]func(w http.ResponseWriter, r *http.Request){
		"as the SDKs": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "Accepted") },
		"as JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, anAnswer, "4711")
		},
		"for ever": func(w http.ResponseWriter, _ *http.Request) { flood(w, "", "Accepted") },
		"without an end": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "Acc")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				real.ServeHTTP(w, r)
				if r.Method == http.MethodPost {
					say(w, r)
				}
			}))
			s, err := loopback(t).Dial(t.Context(), upstream.Target{Name: "old", URL: url, Transport: definition.SSE},
				upstream.Options{Timeout: patience, MaxBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for range 3 {
				result, err := s.CallTool(t.Context(), hi)
				if err != nil {
					t.Fatal(err)
				}
				if got := result.Content[0].(*mcp.TextContent).Text; got != "hi" {
					t.Errorf("the tool said %q", got)
				}
			}
		})
	}
}

func TestSessionOutlivesTheContextThatOpenedIt(t *testing.T) {
	var calls atomic.Int64
	server := echo(&calls)
	get := func(*http.Request) *mcp.Server { return server }
	for transport, handler := range map[string]http.Handler{
		definition.HTTP: mcp.NewStreamableHTTPHandler(get, nil),
		definition.SSE:  mcp.NewSSEHandler(get, nil),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		session, err := loopback(t).Dial(ctx, upstream.Target{URL: serve(t, handler), Transport: transport},
			upstream.Options{})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.CallTool(t.Context(), say("still here")); err != nil {
			t.Errorf("%s: %v", transport, err)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

// hostile is a server that begins a session as it should, and then answers calls as it likes.
func hostile(t *testing.T, onCall http.HandlerFunc) string {
	t.Helper()
	var calls atomic.Int64
	server := echo(&calls)
	real := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{JSONResponse: true})
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if strings.Contains(string(body), `"tools/call"`) {
			onCall(w, r)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		real.ServeHTTP(w, r)
	}))
}

const anAnswer = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"a lie"}]}}`

func TestHostileServers(t *testing.T) {
	elsewhere := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	for name, c := range map[string]struct {
		onCall http.HandlerFunc
		kind   upstream.Kind
	}{
		"hangs": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, upstream.TimedOut},
		"dies":  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, upstream.Broken},
		"answers another request": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, anAnswer, "4711")
		}, upstream.Broken},
		"answers another request in a stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: "+anAnswer+"\n\n", "4711")
		}, upstream.Broken},
		"ends a stream without an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": nothing\n\n")
		}, upstream.Broken},
		"floods": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			flood(w, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"`, "a")
		}, upstream.TooLong},
		"floods a stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			flood(w, "", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
		}, upstream.TooLong},
		"sends no JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "hello")
		}, upstream.Broken},
		"repeats a member": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":4711,"id":2,"result":{"content":[]}}`)
		}, upstream.Broken},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		}, upstream.Broken},
		"refuses": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusUnauthorized)
		}, upstream.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			limit := patience
			if c.kind == upstream.TimedOut {
				limit = time.Second
			}
			session, err := loopback(t).Dial(t.Context(), upstream.Target{Name: "evil", URL: hostile(t, c.onCall)},
				upstream.Options{MaxBytes: 1 << 20, Timeout: limit})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			result, err := session.CallTool(t.Context(), say("hello"))
			failure, ok := errors.AsType[*upstream.Failure](err)
			if !ok {
				t.Fatalf("got %v, %v, want a failure", result, err)
			}
			if failure.Kind != c.kind {
				t.Errorf("kind %s (%s: %v), want %s", failure.Kind, failure.Reason, failure.Cause, c.kind)
			}
			if !failure.Sent {
				t.Error("the request counts as not sent, so that it could be sent again")
			}
			if strings.Contains(failure.Error(), "127.0.0.1") {
				t.Errorf("the error names the address: %v", failure)
			}
		})
	}
}

// flood sends 100 MB, unless the reader goes away.
func flood(w io.Writer, begin, again string) {
	if _, err := io.WriteString(w, begin); err != nil {
		return
	}
	block := strings.Repeat(again, 1+(64<<10)/len(again))
	for sent := 0; sent < 100<<20; sent += len(block) {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
}

// TestSecondAnswer: the first answer counts, and neither the session nor another call is harmed by the second.
func TestSecondAnswer(t *testing.T) {
	ids := make(chan string, 10)
	var calls atomic.Int64
	server := echo(&calls)
	real := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"twice"`) {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			real.ServeHTTP(w, r)
			return
		}
		id := strings.SplitN(strings.SplitN(string(body), `"id":`, 2)[1], ",", 2)[0]
		ids <- id
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: "+anAnswer+"\n\ndata: "+strings.Replace(anAnswer, "a lie", "another", 1)+"\n\n", id, id)
	}))
	session, err := loopback(t).Dial(t.Context(), upstream.Target{URL: url}, upstream.Options{Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(t.Context(), say("twice"))
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Content[0].(*mcp.TextContent).Text; got != "a lie" {
		t.Errorf("got %q, want the first answer", got)
	}
	for range 3 {
		result, err = session.CallTool(t.Context(), say("honest"))
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Content[0].(*mcp.TextContent).Text; got != "honest" {
			t.Errorf("got %q, want the answer to the question", got)
		}
	}
}

// TestNoHeaderMakesACallRepeatable: net/http sends a request again that has a key of idempotence.
func TestNoHeaderMakesACallRepeatable(t *testing.T) {
	for _, name := range []string{"Authorization", "Idempotency-Key", "X-Idempotency-Key"} {
		var calls atomic.Int64
		url := hostile(t, func(http.ResponseWriter, *http.Request) {
			calls.Add(1)
			panic(http.ErrAbortHandler)
		})
		session, err := loopback(t).Dial(t.Context(), upstream.Target{URL: url, Header: http.Header{name: {"s3cret"}}},
			upstream.Options{Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.CallTool(t.Context(), say("hello")); err == nil {
			t.Errorf("%s: a call without an answer succeeded", name)
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("%s: the call was sent %d times", name, n)
		}
		_ = session.Close() // the server may have ended it
	}
}

func TestNothingIsSentToAnUnreachableServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	for name, target := range map[string]string{
		"nobody listens":    url,
		"a private address": "http://10.1.2.3/mcp",
		"no address":        "http://[::1",
	} {
		_, err := loopback(t).Dial(t.Context(), upstream.Target{URL: target}, upstream.Options{})
		failure, ok := errors.AsType[*upstream.Failure](err)
		if !ok || failure.Kind != upstream.Unreachable || failure.Sent {
			t.Errorf("%s: %+v, want it unreachable", name, err)
		}
	}
}

// TestCallerThatLeaves: the server is told, and the failure says that the call may have run.
func TestCallerThatLeaves(t *testing.T) {
	started, gone := make(chan struct{}), make(chan struct{})
	url := hostile(t, func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
		close(gone)
	})
	session, err := loopback(t).Dial(t.Context(), upstream.Target{URL: url}, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	_, err = session.CallTool(ctx, say("hello"))
	failure, ok := errors.AsType[*upstream.Failure](err)
	if !ok || failure.Kind != upstream.Abandoned || !failure.Sent {
		t.Errorf("%+v, want a call that was abandoned after it was sent", err)
	}
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the server still works for a caller that left")
	}
}
