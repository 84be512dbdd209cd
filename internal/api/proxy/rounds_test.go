package proxy_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/testserver"
)

// eachAsking runs a test with a server that asks in its results, and counts what reaches it of answers.
func eachAsking(t *testing.T, body func(t *testing.T, y *yard, leaked *atomic.Int64)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		up := startSide(t, true)
		schema := json.RawMessage(`{"type":"object"}`)
		up.server.AddTool(&mcp.Tool{Name: "ask", InputSchema: schema},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{
					RequestState: "half way",
					InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{
						Mode: "form", Message: "Which berth?", RequestedSchema: schema,
					}},
				}, nil
			})
		leaked := &atomic.Int64{}
		up.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if text, err := json.Marshal(req.GetParams()); err != nil || hasAnswers(text) {
					leaked.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		body(t, newYard(t, s, up), leaked)
	}, proxied...)
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

// TestAQuestionInAResult is put to no client that has no session.
func TestAQuestionInAResult(t *testing.T) {
	t.Parallel()
	eachAsking(t, func(t *testing.T, y *yard, _ *atomic.Int64) {
		h := &heard{}
		v := y.one()
		v.version, v.options = stateless, h.options()
		_, err := v.connect(t).CallTool(t.Context(), &mcp.CallToolParams{Name: "ask", Arguments: m{}})
		if codeOf(err) != -32061 || len(h.peek("elicitation")) != 0 {
			t.Errorf("without a session: %v, heard %v", err, h.take())
		}
	})
}
