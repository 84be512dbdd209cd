package proxy_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/testserver"
)

// berth7 answers the question that a call waits with.
func berth7(tool string, asked *mcp.CallToolResult) *mcp.CallToolParams {
	return &mcp.CallToolParams{
		Name:         tool,
		Arguments:    m{},
		RequestState: asked.RequestState,
		InputResponses: mcp.InputResponseMap{
			"writ": &mcp.ElicitResult{Action: "accept", Content: m{"berth": "7"}},
		},
	}
}

// TestWhatIsStoppedMeanwhileDoesNotGoOn: an answer makes no call run that would not be allowed any more.
func TestWhatIsStoppedMeanwhileDoesNotGoOn(t *testing.T) {
	t.Parallel()
	eachAsking(t, func(t *testing.T, y *yard, answered *atomic.Int64) {
		token := y.Declared(y.key, client.PlanRequest{
			Plan: []byte(`{"goal":"ask","steps":[{"action":"ask","mcp":"yard"}]}`), ExpiresIn: 600,
		})
		v := y.one()
		v.version, v.options = stateless, (&heard{}).options()
		v.options.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
		v.more = http.Header{"Writ-Plan": {token.JWT}}
		s := v.connect(t)
		set := func(scope, subject string, lift bool) {
			t.Helper()
			if _, err := y.Owner.KillScope(t.Context(), y.ID, scope, subject, "it ran away", lift); err != nil {
				t.Fatal(err)
			}
		}
		asked := call(t, s, "ask", m{})
		if r, err := s.CallTool(t.Context(), berth7("ask", asked)); err != nil || textOf(r) != "accept 7" {
			t.Fatalf("of a plan: %+v, %v", r, err)
		}
		answered.Store(0)
		for scope, subject := range map[string]string{"tool": "yard.ask", "server": "yard"} {
			asked := call(t, s, "ask", m{})
			set(scope, subject, false)
			y.refusedAfter(t, s, scope, asked, answered)
			set(scope, subject, true)
		}
		asked = call(t, s, "ask", m{})
		set("plan", token.PlanID, false)
		y.refusedAfter(t, s, "plan", asked, answered)
		free := y.byHand(t, y.key)
		asked = call(t, free, "ask", m{})
		y.ActivePolicy(y.Owner, y.ID, "version: v1\nname: mute\ndefault: allow\nrules:\n"+
			"  - id: mute\n    effect: deny\n    tools: [\"yard.ask\"]\n")
		y.refusedAfter(t, free, "policy", asked, answered)
	})
}

// refusedAfter answers a call that must not go on.
func (y *yard) refusedAfter(
	t *testing.T, s *mcp.ClientSession, what string, asked *mcp.CallToolResult, answered *atomic.Int64,
) {
	t.Helper()
	_, err := s.CallTool(t.Context(), berth7("ask", asked))
	if codeOf(err) != -32060 || !strings.Contains(err.Error(), "may not go on") || answered.Load() != 0 {
		t.Errorf("%s: %v; the server got %d answers", what, err, answered.Load())
	}
}

// TestAServerWithSessionsGetsNoAnswerAfterAKill, from clients with sessions or without.
func TestAServerWithSessionsGetsNoAnswerAfterAKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		for _, version := range []string{withSessions, stateless} {
			v := y.one()
			v.version, v.options = version, (&heard{}).options()
			v.options.ElicitationHandler = func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				_, err := y.Owner.KillScope(ctx, y.ID, "tool", "yard.elicit", "it ran away", false)
				return &mcp.ElicitResult{Action: "accept", Content: m{"berth": "7"}}, err
			}
			r := call(t, v.connect(t), "elicit", m{})
			if !r.IsError || !strings.Contains(textOf(r), "may not go on") {
				t.Errorf("%s: the tool says %q", version, textOf(r))
			}
			_, err := y.Owner.KillScope(t.Context(), y.ID, "tool", "yard.elicit", "it was explained", true)
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestAnAnswerThatComesLateGetsTheResult of a call that went on without it.
func TestAnAnswerThatComesLateGetsTheResult(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		enough := make(chan struct{})
		y.side.server.AddTool(&mcp.Tool{Name: "wipe", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				y.side.note("hasty", req)
				ctx, cancel := context.WithCancel(ctx)
				go func() {
					<-enough
					cancel()
				}()
				_, _ = elicit(ctx, req)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "went on without"}}}, nil
			})
		s := y.byHand(t, y.key)
		asked := call(t, s, "wipe", m{})
		close(enough)
		testserver.Soon(t, "the call has ended", func() bool { return y.front().Sessions()+y.front().Waiting() == 0 })
		for range 2 {
			if r, err := s.CallTool(t.Context(), berth7("wipe", asked)); err != nil || textOf(r) != "went on without" {
				t.Errorf("the answer: %+v, %v", r, err)
			}
		}
		if n := y.side.count("hasty"); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

