package proxy_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/testserver"
)

// heard is what a client was told and asked beside its results.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) add(kind string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		text = []byte(err.Error())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, kind+" "+string(text))
}

func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.lines
	h.lines = nil
	return lines
}

// options make a client that answers what servers ask, and notes what it hears.
func (h *heard) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: true}},
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			h.add("sampling", r.Params)
			said := &mcp.TextContent{Text: "40 m"}
			return &mcp.CreateMessageResult{Model: "mind", Role: "assistant", Content: said}, nil
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			h.add("elicitation", r.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"berth": "7"}}, nil
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { h.add("log", r.Params) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			h.add("progress", []any{r.Params.ProgressToken, r.Params.Progress, r.Params.Total, r.Params.Message})
		},
	}
}

var scope = regexp.MustCompile(`"cacheScope":"[a-z]*"`)

// unscoped is an answer without who may keep it: through the proxy nobody but its client may.
func unscoped(text []byte) string { return scope.ReplaceAllString(string(text), `"cacheScope":""`) }

// transcript asks for everything that there is, and gives what came of it.
func transcript(t *testing.T, v visit) []string {
	t.Helper()
	h := &heard{}
	v.options = h.options()
	s := v.connect(t)
	var lines []string
	note := func(what string, result any, err error) {
		text, failed := json.Marshal(result)
		if failed != nil {
			t.Fatal(failed)
		}
		line := what + ": " + unscoped(text)
		if err != nil {
			line = what + ": error " + err.Error()
		}
		lines = append(lines, line)
	}
	ctx := t.Context()
	hello := s.InitializeResult()
	if c := hello.Capabilities; v.version == stateless {
		// Without sessions the proxy has no stream on which it could tell of changes.
		c.Tools, c.Prompts = &mcp.ToolCapabilities{}, &mcp.PromptCapabilities{}
		c.Resources = &mcp.ResourceCapabilities{}
	}
	note("initialize", []any{hello.Capabilities, hello.Instructions, hello.ServerInfo, hello.ProtocolVersion}, nil)
	tools, err := s.ListTools(ctx, nil)
	if err == nil {
		slices.SortFunc(tools.Tools, func(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) })
	}
	note("tools/list", tools, err)
	called := func(name string, args any, token any) {
		params := &mcp.CallToolParams{Name: name, Arguments: args}
		if token != nil {
			params.SetProgressToken(token)
		}
		result, err := s.CallTool(ctx, params)
		note("tools/call "+name, result, err)
	}
	called("echo", m{"text": "ahoy <&> \u2028 €"}, nil)
	called("echo", m{"text": 7}, nil)
	called("fail", m{}, nil)
	called("picture", m{}, nil)
	called("progress", m{}, "mine")
	testserver.Soon(t, "progress comes", func() bool { return len(h.peek("progress")) == 3 })
	if v.version == withSessions {
		note("logging/setLevel", nil, s.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}))
		called("log", m{}, nil)
		testserver.Soon(t, "the log comes", func() bool { return len(h.peek("log")) == 1 })
		called("sample", m{}, nil)
		called("elicit", m{}, nil)
		called("roots", m{}, nil)
		note("ping", nil, s.Ping(ctx, nil))
		note("resources/subscribe", nil, s.Subscribe(ctx, &mcp.SubscribeParams{URI: "yard://log"}))
		note("resources/unsubscribe", nil, s.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "yard://log"}))
	}
	called("nothing", m{}, nil)
	rest(ctx, s, note)
	return append(lines, h.take()...)
}

func (h *heard) peek(kind string) (found []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.lines {
		if strings.HasPrefix(line, kind+" ") {
			found = append(found, line)
		}
	}
	return found
}

// rest asks for what is no tool.
func rest(ctx context.Context, s *mcp.ClientSession, note func(string, any, error)) {
	resources, err := s.ListResources(ctx, nil)
	note("resources/list", resources, err)
	templates, err := s.ListResourceTemplates(ctx, nil)
	note("resources/templates/list", templates, err)
	for _, uri := range []string{"yard://log", "yard://crane/3", "yard://crane/404", "other://x"} {
		read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		note("resources/read "+uri, read, err)
	}
	prompts, err := s.ListPrompts(ctx, nil)
	note("prompts/list", prompts, err)
	for _, name := range []string{"greet", "none"} {
		prompt, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: map[string]string{"who": "Ann"}})
		note("prompts/get "+name, prompt, err)
	}
	for _, ref := range []*mcp.CompleteReference{
		{Type: "ref/prompt", Name: "greet"}, {Type: "ref/resource", URI: "yard://crane/{id}"},
	} {
		done, err := s.Complete(ctx, &mcp.CompleteParams{
			Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "j"},
		})
		note("completion/complete "+ref.Type, done, err)
	}
}

// TestStatelessIsEqualToo runs the client of the protocol without sessions, against a server of it.
func TestStatelessIsEqualToo(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		y := newYard(t, s, startSide(t, true))
		one := y.one()
		one.version = stateless
		direct := transcript(t, visit{url: y.side.URL, version: stateless})
		proxied := transcript(t, one)
		if d := cmp.Diff(direct, proxied); d != "" {
			t.Errorf("direct and proxied differ: %s", d)
		}
	}, proxied...)
}

// TestTheOldTransportIsEqualToo runs a client of the SSE transport.
func TestTheOldTransportIsEqualToo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		one := y.one()
		one.sse = true
		direct := transcript(t, visit{url: y.side.URL, version: withSessions})
		proxied := transcript(t, one)
		if d := cmp.Diff(direct, proxied); d != "" {
			t.Errorf("direct and proxied differ: %s", d)
		}
	})
}

// TestDirectAndProxiedAreEqual runs the same client against a server and through the proxy.
func TestDirectAndProxiedAreEqual(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		direct := transcript(t, visit{url: y.side.URL, version: withSessions})
		proxied := transcript(t, y.one())
		if d := cmp.Diff(direct, proxied); d != "" {
			t.Errorf("direct and proxied differ: %s", d)
		}
		if n := y.side.count("echo"); n != 2 {
			t.Errorf("the server was called %d times, want once by each", n)
		}
	})
}
