package document_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"writ/internal/policy/document"
	"writ/internal/verdict"
)

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	doc := parse(t,
		"version: v1\nname: x\nrules:\n- {id: a, effect: hold, tools: [a.b], approvers: {}, limit: {calls: 1, per: 1d}}\n- {id: b, effect: hold, tools: [a.b]}\n")
	first := doc.Rules[0]
	if doc.Default != verdict.Deny || first.Limit.By != document.Agent ||
		*first.Approvers != (document.Approvers{Role: "approver", Count: 1}) {
		t.Errorf("default %v, limit by %q, approvers %+v", doc.Default, first.Limit.By, first.Approvers)
	}
	if doc.Rules[1].Approvers != nil {
		t.Errorf("approvers = %+v where the rule names none", doc.Rules[1].Approvers)
	}
}

func TestAmountsAreExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		written string
		nano    int64
		shown   string
	}{
		{"5", 5_000_000_000, "5.00"},
		{"5.00", 5_000_000_000, "5.00"},
		{`"0.1"`, 100_000_000, "0.10"},
		{"0.000000001", 1, "0.000000001"},
		{"123456789.123456789", 123_456_789_123_456_789, "123456789.123456789"},
		{"1000000000", 1_000_000_000_000_000_000, "1000000000.00"},
		{"0.30", 300_000_000, "0.30"},
	} {
		doc := parse(t,
			"version: v1\nname: x\nrules:\n- {id: a, effect: deny, tools: [a.b], limit: {cost: "+c.written+
				", per: 1h}}\n")
		if got := doc.Rules[0].Limit.Cost; got != c.nano || document.FormatCost(got) != c.shown {
			t.Errorf("%s is %d, shown %s; want %d, %s", c.written, got, document.FormatCost(got), c.nano, c.shown)
		}
	}
}

func TestPer(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]struct {
		per   time.Duration
		shown string
	}{
		"1s": {time.Second, "1s"}, "60s": {time.Minute, "1m"}, "90m": {90 * time.Minute, "90m"},
		"24h": {24 * time.Hour, "24h"},
		"1d":  {24 * time.Hour, "24h"}, "48h": {48 * time.Hour, "2d"}, "31d": {31 * 24 * time.Hour, "31d"},
		"2678400s": {31 * 24 * time.Hour, "31d"}, "2w": {14 * 24 * time.Hour, "14d"},
	} {
		doc := parse(t,
			"version: v1\nname: x\nrules:\n- {id: a, effect: deny, tools: [a.b], limit: {calls: 1, per: "+written+
				"}}\n")
		if got := doc.Rules[0].Limit.Per; got != want.per || document.FormatPer(got) != want.shown {
			t.Errorf("%s is %v, shown %s; want %v, %s", written, got, document.FormatPer(got), want.per, want.shown)
		}
	}
}