// TestWhoLeavesIsToldThatTheCallMayHaveRun when the answer is sent again, and not to make the call again.
func TestWhoLeavesIsToldThatTheCallMayHaveRun(t *testing.T) {
	t.Parallel()
	eachAsking(t, func(t *testing.T, y *yard, answered *atomic.Int64) {
		y.side.server.AddTool(&mcp.Tool{Name: "wipe", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				result := &mcp.CallToolResult{}
				if told(req.Params.InputResponses, req.Params.RequestState) != "" {
					_, err := y.side.slow(ctx, req)
					return result, err
				}
				result.InputRequests, result.RequestState = asks()
				return result, nil
			})
		s := y.byHand(t, y.key)
		asked := call(t, s, "wipe", m{})
		again := berth7("wipe", asked)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, again)
			left <- err
		}()
		testserver.Soon(t, "the server has the answer", func() bool { return answered.Load() == 1 })
		if _, err := s.CallTool(t.Context(), again); codeOf(err) != -32062 {
			t.Errorf("while it runs: %v", err)
		}
		leave()
		if err := <-left; err == nil {
			t.Error("who leaves gets a result")
		}
		var err error
		testserver.Soon(t, "the call has ended", func() bool {
			_, err = s.CallTool(t.Context(), again)
			return codeOf(err) != -32062
		})
		page, failed := y.Owner.LogEntries(t.Context(), y.ID, client.LogFilter{Action: "call.decided", Tool: "wipe"})
		if failed != nil || len(page.Items) != 1 {
			t.Fatalf("decided: %+v, %v", page.Items, failed)
		}
		if err == nil || !strings.Contains(err.Error(), "may have run") || answered.Load() != 1 ||
			!strings.Contains(err.Error(), "Decision: "+page.Items[0].Subject.ID) {
			t.Errorf("the answer again: %v; the server got %d; decided: %+v", err, answered.Load(), page.Items)
		}
	})
}

// TestAQuestionIsOfTheAgentThatCalls: without sessions a request says itself whose it is.
func TestAQuestionIsOfTheAgentThatCalls(t *testing.T) {
	t.Parallel()
	eachAsking(t, func(t *testing.T, y *yard, _ *atomic.Int64) {
		s := y.byHand(t, y.key)
		asked, err := s.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "ask", Arguments: m{},
			Meta: mcp.Meta{"writ/agent": "crane-bot", "writ/user": "bo", "writ/session": "shift 7"},
		})
		if err != nil || !asked.NeedsInput() {
			t.Fatalf("it is asked %+v, %v", asked, err)
		}
		about := client.LogFilter{Action: "call.decided", Tool: "mcp:elicitation"}
		page, err := y.Owner.LogEntries(t.Context(), y.ID, about)
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("decided: %+v, %v", page.Items, err)
		}
		of := page.Items[0]
		if of.Agent != "crane-bot" || of.Session != "shift 7" || !strings.Contains(string(of.Payload), `"bo"`) {
			t.Errorf("it was decided for agent %q in session %q: %s", of.Agent, of.Session, of.Payload)
		}
	})
}
