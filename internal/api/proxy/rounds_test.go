package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/testserver"
)

// berths is a schema of answers.
var berths = json.RawMessage(`{"type":"object","properties":{"berth":{"type":"string"}}}`)

// asks is what a server asks in place of a result, and wants back.
func asks() (mcp.InputRequestMap, string) {
	return mcp.InputRequestMap{"q": &mcp.ElicitParams{
		Mode: "form", Message: "Which berth?", RequestedSchema: berths,
	}}, "half way"
}

// told is the berth in the answers to asks; empty: there are none.
func told(answers mcp.InputResponseMap, state string) string {
	given, _ := answers["q"].(*mcp.ElicitResult)
	if given == nil || state != "half way" {
		return ""
	}
	return fmt.Sprint(given.Action, " ", given.Content["berth"])
}

// addAskers adds a tool, a prompt and a resource of which the server asks in its results.
func (s *side) addAskers() {
	s.server.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.note("ask", req)
			result := &mcp.CallToolResult{}
			if berth := told(req.Params.InputResponses, req.Params.RequestState); berth != "" {
				result.Content = []mcp.Content{&mcp.TextContent{Text: berth}}
				return result, nil
			}
			result.InputRequests, result.RequestState = asks()
			return result, nil
		})
	s.server.AddPrompt(&mcp.Prompt{Name: "asked"},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			result := &mcp.GetPromptResult{}
			if berth := told(req.Params.InputResponses, req.Params.RequestState); berth != "" {
				result.Messages = []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: berth}}}
				return result, nil
			}
			result.InputRequests, result.RequestState = asks()
			return result, nil
		})
	s.server.AddResource(&mcp.Resource{URI: "yard://asked", Name: "asked"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			result := &mcp.ReadResourceResult{}
			if berth := told(req.Params.InputResponses, req.Params.RequestState); berth != "" {
				result.Contents = []*mcp.ResourceContents{{URI: req.Params.URI, Text: berth}}
				return result, nil
			}
			result.InputRequests, result.RequestState = asks()
			return result, nil
		})
}

// eachAsking runs a test with a server that asks in its results, and counts what reaches it of answers.
func eachAsking(t *testing.T, body func(t *testing.T, y *yard, answered *atomic.Int64), settings ...string) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		up := startSide(t, true)
		up.addAskers()
		answered := &atomic.Int64{}
		up.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if text, err := json.Marshal(req.GetParams()); err != nil || hasAnswers(text) {
					answered.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		body(t, newYard(t, s, up), answered)
	}, append(slices.Clone(proxied), settings...)...)
}

func hasAnswers(params []byte) bool {
	var sent struct {
		Answers json.RawMessage `json:"inputResponses"`
		State   string          `json:"requestState"`
	}
	return json.Unmarshal(params, &sent) == nil && (sent.Answers != nil || sent.State != "")
}

// TestAnswersThatNobodyHasJudgedAreNotSent puts answers and a state of the agent's own into requests.
func TestAnswersThatNobodyHasJudgedAreNotSent(t *testing.T) {
	t.Parallel()
	answers := mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "accept", Content: m{"amount": "1000000"}}}
	eachAsking(t, func(t *testing.T, y *yard, leaked *atomic.Int64) {
		for version, code := range map[string]int64{withSessions: 0, stateless: -32602} {
			v := y.one()
			v.version = version
			s := v.connect(t)
			ran := y.side.count("pay")
			_, called := s.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "pay", Arguments: m{}, InputResponses: answers, RequestState: "mine",
			})
			_, stated := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay", Arguments: m{}, RequestState: "mine"})
			_, got := s.GetPrompt(t.Context(), &mcp.GetPromptParams{
				Name: "greet", Arguments: map[string]string{"who": "Bo"}, InputResponses: answers, RequestState: "mine",
			})
			_, read := s.ReadResource(t.Context(), &mcp.ReadResourceParams{
				URI: "yard://log", InputResponses: answers, RequestState: "mine",
			})
			for what, err := range map[string]error{
				"answers": called, "state": stated, "prompt": got, "resource": read,
			} {
				if codeOf(err) != code || code == 0 && err != nil {
					t.Errorf("%s, %s: %v", version, what, err)
				}
			}
			if n := y.side.count("pay") - ran; code != 0 && n != 0 {
				t.Errorf("%s: it ran %d times", version, n)
			}
		}
		if n := leaked.Load(); n != 0 {
			t.Errorf("%d requests with answers reached the server", n)
		}
	})
}

