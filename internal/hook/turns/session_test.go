package turns_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/hook"
	"writ/internal/testserver"
)

// TestASession is two turns of a session at a real server: what is decided, what runs, and what telemetry has of it.
func TestASession(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, allowAll)
		h := newHost(t, o.Agent.BaseURL, o.Agent)
		a, _ := h.fire(hook.SessionStart, m{"source": "startup"})
		if !strings.Contains(a.SystemMessage, "guards this session as gemini-cli") ||
			a.Specific.Context != "" {
			t.Errorf("session-start: %+v", a)
		}

		a = h.prompt("look at a.txt")
		if h.turn != 1 || !strings.Contains(a.Specific.Context, "register_intent_plan") || a.Decision != "" {
			t.Fatalf("before-agent: turn %d, %+v", h.turn, a)
		}
		h.plan("read_file")
		h.says(`{"id":"a","timestamp":"` + time.Now().UTC().Format(time.RFC3339Nano) +
			`","type":"gemini","model":"gemini-2.5-pro","tokens":{"input":1000,"output":50,"cached":10}}`)
		if d := h.decide("read_file", `{"file_path":"a.txt"}`); !d.Allowed {
			t.Fatalf("a planned call: %s", d.Reason)
		}
		if d := h.decide("write_file", `{"file_path":"b.txt"}`); d.Allowed {
			t.Fatal("a call that is not planned is allowed")
		}
		if _, said := h.fire(hook.BeforeToolSelection, m{"llm_request": m{}}); said != "" {
			t.Errorf("before-tool-selection says %q", said)
		}
		if _, said := h.fire(hook.AfterTool, ran("read_file", `{"file_path":"a.txt"}`, "hello")); said != "" {
			t.Errorf("after-tool says %q", said)
		}
		if recorded := o.Recorded(o.ID); !slices.Contains(recorded, "call.executed") {
			t.Errorf("the log has no report: %v", recorded)
		}

		h.prompt("and now b.txt")
		if h.turn != 2 {
			t.Fatalf("turn %d, want 2", h.turn)
		}
		if d := h.decide("read_file", `{"file_path":"a.txt"}`); d.Allowed {
			t.Error("the plan of the last turn still counts")
		}
		if a, said := h.fire(hook.SessionEnd, m{"reason": "exit"}); said != "" {
			t.Errorf("session-end: %+v", a)
		}
		got := turnTraces(t, o)
		if len(got) != 2 {
			t.Fatalf("%d traces, want 2", len(got))
		}
		first := got[0]
		if *first.InputPreview != "look at a.txt" || first.TotalInputTokens != 1000 || first.TotalOutputTokens != 50 ||
			*first.SessionID != sessionID || *first.OutputPreview != "1 calls ran, 1 did not" {
			t.Errorf("%+v", first.Trace)
		}
		var kinds []string
		for _, span := range first.Spans {
			kinds = append(kinds, span.Kind+" "+span.Name+" "+span.Status)
		}
		slices.Sort(kinds)
		want := []string{
			"generation model ok", "policy_call hook.allow ok", "policy_call hook.deny denied",
			"span tool.read_file ok", "span tool.write_file denied",
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("spans %q, want %q", kinds, want)
		}
		if now, err := o.Agent.SessionState(t.Context(), sessionID); err != nil || !now.Ended {
			t.Errorf("the session at the server: %+v, %v", now, err)
		}
		seen, err := o.Owner.TelemetrySession(t.Context(), o.ID, sessionID)
		if err != nil || seen == nil || seen.Status != "completed" {
			t.Errorf("the session in telemetry: %+v, %v", seen, err)
		}
		if _, err := h.state().Turn(); err == nil {
			t.Error("the files of the session are still there")
		}
		if found := findings(t, o); len(found) > 0 {
			t.Errorf("findings: %q", found)
		}
	})
}

