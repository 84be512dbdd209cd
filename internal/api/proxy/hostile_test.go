package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/testserver"
)

// post sends a message within a session, as no client of the SDK would.
func (y *yard) post(t *testing.T, session, body string) testserver.Answer {
	t.Helper()
	return y.Request(t, "POST", "/proxy/mcp/yard", body, "X-Api-Key", y.key, "Mcp-Session-Id", session,
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream")
}

// TestATokenOfProgressThatIsNone sends tokens that no map could hold, and kills another key after that.
func TestATokenOfProgressThatIsNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s := y.one().connect(t)
		for _, token := range []string{`{"a":1}`, `[1]`, `null`, `true`} {
			answer := y.post(t, s.ID(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+
				token+`,"progress":1}}`)
			if answer.Status != http.StatusAccepted {
				t.Errorf("%s: %d %s", token, answer.Status, answer.Body)
			}
		}
		if r := call(t, s, "echo", m{"text": "still there"}); r.IsError {
			t.Error(textOf(r))
		}
		key := y.AgentKey(y.Owner, y.ID)
		other := y.one()
		other.key = key.APIKey
		other.connect(t)
		if _, err := y.Owner.KillScope(t.Context(), y.ID, "key", key.ID, "it ran away", false); err != nil {
			t.Fatal(err)
		}
		testserver.Soon(t, "the killed session has ended", func() bool { return y.front().Sessions() == 1 })
	})
}

// TestAHeldCallGoesWhereItsServerIsNow moves a server while a call of it waits for a person.
func TestAHeldCallGoesWhereItsServerIsNow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		y.ActivePolicy(y.Owner, y.ID, holding)
		s := y.one().connect(t)
		call(t, s, "echo", m{"text": "the link is open"})
		answered := make(chan *mcp.CallToolResult, 1)
		go func() {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay", Arguments: m{"to": "ann"}})
			if err != nil {
				t.Error(err)
			}
			answered <- r
		}()
		id := y.waiting(t)
		moved := startSide(t, false)
		if _, err := y.Owner.UpdateMCPServer(t.Context(), y.ID, "yard", m{"url": moved.URL}); err != nil {
			t.Fatal(err)
		}
		if _, err := y.Owner.Approve(t.Context(), y.ID, client.Approval{ID: id}); err != nil {
			t.Fatal(err)
		}
		if r := <-answered; r == nil || r.IsError {
			t.Errorf("%+v", r)
		}
		if old, now := y.side.count("pay"), moved.count("pay"); old != 0 || now != 1 {
			t.Errorf("it ran %d times at the old address and %d times at the new one", old, now)
		}
	}, "WRIT_PROXY_HOLD_SECONDS", "120")
}

// TestLinksToServersThatChangedEnd refuses a server, and moves one, while a client is connected to it.
func TestLinksToServersThatChangedEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		moved := startSide(t, false)
		other := startSide(t, false)
		y.register("other", other.URL)
		s := y.all().connect(t)
		sessions := func(of *side) int { return len(slices.Collect(of.server.Sessions())) }
		for _, step := range []struct {
			from   *side
			change m
		}{{y.side, m{"url": moved.URL}}, {moved, m{"status": "denied", "reason": "odd tools"}}} {
			call(t, s, "yard__echo", m{"text": "a"})
			call(t, s, "other__echo", m{"text": "a"})
			if n := sessions(step.from); n == 0 {
				t.Fatal("there is no link")
			}
			if _, err := y.Owner.UpdateMCPServer(t.Context(), y.ID, "yard", step.change); err != nil {
				t.Fatal(err)
			}
			testserver.Soon(t, "the link has ended", func() bool { return sessions(step.from) == 0 })
		}
		other.mu.Lock()
		defer other.mu.Unlock()
		if len(other.sessions) != 1 {
			t.Errorf("%d links to a server that did not change", len(other.sessions))
		}
	})
}

// TestWhatAClientAnswersIsNoOutput has servers ask the client: its answers are no word of a server.
func TestWhatAClientAnswersIsNoOutput(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		v := y.one()
		v.options = (&heard{}).options()
		s := v.connect(t)
		for _, tool := range []string{"sample", "elicit"} {
			if r := call(t, s, tool, m{}); r.IsError {
				t.Error(textOf(r))
			}
		}
		page, err := y.Owner.LogEntries(t.Context(), y.ID, client.LogFilter{Action: "call.executed"})
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, entry := range page.Items {
			var said struct {
				Tool   string          `json:"tool"`
				Status string          `json:"status"`
				Output json.RawMessage `json:"output"`
			}
			if err := json.Unmarshal(entry.Payload, &said); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(said.Tool, "mcp:") {
				continue
			}
			asked++
			if said.Status != "success" || said.Output != nil {
				t.Errorf("recorded of %s: %s", said.Tool, entry.Payload)
			}
		}
		if asked != 2 {
			t.Errorf("%d questions are recorded", asked)
		}
	})
}

// TestAnswersWithNothingInThem: a server puts null where a message or a content must be. The client is told, and what
// was done is recorded, with obligations and without.
func TestAnswersWithNothingInThem(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		y.side.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				switch method {
				case "prompts/get":
					return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil}}, nil
				case "resources/read":
					return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}}, nil
				}
				return next(ctx, method, req)
			}
		})
		s, want := y.one().connect(t), 0
		for i, rule := range []string{"", ", oblige: {labels: [x]}", ", oblige: {redact: [ssn]}"} {
			y.ActivePolicy(y.Owner, y.ID, fmt.Sprintf("version: v1\nname: p%d\ndefault: deny\nrules:\n", i)+
				"  - {id: all, effect: allow, tools: [\"*\"]"+rule+"}\n")
			for what, ask := range map[string]func() error{
				"a prompt": func() error {
					_, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
					return err
				},
				"a resource": func() error {
					_, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "yard://crane/1"})
					return err
				},
			} {
				err := ask()
				if err == nil || !strings.Contains(err.Error(), "it does not answer as an MCP server does") {
					t.Errorf("%s%s: the client learns %v", what, rule, err)
				}
				want++
				if all := y.payloads(t, "call.executed"); len(all) != want || all[0]["status"] != "unknown" {
					t.Errorf("%s%s: %d outcomes are recorded, want %d, as unknown: %v", what, rule, len(all), want, all)
				}
			}
		}
	})
}
