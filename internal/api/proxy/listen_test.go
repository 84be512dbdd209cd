package proxy_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/testserver"
)

// TestServersAreHeardByClientsThatListen: who has no stream of its own holds none of a server either, and calls all the
// same; who has one hears what servers send of their own accord.
func TestServersAreHeardByClientsThatListen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		var streams atomic.Int64
		counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				streams.Add(1)
				defer streams.Add(-1)
			}
			y.side.http.Config.Handler.ServeHTTP(w, r)
		}))
		t.Cleanup(counting.Close)
		t.Cleanup(counting.CloseClientConnections)
		y.register("ears", counting.URL+"/mcp")
		testserver.Soon(t, "no stream is open", func() bool { return streams.Load() == 0 })

		deaf, err := mcp.NewClient(&mcp.Implementation{Name: "deaf", Version: "1"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{
				Endpoint: "http://" + y.at + "/proxy/mcp/ears", DisableStandaloneSSE: true,
				HTTPClient: &http.Client{Transport: withKey{y.key, nil, http.DefaultTransport}},
			}, &mcp.ClientSessionOptions{ProtocolVersion: withSessions})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = deaf.Close() })
		before := y.side.count("echo")
		call(t, deaf, "echo", m{"text": "hello"})
		if n := y.side.count("echo") - before; n != 1 || streams.Load() != 0 {
			t.Errorf("%d calls, and %d streams for a client that has none", n, streams.Load())
		}

		for _, old := range []bool{false, true} {
			heard := make(chan struct{}, 10)
			v := y.one()
			v.url, v.sse = "http://"+y.at+"/proxy/mcp/ears", old
			v.options = &mcp.ClientOptions{
				PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) { heard <- struct{}{} },
			}
			s := v.connect(t)
			call(t, s, "echo", m{"text": "hello"})
			testserver.Soon(t, "the stream is open", func() bool { return streams.Load() == 1 })
			y.side.server.AddPrompt(&mcp.Prompt{Name: "more"}, nil)
			testserver.Soon(t, "the client hears it", func() bool { return len(heard) > 0 })
			_ = s.Close()
			testserver.Soon(t, "the stream has ended", func() bool { return streams.Load() == 0 })
		}
	})
}
