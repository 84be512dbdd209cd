package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/verdict"
)

func TestAllProblemsAreToldWithTheirPlace(t *testing.T) {
	t.Parallel()
	tools := []document.Pattern{"s.t"}
	doc := &document.Document{Name: "x", Default: verdict.Allow + 1, Rules: []document.Rule{
		{
			ID:     "a",
			Tools:  tools,
			When:   "agent.nmae == 1",
			At:     document.Position{Line: 5, Column: 3},
			WhenAt: document.Position{Line: 8, Column: 11},
		},
		{ID: "b", Tools: tools, When: "true &&\n  tool > 1", WhenAt: document.Position{Line: 12, Column: 7}},
		{ID: "c", Tools: tools, When: "tool"},
		{ID: "a", Tools: []document.Pattern{"s.t", "x y.*"}, Effect: verdict.Allow + 1},
		{ID: "default", Tools: nil},
		{ID: "d", Tools: tools, Limit: &document.Limit{Calls: 1, Tokens: 1, Per: time.Hour, By: document.Agent}},
		{ID: "e", Tools: tools, Limit: &document.Limit{Calls: 1, By: document.Agent}},
		{ID: "f", Tools: tools, Limit: &document.Limit{Calls: 1, Per: time.Hour, By: "planet"}},
		{ID: "g", Tools: tools, Limit: &document.Limit{Calls: -1, Per: time.Hour, By: document.User}},
	}}
	policy, problems := engine.Compile(doc)
	if policy != nil {
		t.Error("there is a policy in spite of its problems")
	}
	var got []string
	for _, p := range problems {
		message, _, _ := strings.Cut(p.Message, ",")
		got = append(got, fmt.Sprintf("%d:%d %s %s: %s", p.Line, p.Column, p.Rule, p.Field, message))
	}
	want := []string{
		"0:0  default: must be allow",
		"8:16 a rules[0].when: undefined field 'nmae': expected attested",
		"13:8 b rules[1].when: found no matching overload for > applied to '(string",
		"1:1 c rules[2].when: must be true or false",
		"0:0 a rules[3].id: is the id of an earlier rule",
		"0:0 a rules[3].effect: must be allow",
		"0:0 a rules[3].tools[1]: must have letters",
		"0:0 default rules[4].id: must be a name of its own",
		"0:0 default rules[4].tools: must name a tool",
		"0:0 d rules[5].limit: must have one of calls",
		"0:0 e rules[6].limit: per must be at least 1s",
		"0:0 f rules[7].limit: by must be agent",
		"0:0 g rules[8].limit: must have one of calls",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsOfRulesOverSeveralTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule document.Rule
		want int
	}{
		"a deny over every tool": {document.Rule{Tools: []document.Pattern{"*"}, When: "args.x > 1"}, 1},
		"an ask over two tools": {
			document.Rule{Effect: verdict.Ask, Tools: []document.Pattern{"a.b", "a.c"}, When: "args.x > 1"}, 1,
		},
		"a hold over one tool": {
			document.Rule{Effect: verdict.Hold, Tools: []document.Pattern{"a.b"}, When: "args.x > 1"}, 0,
		},
		"an allow over every tool": {
			document.Rule{Effect: verdict.Allow, Tools: []document.Pattern{"*"}, When: "args.x > 1"}, 0,
		},
		"a deny that asks for it": {
			document.Rule{Tools: []document.Pattern{"*"}, When: "has(args.x) && args.x > 1"}, 0,
		},
		"an allow for no role": {
			document.Rule{Effect: verdict.Allow, Tools: []document.Pattern{"a.b"}, When: `    "x" == user.role`}, 1,
		},
		"a deny without conditions": {document.Rule{Tools: []document.Pattern{"*"}}, 0},
	} {
		c.rule.ID, c.rule.WhenAt = "r", document.Position{Line: 4, Column: 11}
		got := compile(t, &document.Document{Name: "x", Rules: []document.Rule{c.rule}}).Warnings()
		if len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
		for _, w := range got {
			if w.Line != 4 || w.Column != 15 || w.Rule != "r" || w.Field != "rules[0].when" {
				t.Errorf("%s: %+v is in the wrong place", name, w)
			}
		}
	}
}

// A document of 1 MiB must not take minutes of a processor, nor gigabytes, to be
// looked at: whoever may draft may send one after the other.
func TestCompilingIsBounded(t *testing.T) {
	t.Parallel()
	repeated := func(piece, between string, count int) string {
		return strings.TrimSuffix(strings.Repeat(piece+between, count), between)
	}
	for name, when := range map[string]string{
		"many macros":           repeated("has(args.a)", "&&", 300),
		"many errors":           repeated("x", "&&", 1300),
		"large patterns":        repeated(`tool.matches("^(?i)[^a]{0,240}$")`, "||", 110),
		"patterns too large":    repeated(`tool.matches("^\\pL{1,400}$")`, "||", 130),
		"one large pattern":     `tool.matches("^\\pL{1,999}$")`,
		"one pattern that fits": `tool.matches("\\pL{1,240}")`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := &document.Document{Version: "v1", Name: "p"}
			for i := range document.MaxBytes / (len(when) + 60) {
				doc.Rules = append(doc.Rules, document.Rule{
					ID: fmt.Sprint("r", i), Tools: []document.Pattern{"*"}, When: when,
				})
			}
			_, problems := engine.Compile(doc)
			if len(problems) == 0 || len(problems) > 150 {
				t.Errorf("%d problems are told, want some and not one for each of %d rules", len(problems),
					len(doc.Rules))
			}
		})
	}
}
