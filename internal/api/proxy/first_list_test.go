package proxy_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
)

// lackedWhileAway calls a tool of a server that has listed nothing yet: the reason says so, and what to do.
func (y *yard) lackedWhileAway(t *testing.T) {
	t.Helper()
	lacked := &mcp.CallToolParams{Name: "late__echo", Arguments: m{"text": "x"}}
	_, err := y.all().connect(t).CallTool(t.Context(), lacked)
	if codeOf(err) != -32602 {
		t.Error(err)
	}
	if d := y.decided(t)[0]; d.Rule != "not_carried" || !strings.Contains(d.Reason, "listed nothing yet") ||
		!strings.Contains(d.Reason, "writ mcp refresh late") {
		t.Errorf("the reason is %q", d.Reason)
	}
}

// TestAFirstListThatNobodySaw: a server that was away when a person registered it shows agents nothing before somebody
// has accepted what it lists, and a call of its tools is held.
func TestAFirstListThatNobodySaw(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		ctx := t.Context()
		behind, err := url.Parse(y.side.http.URL)
		if err != nil {
			t.Fatal(err)
		}
		var here atomic.Bool
		front := httputil.NewSingleHostReverseProxy(behind)
		away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !here.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			front.ServeHTTP(w, r)
		}))
		t.Cleanup(away.Close)
		t.Cleanup(away.CloseClientConnections)
		_, err = y.Owner.RegisterMCPServer(ctx, y.ID, client.NewMCPServer{Name: "late", URL: away.URL + "/mcp"})
		if err != nil {
			t.Fatal(err)
		}
		y.lackedWhileAway(t)
		here.Store(true)
		listed, err := y.Owner.RefreshMCPServer(ctx, y.ID, "late")
		if err != nil || listed.HeldCount == 0 || listed.HeldCount != listed.ToolCount {
			t.Fatalf("%+v, %v", listed, err)
		}
		late := y.all()
		late.url += "/late"
		s := late.connect(t)
		if seen, err := s.ListTools(ctx, nil); err != nil || len(seen.Tools) != 0 {
			t.Errorf("before somebody looked: %+v, %v", seen, err)
		}
		d := decisionOf(t, call(t, s, "echo", m{"text": "x"}))
		if d["decision"] != "hold" || y.side.count("echo") != 0 {
			t.Errorf("called before somebody looked: %v", d)
		}
		if _, err := y.Owner.UpdateMCPServer(ctx, y.ID, "late", m{
			"status": "approved", "seen": listed.ListedHash, "reason": "read it",
		}); err != nil {
			t.Fatal(err)
		}
		if seen, err := late.connect(t).ListTools(ctx, nil); err != nil || len(seen.Tools) != listed.ToolCount {
			t.Errorf("accepted: %+v, %v", seen, err)
		}
	}, "WRIT_PROXY_HOLD_SECONDS", "0")
}
