package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/lint"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// laborious is a policy whose conditions each take almost all the work of one.
func laborious(t *testing.T, tools func(rule int) []document.Pattern) *engine.Policy {
	t.Helper()
	numbers := "[" + strings.TrimSuffix(strings.Repeat("1,", 300), ",") + "]"
	doc := &document.Document{Version: document.Version, Name: "laborious"}
	for i := range 200 {
		doc.Rules = append(doc.Rules, document.Rule{
			ID: fmt.Sprint("r", i), Effect: verdict.Deny, Tools: tools(i),
			When: numbers + ".all(a, " + numbers + ".all(b, a + b >= 0)) && args.x == 1",
		})
	}
	policy, problems := engine.Compile(doc)
	if problems != nil {
		t.Fatal(problems)
	}
	return policy
}

// TestConditionsAreNotTriedForever: a document of two hundred rules could take an
// hour, and says so instead.
func TestConditionsAreNotTriedForever(t *testing.T) {
	t.Parallel()
	policy := laborious(t, func(rule int) (patterns []document.Pattern) {
		for i := range 100 {
			patterns = append(patterns, document.Pattern(fmt.Sprintf("s%d.t%d", rule, i)))
		}
		return patterns
	})
	if report := lint.Of(policy); !report.Incomplete || report.Findings != nil {
		t.Errorf("%+v", report)
	}
}

// TestCallsAreNotTriedForever: nor do two hundred rules over one call.
func TestCallsAreNotTriedForever(t *testing.T) {
	t.Parallel()
	tally := lint.NewTally(laborious(t, func(int) []document.Pattern { return []document.Pattern{"*"} }))
	for range 1000 {
		tally.Add(&toolcall.Call{Server: "s", Tool: "t", Args: map[string]any{"x": int64(1)}}, nil)
	}
	if report := tally.Report(); !report.Incomplete || tally.Calls() > 5 || !tally.Spent() {
		t.Errorf("%d calls were counted: %+v", tally.Calls(), report)
	}
}
