package grounding

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"writ/internal/node"
)

// noise ends the time in which only the user can have spoken.
const noise = "The weather will stay nice for the whole week."

// readCases reads a file of cases: what the user said, what tools returned, a call, and
// what is expected of it.
func readCases(t *testing.T, name string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/enforcement/grounding/" + name)
	if err != nil {
		t.Fatal(err)
	}
	root, problems := node.ReadYAML(text)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", name, problems[0])
	}
	var cases []map[string]any
	for _, item := range plain(root).([]any) {
		cases = append(cases, item.(map[string]any))
	}
	return cases
}

// judgeCase judges the call of a case.
func judgeCase(t *testing.T, c map[string]any) Result {
	t.Helper()
	var outputs []*Output
	if c["quiet"] == nil {
		outputs = append(outputs, NewOutput(Call{Tool: "noise", Class: Read}, noise))
	}
	list, _ := c["outputs"].([]any)
	for _, item := range list {
		o := item.(map[string]any)
		asks, _ := o["asks"].(map[string]any)
		class := Class(textOf(o["class"], "read"))
		call := Call{Tool: textOf(o["tool"], "read"), Class: class, Arguments: asks}
		if text, ok := o["text"].(string); ok {
			outputs = append(outputs, NewOutput(call, text))
		} else {
			outputs = append(outputs, UnknownOutput())
		}
	}
	p := Plan{Declared: true, Planned: c["unplanned"] == nil}
	p.Given, p.Fixed = texts(c["given"]), texts(c["fixed"])
	p.Used = func(folded string) bool { return slices.Contains(texts(c["used"]), folded) }
	call := Call{
		Tool:      textOf(c["tool"], "act"),
		Class:     Class(textOf(c["class"], "write")),
		Arguments: c["call"].(map[string]any),
	}
	known := NewKnown([]string{textOf(c["prompt"], "")}, outputs, c["dropped"] != nil)
	return Judge(known, p, call, Options{UnplannedBeforeText: c["early"] != nil})
}

func textOf(v any, otherwise string) string {
	if text, ok := v.(string); ok {
		return text
	}
	return otherwise
}

func texts(v any) (list []string) {
	items, _ := v.([]any)
	for _, item := range items {
		list = append(list, item.(string))
	}
	return list
}

// inWords is a result as cases write it: the rule, and the arguments in doubt with their origins.
func inWords(r Result) string {
	if r.Pass != (r.Rule != NotPlanned && r.Rule != Ungrounded) {
		return "a result that contradicts itself"
	}
	words := []string{string(r.Rule)}
	for _, d := range r.Doubts {
		word := fmt.Sprintf("%s:%s", d.Argument, d.Origin)
		if d.Ordered {
			word += "!"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range readCases(t, "rules.yaml") {
		t.Run(c["name"].(string), func(t *testing.T) {
			t.Parallel()
			if got := inWords(judgeCase(t, c)); got != c["expect"] {
				t.Errorf("got %q, want %q", got, c["expect"])
			}
		})
	}
}

// TestAdaptive plays attackers who know the rules. It prints what still runs, which the page about grounding names.
func TestAdaptive(t *testing.T) {
	t.Parallel()
	cases := readCases(t, "adaptive.yaml")
	if len(cases) < 100 {
		t.Errorf("%d cases, want at least 100", len(cases))
	}
	for _, c := range cases {
		got := judgeCase(t, c)
		if got.Pass != (c["expect"] == "runs") {
			t.Errorf("%s: got %q, want %v", c["name"], inWords(got), c["expect"])
		}
		if got.Pass {
			t.Logf("still runs: %s", c["name"])
		}
	}
}
