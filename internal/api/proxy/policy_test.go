package proxy_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/testserver"
)

// names are the tools that a client sees.
func names(t *testing.T, s *mcp.ClientSession) (all []string) {
	t.Helper()
	listed, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		all = append(all, tool.Name)
	}
	return all
}

// TestWhatIsDeniedIsNeitherShownNorRun covers tools, resources, prompts and what servers ask.
func TestWhatIsDeniedIsNeitherShownNorRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		y.ActivePolicy(y.Owner, y.ID, "version: v1\nname: strict\ndefault: allow\nrules:\n"+
			"  - id: no-wiping\n    effect: deny\n    tools: [\"yard.wipe\"]\n    message: ask the harbour master\n"+
			"  - id: short\n    effect: deny\n    tools: [\"yard.echo\"]\n    when: args.text == \"shout\"\n"+
			"  - id: mute\n    effect: deny\n    tools: [\"yard.mcp:sampling\", \"yard.mcp:elicitation\", \"yard.mcp:roots\"]\n"+
			"  - id: shut\n    effect: deny\n    tools: [\"yard.mcp:prompt\"]\n"+
			"  - id: crane\n    effect: deny\n    tools: [\"yard.mcp:resource\"]\n    when: args.uri == \"yard://crane/3\"\n")
		v := y.one()
		v.options = (&heard{}).options()
		s := v.connect(t)
		if seen := names(t, s); slices.Contains(seen, "wipe") || !slices.Contains(seen, "echo") {
			t.Errorf("sees %v", seen)
		}
		denied := call(t, s, "wipe", m{})
		text := textOf(denied)
		if d := decisionOf(t, denied); d["rule"] != "no-wiping" || d["decisionId"] == "" ||
			!strings.Contains(text, "ask the harbour master") || !strings.Contains(text, "no-wiping") {
			t.Errorf("%q, %v", textOf(denied), d)
		}
		decisionOf(t, call(t, s, "echo", m{"text": "shout"}))
		if r := call(t, s, "echo", m{"text": "speak"}); r.IsError {
			t.Errorf("%s", textOf(r))
		}
		if n, e := y.side.count("wipe"), y.side.count("echo"); n != 0 || e != 1 {
			t.Errorf("wipe ran %d times, echo %d", n, e)
		}
		for _, tool := range []string{"sample", "elicit", "roots"} {
			if r := call(t, s, tool, m{}); !r.IsError || !strings.Contains(textOf(r), "Rule: mute") {
				t.Errorf("%s: %s", tool, textOf(r))
			}
		}
		if listed, err := s.ListPrompts(t.Context(), nil); err != nil || len(listed.Prompts) != 0 {
			t.Errorf("%+v, %v", listed, err)
		}
		_, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
		if codeOf(err) != -32060 || !strings.Contains(err.Error(), "Rule: shut") {
			t.Errorf("a denied prompt: %v", err)
		}
		_, err = s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "yard://crane/3"})
		if codeOf(err) != -32060 {
			t.Errorf("a denied resource: %v", err)
		}
		if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "yard://crane/4"}); err != nil {
			t.Error(err)
		}
		if n := y.side.count("read"); n != 1 {
			t.Errorf("%d resources were read", n)
		}
	})
}

// TestPlansAreKept presents a plan by header, by _meta and for the session.
func TestPlansAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		token := y.Declared(y.key, client.PlanRequest{
			Plan:      []byte(`{"goal":"greet","steps":[{"action":"echo","mcp":"yard"}]}`),
			ExpiresIn: 600,
		})
		planned := y.all()
		planned.more = http.Header{"Writ-Plan": {token.JWT}}
		s := planned.connect(t)
		if seen := names(t, s); !slices.Equal(seen, []string{"yard__echo"}) {
			t.Errorf("with a plan: %v", seen)
		}
		if r := call(t, s, "yard__echo", m{"text": "a"}); r.IsError {
			t.Error(textOf(r))
		}
		decisionOf(t, call(t, s, "yard__pay", m{}))

		free := y.all().connect(t)
		if r := call(t, free, "yard__pay", m{}); r.IsError {
			t.Error(textOf(r))
		}
		with := func(plan any) *mcp.CallToolResult {
			r, err := free.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "yard__pay", Arguments: m{}, Meta: mcp.Meta{"writ/plan": plan, "io.example/claim": "root"},
			})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		decisionOf(t, with(token.JWT))
		for _, none := range []any{"not a plan", m{"token": "x"}, token.PlanID, token.JWT[:20]} {
			if said := decisionOf(t, with(none))["reason"].(string); !strings.Contains(said, "cannot be read") {
				t.Errorf("%v: %s", none, said)
			}
		}
		if n := y.side.count("pay"); n != 1 {
			t.Errorf("pay ran %d times", n)
		}
		r, err := free.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "yard__echo", Arguments: m{"text": "a"},
			Meta: mcp.Meta{"io.example/claim": "root", "writ/agent": "a1"},
		})
		if err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		y.side.mu.Lock()
		defer y.side.mu.Unlock()
		if y.side.meta["io.example/claim"] != nil || y.side.meta["writ/agent"] != nil ||
			y.side.seen.Get("X-Api-Key") != "" {
			t.Errorf("the server got %v, %v", y.side.meta, y.side.seen)
		}
	})
}

