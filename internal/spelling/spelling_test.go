package spelling_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
	"writ/internal/spelling"
)

var policies = spelling.Names{Server: "server", Tool: "tool", Arguments: "arguments"}

func TestRewrite(t *testing.T) {
	t.Parallel()
	const want = `{"arguments":{"a":1},"server":"bank","tool":"pay","x":true}`
	for _, sent := range []string{
		`{"server":"bank","tool":"pay","arguments":{"a":1},"x":true}`,
		`{"mcp":"bank","action":"pay","params":{"a":1.0},"x":true}`,
		`{"mcp":"bank","tool_name":"pay","tool_input":{"a":1},"x":true}`,
		`{"mcp_context":{"server_name":"bank","tool_name":"pay"},"tool_name":"mcp__bank__pay","input":{"a":1},"x":true}`,
		`{"server":"bank","mcp":" bank ","tool":"pay","action":"pay","inputs":{"a":1},"params":{"a":1e0},"x":true}`,
		`{"server":null,"mcp":"bank","tool":"","action":"pay","arguments":null,"params":{"a":1},"x":true}`,
	} {
		got, err := policies.Rewrite(jsontext.Value(sent))
		if err != nil {
			t.Errorf("%s: %v", sent, err)
			continue
		}
		if text, err := canonical.Transform(got); err != nil || string(text) != want {
			t.Errorf("%s is %s, %v", sent, text, err)
		}
	}
}

func TestRewriteRefuses(t *testing.T) {
	t.Parallel()
	for sent, names := range map[string]string{
		`{"server":"bank","mcp":"shop"}`:         "mcp: must be the same as server",
		`{"tool":"pay","action":"drop"}`:         "action: must be the same as tool",
		`{"tool":"pay","tool_name":"Pay"}`:       "tool_name: must be the same as tool",
		`{"arguments":{"a":1},"params":{"a":2}}`: "params: must be the same as arguments",
		`{"params":[]}`:                          "params: has a value of the wrong type",
		`{"mcp":5}`:                              "mcp: has a value of the wrong type",
		`{"mcp_context":[],"tool":"pay"}`:        "mcp_context: must be an object",
		`{"mcp_context":{"server_name":"bank","tool_name":"pay"},"tool":"drop"}`:            "mcp_context.tool_name",
		`{"mcp_context":{"server_name":"bank","tool_name":"pay"},"mcp":"shop"}`:             "mcp_context.server_name",
		`{"mcp_context":{"server_name":"claude-code","tool_name":"pay"},"tool_name":"pay"}`: "stands for coding agents' own tools",
	} {
		if got, err := policies.Rewrite(jsontext.Value(sent)); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %s, %v, want %q", sent, got, err, names)
		}
	}
}

// TestRewriteLeaves: what has one spelling, or cannot be read, is left to the surface byte for byte.
func TestRewriteLeaves(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{
		`{ "tool" : "pay", "arguments":{"a":1.0} , "other":1}`, `[]`, `"x"`, ``, `{"mcp":"a"`, `{"mcp":"a","mcp":"b"}`,
		`{"mcp":"a"} {"mcp":"b"}`,
	} {
		if got, err := policies.Rewrite(jsontext.Value(sent)); err != nil || string(got) != sent {
			t.Errorf("%s became %s, %v", sent, got, err)
		}
	}
}

func TestNamesOfSurfaces(t *testing.T) {
	t.Parallel()
	asked := spelling.Names{Server: "domain", Tool: "tool", Arguments: "arguments", Others: []string{"action"}}
	got, err := asked.Rewrite(jsontext.Value(`{"tool":"pay","action":"execute","mcp":"bank"}`))
	if err != nil || !strings.Contains(string(got), `"domain":"bank"`) ||
		!strings.Contains(string(got), `"action":"execute"`) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := asked.Rewrite(jsontext.Value(`{"tool":"pay","domain":"shop","mcp":"bank"}`)); err == nil {
		t.Error("domain and mcp differ, and are taken")
	}
	none := spelling.Names{Server: "mcp", Tool: "tool_name", NoArguments: "is not read"}
	if _, err := none.Rewrite(jsontext.Value(`{"tool_name":"pay","params":{}}`)); err == nil {
		t.Error("arguments are taken where none are read")
	}
	lenient := spelling.Names{
		Server: "mcp", Tool: "tool", Arguments: "input",
		Lenient: true, Nothing: []string{"unknown"},
	}
	got, err = lenient.Rewrite(jsontext.Value(`{"tool":"unknown","action":"pay","mcp":5,"tool_input":"text"}`))
	if err != nil || !strings.Contains(string(got), `"tool":"pay"`) ||
		!strings.Contains(string(got), `"input":"text"`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestRewriteAt(t *testing.T) {
	t.Parallel()
	got, err := spelling.RewriteAt(jsontext.Value(`{"calls":[{"mcp":"a","action":"x"},{"tool":"y"}],"n":1}`), "calls",
		policies.Rewrite)
	if err != nil || !strings.Contains(string(got), `"server":"a"`) || !strings.Contains(string(got), `"tool":"x"`) {
		t.Errorf("%s, %v", got, err)
	}
	_, err = spelling.RewriteAt(jsontext.Value(`{"call":{"mcp":"a","server":"b"}}`), "call", policies.Rewrite)
	if err == nil || !strings.HasPrefix(err.Error(), "call.mcp:") {
		t.Errorf("%v", err)
	}
	got, err = spelling.RewriteApproval(jsontext.Value(`{"delegationId":"1"}`), "approvalId")
	if err != nil || string(got) != `{"approvalId":"1"}` {
		t.Errorf("%s, %v", got, err)
	}
}
