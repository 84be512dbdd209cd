package proxy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/testserver"
)

const obliging = "version: v1\nname: obliging\ndefault: allow\nrules:\n" +
	"  - {id: people, effect: allow, tools: [\"yard.echo\"], oblige: {redact: [\"said\"], labels: [\"personal\"]}}\n" +
	"  - {id: short, effect: allow, tools: [\"yard.pay\", \"yard.mcp:resource\"], oblige: {max_bytes: 10}}\n" +
	"  - {id: asks, effect: allow, tools: [\"yard.mcp:sampling\"], oblige: {labels: [\"x\"]}}\n"

// payloads are what the log says of an action, the newest first.
func (y *yard) payloads(t *testing.T, action string) (all []m) {
	t.Helper()
	page, err := y.Owner.LogEntries(t.Context(), y.ID, client.LogFilter{Action: action})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range page.Items {
		var payload m
		if err := json.Unmarshal(entry.Payload, &payload); err != nil {
			t.Fatal(err)
		}
		all = append(all, payload)
	}
	return all
}

// TestObligationsAreKept covers what is left out, labelled and too long, in results and in the log.
func TestObligationsAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		y.ActivePolicy(y.Owner, y.ID, obliging)
		v := y.one()
		v.options = (&heard{}).options()
		s := v.connect(t)
		r := call(t, s, "echo", m{"text": "a secret of Ann"})
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if r.IsError || strings.Contains(string(text), "Ann") || !strings.Contains(string(text), "[redacted]") ||
			!strings.Contains(string(text), `"n":15`) || !strings.Contains(string(text), `"writ/labels":["personal"]`) {
			t.Errorf("%s", text)
		}
		if decided := y.payloads(t, "call.decided")[0]; decided["oblige"] == nil {
			t.Errorf("the decision does not tell its obligations: %v", decided)
		}
		executed, err := json.Marshal(y.payloads(t, "call.executed")[0]["output"])
		if err != nil || strings.Contains(string(executed), "Ann") ||
			!strings.Contains(string(executed), "[redacted]") {
			t.Errorf("the report has %s, %v", executed, err)
		}
		if r := call(t, s, "pay", m{}); !r.IsError || !strings.Contains(textOf(r), "a policy permits 10") ||
			y.side.count("pay") != 1 {
			t.Errorf("too long: %s", textOf(r))
		}
		_, err = s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "yard://log"})
		if codeOf(err) != -32061 || !strings.Contains(err.Error(), "withheld") {
			t.Errorf("a resource that is too long: %v", err)
		}
		// What a server asks has no result that could be labelled.
		if r := call(t, s, "sample", m{}); !r.IsError || !strings.Contains(textOf(r), "cannot keep them") {
			t.Errorf("sampling: %s", textOf(r))
		}
		if r := call(t, s, "wipe", m{}); r.IsError || r.Meta["writ/labels"] != nil {
			t.Errorf("without obligations: %+v", r)
		}
	})
}

// TestWhoCannotKeepObligationsIsDenied asks as a client that runs the tool itself.
func TestWhoCannotKeepObligationsIsDenied(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		y.ActivePolicy(y.Owner, y.ID, "version: v1\nname: all\ndefault: deny\nrules:\n"+
			"  - {id: people, effect: allow, tools: [\"*\"], oblige: {redact: [\"said\"]}}\n")
		agent := y.Public.WithKey(y.key)
		ask := func(capability string) (d client.Decision) {
			t.Helper()
			err := agent.Call(t.Context(), "POST", "/iap/enforce", nil, m{
				"tool_name": "read_file", "tool_input": m{}, "capabilities": []string{capability},
			}, &d)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		if d := ask("confine"); d.Allowed || d.Rule != "people" || !strings.Contains(d.Reason, "cannot keep them") {
			t.Errorf("%v %s %s", d.Allowed, d.Rule, d.Reason)
		}
		if d := ask("oblige"); !d.Allowed || d.Oblige == nil || d.Oblige.Redact[0] != "said" {
			t.Errorf("%v %s %+v", d.Allowed, d.Reason, d.Oblige)
		}
	})
}

// TestWhatIsSaidBesideAResult is not passed on where something must be left out of the result.
func TestWhatIsSaidBesideAResult(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		y.ActivePolicy(y.Owner, y.ID, "version: v1\nname: quiet\ndefault: allow\nrules:\n"+
			"  - {id: quiet, effect: allow, tools: [\"yard.log\", \"yard.progress\"], oblige: {redact: [\"said\"]}}\n"+
			"  - {id: short, effect: allow, tools: [\"yard.mcp:resource\"], oblige: {max_bytes: 10}}\n")
		h := &heard{}
		v := y.one()
		v.options = h.options()
		s := v.connect(t)
		if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
			t.Fatal(err)
		}
		if r := call(t, s, "log", m{}); r.IsError {
			t.Fatal(textOf(r))
		}
		params := &mcp.CallToolParams{Name: "progress", Arguments: m{}, Meta: mcp.Meta{"progressToken": "mine"}}
		if r, err := s.CallTool(t.Context(), params); err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		testserver.Soon(t, "progress comes", func() bool { return len(h.peek("progress")) == 3 })
		for _, told := range h.peek("progress") {
			if text := fmt.Sprint(told); strings.Contains(text, "step") {
				t.Errorf("progress says %s", text)
			}
		}
		if lines := h.peek("log"); len(lines) != 0 {
			t.Errorf("the log is passed on: %v", lines)
		}
		_, err := s.Complete(t.Context(), &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "yard://crane/{n}"},
			Argument: mcp.CompleteParamsArgument{
				Name: "n", Value: "1",
			},
		})
		if codeOf(err) != -32060 {
			t.Errorf("a completion: %v", err)
		}
		// That a resource changes is no result of which something could be left out.
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "yard://log"}); err != nil {
			t.Errorf("a subscription: %v", err)
		}
	})
}
