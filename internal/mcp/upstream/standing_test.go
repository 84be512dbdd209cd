package upstream_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/upstream"
)

// counted serves a server and counts the streams that its clients open, and those that are open.
func counted(t *testing.T, server *mcp.Server) (url string, begun, open *atomic.Int64) {
	t.Helper()
	begun, open = &atomic.Int64{}, &atomic.Int64{}
	next := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	url = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			begun.Add(1)
			open.Add(1)
			defer open.Add(-1)
		}
		next.ServeHTTP(w, r)
	}))
	return url, begun, open
}

// TestAStreamIsOpenedWhenSomebodyListens: until then it costs the server nothing, and after that nothing is missed.
func TestAStreamIsOpenedWhenSomebodyListens(t *testing.T) {
	var calls atomic.Int64
	server := echo(&calls)
	url, begun, open := counted(t, server)
	heard := make(chan string, 10)
	session, err := loopback(t).Dial(t.Context(), upstream.Target{Name: "echo", URL: url}, upstream.Options{
		Listen: true, Later: true,
		Client: &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			heard <- "changed"
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.CallTool(t.Context(), say("hi")); err != nil {
		t.Fatal(err)
	}
	if n := begun.Load(); n != 0 {
		t.Fatalf("%d streams were opened before anybody listened", n)
	}
	session.Listen()
	session.Listen()
	if _, err := session.CallTool(t.Context(), say("hi")); err != nil {
		t.Fatal(err)
	}
	if n := begun.Load(); n != 1 {
		t.Fatalf("%d streams are open when a call is made after somebody listens, want 1", n)
	}
	server.AddTool(&mcp.Tool{Name: "more", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	select {
	case <-heard:
	case <-time.After(patience):
		t.Fatal("what the server sent of its own accord did not come")
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(patience); open.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the stream outlives its session")
		}
	}
}

// TestASessionWithoutItsStream ends at once though nobody has listened, and also goes on with a server that has none.
func TestASessionWithoutItsStream(t *testing.T) {
	var calls atomic.Int64
	server := echo(&calls)
	next := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	}))
	d := loopback(t)
	for _, listens := range []bool{false, true} {
		session, err := d.Dial(t.Context(), upstream.Target{Name: "echo", URL: url},
			upstream.Options{Listen: true, Later: true})
		if err != nil {
			t.Fatal(err)
		}
		if listens {
			session.Listen()
		}
		for range 2 {
			if _, err := session.CallTool(t.Context(), say("hi")); err != nil {
				t.Fatal(err)
			}
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		ended := make(chan struct{})
		go func() { session.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("the session does not end")
		}
	}
}