// A problem in a condition is found by the one who compiles it, and shown where
// it is in the document.
func TestInWhen(t *testing.T) {
	t.Parallel()
	const before = "version: v1\nname: x\nrules:\n- id: a\n  effect: deny\n  tools: [a.b]\n"
	for _, c := range []struct {
		name, when   string
		line, column int
		want         document.Position
	}{
		{"plain", "  when: a && b\n", 1, 6, document.Position{Line: 7, Column: 14}},
		{"block, first line", "  when: |\n    a &&\n      b\n", 1, 3, document.Position{Line: 8, Column: 7}},
		{"block, second line", "  when: |\n    a &&\n      b\n", 2, 3, document.Position{Line: 9, Column: 7}},
		{"no column", "  when: a\n", 0, 0, document.Position{Line: 7, Column: 9}},
	} {
		doc := parse(t, before+c.when)
		if got := doc.Rules[0].InWhen(c.line, c.column); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	made := document.Rule{When: "x"}
	if got := made.InWhen(1, 1); got != (document.Position{}) {
		t.Errorf("a rule that was made is at %v, want nowhere", got)
	}
}

func TestSizesAreBounded(t *testing.T) {
	t.Parallel()
	rules := func(n int) string {
		var b strings.Builder
		b.WriteString("version: v1\nname: x\nrules:\n")
		for i := range n {
			fmt.Fprintf(&b, "- {id: r%d, effect: deny, tools: [a.b]}\n", i)
		}
		return b.String()
	}
	tools := func(n int) string {
		var b strings.Builder
		b.WriteString("version: v1\nname: x\nrules:\n- id: a\n  effect: deny\n  tools:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - a.b%d\n", i)
		}
		return b.String()
	}
	with := func(member string, size int) string {
		return "version: v1\nname: x\nrules:\n- {id: a, effect: deny, tools: [a.b], " + member + ": '" +
			strings.Repeat("x", size) + "'}\n"
	}
	for _, c := range []struct{ name, good, bad string }{
		{"rules", rules(document.MaxRules), rules(document.MaxRules + 1)},
		{"tools", tools(document.MaxTools), tools(document.MaxTools + 1)},
		{"condition", with("when", document.MaxCondition), with("when", document.MaxCondition+1)},
		{"message", with("message", document.MaxDescription), with("message", document.MaxDescription+1)},
		{"pattern", strings.Replace(rules(1), "a.b", "a."+strings.Repeat("x", document.MaxPattern-2), 1),
			strings.Replace(rules(1), "a.b", "a."+strings.Repeat("x", document.MaxPattern-1), 1)},
		{
			"text", rules(1) + "#" + strings.Repeat("x", document.MaxBytes-len(rules(1))-1),
			rules(1) + "#" + strings.Repeat("x", document.MaxBytes-len(rules(1))),
		},
	} {
		if _, err := document.Parse([]byte(c.good), document.YAML); err != nil {
			t.Errorf("%s at its limit: %v", c.name, err)
		}
		if _, err := document.Parse([]byte(c.bad), document.YAML); err == nil {
			t.Errorf("%s beyond its limit was accepted", c.name)
		}
	}
}

func TestProblemsAreCountedAndCapped(t *testing.T) {
	t.Parallel()
	_, err := document.Parse([]byte("version: v1\nname: x\nrules:\n"+strings.Repeat("- {}\n", 200)), document.YAML)
	invalid, ok := errors.AsType[*document.Invalid](err)
	if !ok || len(invalid.Problems) != 100 {
		t.Fatalf("err = %v", err)
	}
	if want := "4:3: rule #1: id: is missing (and 99 more)"; err.Error() != want {
		t.Errorf("Error() = %q, want %q", err, want)
	}
}

func TestPatternSplit(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[document.Pattern][2]string{
		"*": {"*", "*"}, "a.b": {"a", "b"}, "a.b.c": {"a", "b.c"}, "*.x": {"*", "x"}, "a.*": {"a", "*"},
	} {
		if server, tool := pattern.Split(); server != want[0] || tool != want[1] {
			t.Errorf("%s is %q and %q, want %q", pattern, server, tool, want)
		}
	}
}

// TestWhatIsComparedShows: a rule must not look as if it named a tool, a value or
// a policy that it does not.
func TestWhatIsComparedShows(t *testing.T) {
	t.Parallel()
	for _, r := range "\u00ad\u034f\u115f\u180e\u200b\u200c\u200d\u2060\u2800\u3164\ufe0f\uffa0\U000e0041" {
		for what, text := range map[string]string{
			"a pattern": "{version: v1, name: p, rules: [{id: a, effect: deny, tools: [\"bank.send" + string(r) +
				"_money\"]}]}",
			"a condition": "{version: v1, name: p, rules: [{id: a, effect: deny, tools: [\"*\"], when: \"args.to == 'eve" + string(r) + "'\"}]}",
			"a name":      "{version: v1, name: \"pay" + string(r) + "ments\", rules: []}",
		} {
			if _, err := document.Parse([]byte(text), document.YAML); err == nil {
				t.Errorf("%s with U+%04X was taken", what, r)
			}
		}
	}
	good := "{version: v1, name: p, description: \"⚠\ufe0f careful\", rules: [{id: a, effect: deny, tools: [\"bank.zahlung_für\"], when: \"args.to == 'Zoë' || args.to == '\\\\u200b'\"}]}"
	if _, err := document.Parse([]byte(good), document.YAML); err != nil {
		t.Errorf("%v, want it taken", err)
	}
}