const holding = "version: v1\nname: careful\ndefault: allow\nrules:\n" +
	"  - id: money\n    effect: hold\n    tools: [\"yard.pay\"]\n"

// waiting is the request that a call waits for.
func (y *yard) waiting(t *testing.T) (id string) {
	t.Helper()
	testserver.Soon(t, "a request is open", func() bool {
		open, err := y.Owner.ApprovalRequests(t.Context(), y.ID, client.ApprovalFilter{Status: "pending"})
		if err != nil {
			t.Fatal(err)
		}
		if len(open.Items) == 1 {
			id = open.Items[0].ID
		}
		return id != ""
	})
	return id
}

// TestAHeldCallWaitsAndRunsOnce approves a call while its client waits.
func TestAHeldCallWaitsAndRunsOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		y.ActivePolicy(y.Owner, y.ID, holding)
		for _, version := range []string{withSessions, stateless} {
			h := &heard{}
			v := y.one()
			v.version, v.options = version, h.options()
			s := v.connect(t)
			before := y.side.count("pay")
			answered := make(chan *mcp.CallToolResult, 1)
			go func() {
				params := &mcp.CallToolParams{Name: "pay", Arguments: m{"to": version}}
				params.SetProgressToken("p")
				r, err := s.CallTool(t.Context(), params)
				if err != nil {
					t.Error(err)
				}
				answered <- r
			}()
			id := y.waiting(t)
			testserver.Soon(t, "progress is told", func() bool { return len(h.peek("progress")) > 0 })
			if y.side.count("pay") != before {
				t.Fatal("it ran before anybody agreed")
			}
			if _, err := y.Owner.Approve(t.Context(), y.ID, client.Approval{ID: id}); err != nil {
				t.Fatal(err)
			}
			if r := <-answered; r == nil || r.IsError || textOf(r) != "paid" {
				t.Fatalf("%+v", r)
			}
			if n := y.side.count("pay") - before; n != 1 {
				t.Errorf("it ran %d times", n)
			}
		}
	}, "WRIT_PROXY_HOLD_SECONDS", "120")
}

// TestAHeldCallThatNobodyApprovesIsRefused also covers who does not wait, and the next call, which uses the grant.
func TestAHeldCallThatNobodyApprovesIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		y.ActivePolicy(y.Owner, y.ID, holding)
		s := y.one().connect(t)
		held := call(t, s, "pay", m{"to": "ann"})
		d := decisionOf(t, held)
		if d["decision"] != "hold" || !strings.Contains(textOf(held), d["approvalId"].(string)) {
			t.Fatalf("%q %v", textOf(held), d)
		}
		if _, err := y.Owner.Approve(t.Context(), y.ID, client.Approval{ID: d["approvalId"].(string)}); err != nil {
			t.Fatal(err)
		}
		if r := call(t, s, "pay", m{"to": "ann"}); r.IsError {
			t.Error(textOf(r))
		}
		decisionOf(t, call(t, s, "pay", m{"to": "ann"})) // the grant is used up
		if n := y.side.count("pay"); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	}, "WRIT_PROXY_HOLD_SECONDS", "0")
}

// TestWhoDoesNotWaitGetsNothing approves a call whose client has cancelled it.
func TestWhoDoesNotWaitGetsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		y.ActivePolicy(y.Owner, y.ID, holding)
		for _, version := range []string{withSessions, stateless} {
			v := y.one()
			v.version = version
			s := v.connect(t)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "pay", Arguments: m{"to": version}})
				ended <- err
			}()
			id := y.waiting(t)
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatalf("%v", err)
			}
			testserver.Soon(t, "nothing waits any more", func() bool { return y.front().Waiting() == 0 })
			if _, err := y.Owner.Approve(t.Context(), y.ID, client.Approval{ID: id}); err != nil {
				t.Fatal(err)
			}
			if r := call(t, s, "echo", m{"text": "still there"}); r.IsError {
				t.Error(textOf(r))
			}
		}
		if n := y.side.count("pay"); n != 0 {
			t.Errorf("it ran %d times", n)
		}
	}, "WRIT_PROXY_HOLD_SECONDS", "120")
}

// TestCompletionIsDecidedAndRecorded as everything else that a server is sent.
func TestCompletionIsDecidedAndRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s := y.one().connect(t)
		complete := func(value string) (*mcp.CompleteResult, error) {
			return s.Complete(t.Context(), &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"},
				Argument: mcp.CompleteParamsArgument{Name: "who", Value: value},
			})
		}
		if done, err := complete("j"); err != nil || len(done.Completion.Values) != 2 {
			t.Fatalf("%+v, %v", done, err)
		}
		y.ActivePolicy(y.Owner, y.ID, "version: v1\nname: names\ndefault: allow\nrules:\n"+
			"  - id: spy\n    effect: deny\n    tools: [\"yard.mcp:completion\"]\n    when: args.argument.value == \"x\"\n")
		if _, err := complete("x"); codeOf(err) != -32060 || !strings.Contains(err.Error(), "Rule: spy") {
			t.Errorf("what a policy denies: %v", err)
		}
		if _, err := complete("y"); err != nil {
			t.Errorf("what it does not: %v", err)
		}
		decided := y.recorded(t, "call.decided", "mcp:completion")
		done := y.recorded(t, "call.executed", "mcp:completion")
		if decided != 3 || done != 2 {
			t.Errorf("%d decisions and %d outcomes, want 3 and 2", decided, done)
		}
	})
}
