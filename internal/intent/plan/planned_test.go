package plan_test

import (
	"slices"
	"strings"
	"testing"

	"writ/internal/intent/plan"
)

// TestReportedArguments compares what clients report with what was planned.
func TestReportedArguments(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 500)
	p, err := plan.Parse([]byte(`{"steps":[
		{"action":"Bash","mcp":"claude-code","inputs":{"command":"curl -H 'token: abcdefghijkl' x"}},
		{"action":"Bash","mcp":"claude-code","inputs":{"command":"ls"}},
		{"action":"Write","mcp":"claude-code","inputs":{"text":"` + long + `"}},
		{"action":"Edit","mcp":"claude-code","inputs":{"file":"a"},"strict":true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tool, args string
		want       bool
	}{
		"as planned":                   {"Bash", `{"command":"ls"}`, true},
		"with what the plan leaves":    {"Bash", `{"command":"ls","description":"list"}`, true},
		"another value":                {"Bash", `{"command":"rm -rf /"}`, false},
		"none":                         {"Bash", `{}`, false},
		"without its secret":           {"Bash", `{"command":"curl -H '<redacted>' x"}`, true},
		"a secret in something else":   {"Bash", `{"command":"rm -H '<redacted>' x"}`, false},
		"a secret with another end":    {"Bash", `{"command":"curl -H '<redacted>' y"}`, false},
		"another client's mark":        {"Bash", `{"command":"curl -H '***redacted***' x"}`, true},
		"cut":                          {"Write", `{"text":"` + long[:2000] + `"}`, true},
		"cut, and another text":        {"Write", `{"text":"x` + long[:2000] + `"}`, false},
		"strict, as planned":           {"Edit", `{"file":"a"}`, true},
		"strict, with one more":        {"Edit", `{"file":"a","all":true}`, false},
		"the planned value as a list":  {"Edit", `{"file":["a"]}`, false},
		"only a mark, and all of that": {"Bash", `{"command":"<redacted>"}`, true},
	} {
		args, err := plan.ParseArguments([]byte(c.args))
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(p.Planned(c.tool), func(step int) bool { return p.Reported(step, args) })
		if got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