// recorded counts the entries of the log about a tool of the yard.
func (y *yard) recorded(t *testing.T, action, tool string) int {
	t.Helper()
	page, err := y.Owner.LogEntries(t.Context(), y.ID, client.LogFilter{Action: action, Tool: tool})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Items)
}

// TestAQuestionInAResult is put to a client without sessions in the result of its request, whatever that asks for. The
// call is judged, runs and is reported once.
func TestAQuestionInAResult(t *testing.T) {
	t.Parallel()
	eachAsking(t, func(t *testing.T, y *yard, answered *atomic.Int64) {
		h := &heard{}
		v := y.one()
		v.version, v.options = stateless, h.options()
		s := v.connect(t)
		if r := call(t, s, "ask", m{}); textOf(r) != "accept 7" {
			t.Errorf("the tool says %q", textOf(r))
		}
		prompt, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "asked"})
		if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "accept 7" {
			t.Errorf("the prompt: %+v, %v", prompt, err)
		}
		read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "yard://asked"})
		if err != nil || read.Contents[0].Text != "accept 7" {
			t.Errorf("the resource: %+v, %v", read, err)
		}
		if n := len(h.peek("elicitation")); n != 3 || answered.Load() != 3 {
			t.Errorf("the client was asked %d times, and the server got %d answers", n, answered.Load())
		}
		for tool, want := range map[string]int{"ask": 1, "mcp:elicitation": 3, "mcp:prompt": 1, "mcp:resource": 1} {
			decided, done := y.recorded(t, "call.decided", tool), y.recorded(t, "call.executed", tool)
			if decided != want || done != want {
				t.Errorf("%s: %d decisions and %d outcomes, want %d", tool, decided, done, want)
			}
		}
		testserver.Soon(t, "nothing is left", func() bool { return y.front().Sessions()+y.front().Waiting() == 0 })
	})
}

// TestAServerWithSessionsAsksAClientWithout: what it asks while the call runs becomes the result of the client's
// request.
func TestAServerWithSessionsAsksAClientWithout(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		h := &heard{}
		v := y.one()
		v.version, v.options = stateless, h.options()
		s := v.connect(t)
		for tool, want := range map[string]string{
			"elicit": "accept 7", "sample": "mind: 40 m", "roots": "file:///srv/yard",
		} {
			if r := call(t, s, tool, m{}); textOf(r) != want {
				t.Errorf("%s says %q", tool, textOf(r))
			}
			if n := y.side.count(tool); n != 1 {
				t.Errorf("%s ran %d times", tool, n)
			}
		}
		y.ActivePolicy(y.Owner, y.ID, "version: v1\nname: mute\ndefault: allow\nrules:\n"+
			"  - id: mute\n    effect: deny\n    tools: [\"yard.mcp:sampling\", \"yard.mcp:elicitation\", \"yard.mcp:roots\"]\n")
		h.take()
		for _, tool := range []string{"sample", "elicit", "roots"} {
			if r := call(t, s, tool, m{}); !r.IsError || !strings.Contains(textOf(r), "Rule: mute") {
				t.Errorf("%s says %q", tool, textOf(r))
			}
		}
		if lines := h.take(); len(lines) != 0 {
			t.Errorf("the client was asked %v", lines)
		}
	})
}

// byHand is a client that answers no question by itself.
func (y *yard) byHand(t *testing.T, key string) *mcp.ClientSession {
	t.Helper()
	v := y.one()
	v.version, v.key, v.options = stateless, key, (&heard{}).options()
	v.options.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	return v.connect(t)
}

