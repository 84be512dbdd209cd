package writ

import (
	"fmt"
	"strings"
	"testing"

	"writ/client"
)

// TestSpansStandBelowTheirParents: clients send spans in any order, leave parents out, use an id twice and nest spans
// in a circle; each is shown once.
func TestSpansStandBelowTheirParents(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"":                        "",
		"b<a c<b a":               "a0 b1 c2",
		"a b<a c d<a":             "a0 b1 d1 c0",
		"b<gone a":                "b0 a0",
		"a<b b<a c":               "c0 a0 b1",
		"a<a":                     "a0",
		"b<a a a b<a":             "a0 b1 b1 a0",
		"x<a y<b a b":             "a0 x1 b0 y1",
		"e<d d<c c<b b<a a z<a":   "a0 b1 c2 d3 e4 z1",
		"root<gone part<root end": "root0 part1 end0",
	} {
		var spans []client.Span
		for word := range strings.FieldsSeq(sent) {
			id, parent, found := strings.Cut(word, "<")
			span := client.Span{ID: id}
			if found {
				span.ParentSpanID = &parent
			}
			spans = append(spans, span)
		}
		var got []string
		for _, span := range inTree(spans) {
			got = append(got, fmt.Sprint(span.ID, span.depth))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", sent, got, want)
		}
	}
}

// TestDecidedIn: attributes are whatever a client sent.
func TestDecidedIn(t *testing.T) {
	t.Parallel()
	for attributes, want := range map[string][2]string{
		`{"decision":"deny","server":"bank","toolName":"pay"}`: {"deny", "bank.pay"},
		`{"toolName":"Bash"}`:                      {"", "Bash"},
		`{"decision":"hold","server":"bank"}`:      {"hold", ""},
		`{"decision":7,"server":{},"toolName":[]}`: {"", ""},
		`{}`: {"", ""}, `null`: {"", ""}, ``: {"", ""}, `[1]`: {"", ""},
	} {
		verdict, tool := decidedIn(client.Span{Attributes: []byte(attributes)})
		if got := [2]string{verdict, tool}; got != want {
			t.Errorf("%s: %q, want %q", attributes, got, want)
		}
	}
}

func TestWordsOfLimits(t *testing.T) {
	t.Parallel()
	for want, limit := range map[string]*client.PolicyLimit{
		"-":                                 nil,
		"beyond 600 calls per 1h by agent":  {Calls: 600, Per: "1h", By: "agent"},
		"beyond 1 call per 1d by user":      {Calls: 1, Per: "1d", By: "user"},
		"beyond $0.5 per 1h by key":         {Cost: 0.5, Per: "1h", By: "key"},
		"beyond 2 calls, 9 tokens per plan": {Calls: 2, Tokens: 9, Per: "plan"},
	} {
		if got := limitWords(limit); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWordsOfSteps: a text that could be taken for another value keeps its quotes.
func TestWordsOfSteps(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"landlord"`:   "bank.pay  to: landlord",
		`900`:          "bank.pay  to: 900",
		`"900"`:        `bank.pay  to: "900"`,
		`""`:           `bank.pay  to: ""`,
		`"a, b: c"`:    `bank.pay  to: "a, b: c"`,
		`" a"`:         `bank.pay  to: " a"`,
		`{"iban":"X"}`: `bank.pay  to: {"iban":"X"}`,
		`null`:         "bank.pay  to: null",

		`"` + strings.Repeat("ä", 99) + `"`: "bank.pay  to: " + strings.Repeat("ä", 79) + "…",
	} {
		step := shownStep{StepName: client.StepName{Server: "bank", Tool: "pay"}}
		step.Fixed = []client.FixedArgument{{Name: "to", Value: value}}
		if got := step.words(); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
	if got := (shownStep{StepName: client.StepName{Server: "bank", Tool: "pay"}}).words(); got != "bank.pay" {
		t.Errorf("%q, want the tool alone", got)
	}
}
