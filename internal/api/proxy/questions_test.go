package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asker is an MCP server that answers calls of pay with questions, and pays when it has answers.
type asker struct {
	URL string

	mu        sync.Mutex // guards the rest
	questions string
	answered  string // the last request with answers
}

func startAsker(t *testing.T, behind *side) *asker {
	t.Helper()
	a := &asker{}
	real := behind.http.Config.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		text := string(body)
		if strings.Contains(text, `"tools/call"`) && strings.Contains(text, `"pay"`) {
			id := strings.SplitN(strings.SplitN(text, `"id":`, 2)[1], ",", 2)[0]
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(text, `"inputResponses"`) {
				a.answered = text
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"paid"}]}}`, id)
				return
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"s7",`+
				`"inputRequests":{"x":%s}}}`, id, a.questions)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(text))
		a.mu.Unlock()
		defer a.mu.Lock()
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	a.URL = server.URL + "/mcp"
	return a
}

func (a *asker) ask(questions string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions, a.answered = questions, ""
}

func (a *asker) heard() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answered
}

// elicitation is a question with one property of an answer.
func elicitation(property string) string {
	return `{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":` +
		`{"type":"object","properties":{"sure":` + property + `}}}}`
}

// agreeing is a client that says yes to every question. It does not look at them as that of the SDK does, which panics
// over some itself.
func agreeing(t *testing.T, v visit) *mcp.ClientSession {
	t.Helper()
	yes := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: m{"sure": "yes"}}, nil
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: yes})
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if question, ok := req.(*mcp.ElicitRequest); ok {
				return yes(ctx, question)
			}
			return next(ctx, method, req)
		}
	})
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint:   v.url,
		HTTPClient: &http.Client{Transport: withKey{key: v.key, next: http.DefaultTransport}},
		MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: v.version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestQuestionsInResults: those that can be read are put to the client, and those that cannot fail their call alone.
// The SDK panics over some, also in goroutines where that would end the process.
func TestQuestionsInResults(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		a := startAsker(t, y.side)
		y.register("asker", a.URL)
		v := y.all()
		v.url += "/asker"
		s := agreeing(t, v)
		for name, question := range map[string]string{
			"no question":             `null`,
			"a choice that is none":   elicitation(`{"type":"string","oneOf":[null]}`),
			"nothing of the protocol": `{"method":"tools/list","params":{}}`,
			"without parameters":      `{"method":"sampling/createMessage"}`,
			"what the client cannot":  `{"method":"sampling/createMessage","params":{"messages":[null],"maxTokens":1}}`,
		} {
			a.ask(question)
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay", Arguments: m{}})
			if err == nil && !r.IsError || a.heard() != "" {
				t.Errorf("%s: %+v, %v; the server heard %s", name, r, err, a.heard())
			}
			if r := call(t, s, "echo", m{"text": "still there"}); r.IsError {
				t.Errorf("after %s: %s", name, textOf(r))
			}
		}
		a.ask(elicitation(`{"type":"string"}`))
		if r := call(t, s, "pay", m{}); r.IsError || textOf(r) != "paid" {
			t.Errorf("a question that can be answered: %s", textOf(r))
		}
		heard := a.heard()
		if !strings.Contains(heard, `"sure":"yes"`) || !strings.Contains(heard, `"requestState":"s7"`) {
			t.Errorf("the server heard %s", heard)
		}
	})
}