// TestAnAnswerCountsOnce sends answers that are none, of another key, to another call, and twice.
func TestAnAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	eachAsking(t, func(t *testing.T, y *yard, answered *atomic.Int64) {
		s, other := y.byHand(t, y.key), y.byHand(t, y.AgentKey(y.Owner, y.ID).APIKey)
		asked := call(t, s, "ask", m{"crate": 1})
		if !asked.NeedsInput() || len(asked.InputRequests) != 1 || strings.Contains(asked.RequestState, "half way") {
			t.Fatalf("it is asked %+v", asked)
		}
		yes := func(id string) mcp.InputResponseMap {
			return mcp.InputResponseMap{id: &mcp.ElicitResult{Action: "accept", Content: m{"berth": "7"}}}
		}
		for what, wrong := range map[string]struct {
			by      *mcp.ClientSession
			tool    string
			args    m
			answers mcp.InputResponseMap
			state   string
		}{
			"another key":       {other, "ask", m{"crate": 1}, yes("writ"), asked.RequestState},
			"other arguments":   {s, "ask", m{"crate": 2}, yes("writ"), asked.RequestState},
			"another tool":      {s, "pay", m{"crate": 1}, yes("writ"), asked.RequestState},
			"another state":     {s, "ask", m{"crate": 1}, yes("writ"), "half way"},
			"no state":          {s, "ask", m{"crate": 1}, yes("writ"), ""},
			"no answer":         {s, "ask", m{"crate": 1}, nil, asked.RequestState},
			"the server's name": {s, "ask", m{"crate": 1}, yes("q"), asked.RequestState},
			"another kind": {
				s, "ask", m{"crate": 1}, mcp.InputResponseMap{"writ": &mcp.ListRootsResult{Roots: []*mcp.Root{}}},
				asked.RequestState,
			},
		} {
			_, err := wrong.by.CallTool(t.Context(), &mcp.CallToolParams{
				Name: wrong.tool, Arguments: wrong.args, InputResponses: wrong.answers, RequestState: wrong.state,
			})
			if codeOf(err) != -32602 || answered.Load() != 0 {
				t.Errorf("%s: %v; the server got %d answers", what, err, answered.Load())
			}
		}
		again := &mcp.CallToolParams{
			Name: "ask", Arguments: m{"crate": 1}, InputResponses: yes("writ"), RequestState: asked.RequestState,
		}
		if r, err := s.CallTool(t.Context(), again); err != nil || textOf(r) != "accept 7" {
			t.Errorf("the answer: %+v, %v", r, err)
		}
		if r, err := s.CallTool(t.Context(), again); err != nil || textOf(r) != "accept 7" || answered.Load() != 1 {
			t.Errorf("the same answer again: %+v, %v; the server got %d", r, err, answered.Load())
		}
		if _, err := other.CallTool(t.Context(), again); codeOf(err) != -32602 || answered.Load() != 1 {
			t.Errorf("the result for another key: %v; the server got %d", err, answered.Load())
		}
	})
}

// TestAKillEndsACallThatWaitsForAnAnswer and whoever is gone leaves nothing behind.
func TestAKillEndsACallThatWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	eachAsking(t, func(t *testing.T, y *yard, answered *atomic.Int64) {
		key := y.AgentKey(y.Owner, y.ID)
		s := y.byHand(t, key.APIKey)
		asked := call(t, s, "ask", m{})
		if n := y.front().Waiting(); n != 1 || y.front().Sessions() != 1 {
			t.Errorf("%d calls wait, in %d sessions", n, y.front().Sessions())
		}
		if _, err := y.Owner.KillScope(t.Context(), y.ID, "key", key.ID, "it ran away", false); err != nil {
			t.Fatal(err)
		}
		testserver.Soon(t, "the call has ended", func() bool { return y.front().Sessions()+y.front().Waiting() == 0 })
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "ask", Arguments: m{}, RequestState: asked.RequestState,
			InputResponses: mcp.InputResponseMap{"writ": &mcp.ElicitResult{Action: "accept"}},
		})
		if err == nil || answered.Load() != 0 {
			t.Errorf("after the kill: %v; the server got %d answers", err, answered.Load())
		}
		testserver.Soon(t, "the outcome is recorded", func() bool { return y.recorded(t, "call.executed", "ask") == 1 })
	})
}