// TestWhatNobodyDecided: a call that ran without a decision, or with other arguments, stops the turn.
func TestWhatNobodyDecided(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, allowAll)
		h := newHost(t, o.Agent.BaseURL, o.Agent)
		for name, c := range map[string]struct{ tool, says string }{
			"nothing was decided": {"write_file", "had not decided"},
			"other arguments":     {"read_file", "other arguments"},
		} {
			h.prompt("look at a.txt")
			h.plan("read_file")
			h.decide("read_file", `{"file_path":"a.txt"}`)
			a, _ := h.fire(hook.AfterTool, ran(c.tool, `{"file_path":"secret.txt"}`, "the secret"))
			if a.Decision != "deny" || !strings.Contains(a.Reason, c.says) ||
				!strings.Contains(a.SystemMessage, c.says) {
				t.Errorf("%s: %+v", name, a)
			}
			turn, err := h.state().Turn()
			if err != nil || !strings.Contains(turn.Alarm, c.says) {
				t.Errorf("%s: the next call is not denied: %+v, %v", name, turn, err)
			}
			if a, _ := h.fire(hook.BeforeToolSelection, nil); a.Specific.ToolConfig == nil ||
				a.Specific.ToolConfig.Mode != "NONE" {
				t.Errorf("%s: the model is not told that no tool may run: %+v", name, a)
			}
			h.prompt("once more")
			if turn, err := h.state().Turn(); err != nil || turn.Alarm != "" {
				t.Errorf("%s: the next turn: %+v, %v", name, turn, err)
			}
		}
		if found := findings(t, o); !slices.Contains(found, "execution_with_other_arguments read_file") {
			t.Errorf("findings: %q", found)
		}
		h.guard["mode"] = "monitor"
		h.prompt("look")
		a, _ := h.fire(hook.AfterTool, ran("write_file", `{}`, "x"))
		if turn, err := h.state().Turn(); a.Decision != "" || a.SystemMessage == "" || err != nil || turn.Alarm != "" {
			t.Errorf("watched only: %+v, %+v, %v", a, turn, err)
		}
	})
}

// TestServerDown: no turn opens, nothing blocks, and what was not sent is sent when the server is back.
func TestServerDown(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, allowAll)
		target, err := url.Parse(o.Agent.BaseURL)
		if err != nil {
			t.Fatal(err)
		}
		var down atomic.Bool
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = target.Host
		}}
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				http.Error(w, "down", http.StatusServiceUnavailable)
				return
			}
			proxy.ServeHTTP(w, r)
		}))
		defer front.Close()
		h := newHost(t, front.URL, o.Agent)
		h.prompt("look at a.txt")
		h.plan("read_file")
		h.decide("read_file", `{"file_path":"a.txt"}`)

		down.Store(true)
		if _, said := h.fire(hook.AfterTool, ran("read_file", `{"file_path":"a.txt"}`, "hello")); said != "" {
			t.Errorf("after-tool says %q", said)
		}
		a := h.prompt("go on")
		if h.turn != 0 || !strings.Contains(a.SystemMessage, "No tool will run") || a.Decision != "" {
			t.Errorf("before-agent: turn %d, %+v", h.turn, a)
		}
		if a, _ := h.fire(hook.SessionStart, m{
			"source": "startup",
		}); !strings.Contains(a.SystemMessage, "No tool will run") {
			t.Errorf("session-start: %+v", a)
		}
		if a, _ := h.fire(hook.SessionEnd, m{
			"reason": "exit",
		}); !strings.Contains(a.SystemMessage, "waits for the next session") {
			t.Errorf("session-end: %+v", a)
		}
		if n := len(turnTraces(t, o)); n != 0 {
			t.Fatalf("%d traces came through", n)
		}

		down.Store(false)
		h.fire(hook.SessionStart, m{"source": "startup"})
		if n := len(turnTraces(t, o)); n != 2 {
			t.Errorf("%d traces, want those of both turns", n)
		}
		if recorded := o.Recorded(o.ID); !slices.Contains(recorded, "call.executed") {
			t.Errorf("the log has no report: %v", recorded)
		}
	})
}
