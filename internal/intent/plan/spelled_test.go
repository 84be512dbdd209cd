package plan_test

import (
	"strings"
	"testing"

	"writ/internal/intent/plan"
)

// TestSpelledSteps: a step is the same under every name of its parts, and what is written twice must agree.
func TestSpelledSteps(t *testing.T) {
	t.Parallel()
	want := parse(t, `{"steps":[{"action":"pay","mcp":"bank","params":{"to":"a"}}]}`).Tree().Root()
	for name, step := range map[string]string{
		"policies":   `{"server":"bank","tool":"pay","arguments":{"to":"a"}}`,
		"plugins":    `{"mcp_context":{"server_name":"bank","tool_name":"pay"},"tool_name":"pay","tool_input":{"to":"a"}}`,
		"conditions": `{"server":"bank","tool":"pay","args":{"to":"a"}}`,
		"models":     `{"server":"bank","tool":"pay","parameters":{"to":"a"}}`,
		"mixed":      `{"server":"bank","mcp":"bank","action":"pay","tool":"pay","input":{"to":"a"},"params":{"to":"a"}}`,
	} {
		got := parse(t, `{"steps":[`+step+`]}`)
		if s := got.Steps[0]; s.Server != "bank" || s.Tool != "pay" || len(s.Given) != 1 {
			t.Errorf("%s: %+v", name, s)
		}
		// The last leaf is the text itself, which differs; the step's own leaf does not.
		if string(got.Steps[0].Binding(false)) != string(parse(t,
			`{"steps":[{"action":"pay","mcp":"bank","params":{"to":"a"}}]}`).Steps[0].Binding(false)) || want == "" {
			t.Errorf("%s is another step than that of plans", name)
		}
	}
	for step, names := range map[string]string{
		`{"mcp":"bank","server":"shop","tool":"pay"}`:                                  "mcp and server differ",
		`{"mcp":"bank","tool":"pay","tool_name":"drop"}`:                               "tool and tool_name differ",
		`{"mcp":"bank","tool":"pay","mcp_context":{"server_name":"shop"}}`:             "mcp_context.server_name differ",
		`{"mcp":"bank","tool":"pay","params":{"to":"a"},"tool_input":{"to":"b"}}`:      "two values for one argument",
		`{"server":"bank","tool":"pay","mcp_context":{"tool_name":"drop"},"input":{}}`: "mcp_context.tool_name differ",
		`{"server":"bank","tool":"pay","params":{"to":"a"},"args":{"to":"b"}}`:         "two values for one argument",
		`{"server":"bank","tool":"pay","args":["a"]}`:                                  "args: must be an object",
	} {
		_, err := plan.Parse([]byte(`{"steps":[` + step + `]}`))
		if err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v, want %q", step, err, names)
		}
	}
}

// TestDottedNames: server.tool is the tool of the server, in a step and in a call.
func TestDottedNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step         string
		server, tool string
		fits         bool
	}{
		{`{"mcp":"bank","tool":"pay"}`, "", "bank.pay", true},
		{`{"mcp":"bank","tool":"pay"}`, "", "bank.Pay", true},
		{`{"mcp":"bank","tool":"pay"}`, "", "Bank.pay", false}, // another server, as where it is stated
		{`{"mcp":"bank","tool":"pay"}`, "Bank", "pay", false},
		{`{"mcp":"bank","tool":"pay"}`, "", "Bank__pay", false},
		{`{"mcp":"bank","tool":"pay"}`, "", "mcp__Bank__pay", false},
		{`{"mcp":"Bank","tool":"pay"}`, "", "mcp__Bank__Pay", true},
		{`{"mcp":"Bank","tool":"pay"}`, "", "Bank.pay", true},
		{`{"mcp":"bank","tool":"pay"}`, "bank", "bank.Pay", false},
		{`{"mcp":"bank","tool":"pay"}`, "shop", "bank.pay", false},
		{`{"mcp":"bank","tool":"pay"}`, "", "shop.pay", false},
		{`{"mcp":"bank","tool":"pay"}`, "", "bank.payday", false},
		{`{"mcp":"bank","tool":"pay"}`, "bank", "bank.pay", false}, // where the server is stated, the tool is as it is
		{`{"tool":"bank.pay"}`, "bank", "pay", true},
		{`{"tool":"bank.pay"}`, "", "bank.pay", true},
		{`{"tool":"bank.pay"}`, "", "bank__pay", true},
		{`{"tool":"bank.pay"}`, "", "mcp__bank__pay", true},
		{`{"tool":"bank.pay"}`, "shop", "pay", false},
		{`{"tool":"bank.pay"}`, "", "pay", false},
		{`{"tool":"bank.pay"}`, "bank", "drop", false},
		{`{"mcp":"claude-code","tool":"pay"}`, "", "claude-code.pay", false},
		{`{"mcp":"local","tool":"pay"}`, "", "local.pay", false},
	} {
		got := parse(t, `{"steps":[`+c.step+`]}`).Fit(plan.Call{Server: c.server, Tool: c.tool})
		if got.OK != c.fits {
			t.Errorf("%s: %q.%q fits %t: %s", c.step, c.server, c.tool, got.OK, got.Reason)
		}
	}
}

// TestSentencesAsInput: planners write what a step is about where others write its arguments. Such a step fixes none.
func TestSentencesAsInput(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"input", "tool_input", "args", "parameters"} {
		p, err := plan.Parse([]byte(`{"steps":[{"action":"search","mcp":"web","` + member + `":"find flights"}]}`))
		if err != nil || len(p.Steps[0].Given) != 0 {
			t.Errorf("%s: %v", member, err)
		}
	}
}
