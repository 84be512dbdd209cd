package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/lint"
	"writ/internal/policy/template"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func compiled(t testing.TB, text string) *engine.Policy {
	t.Helper()
	doc, err := document.Parse([]byte(text), document.YAML)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	policy, problems := engine.Compile(doc)
	if problems != nil {
		t.Fatalf("%v in\n%s", problems, text)
	}
	return policy
}

// ofRules is a policy of rules, each in one line of YAML.
func ofRules(t testing.TB, fallback string, rules ...string) *engine.Policy {
	t.Helper()
	return compiled(t, "version: v1\nname: test\ndefault: "+fallback+"\nrules:\n"+strings.Join(rules, "\n")+"\n")
}

// short is what a report says, without its words.
func short(r lint.Report) (lines []string) {
	for _, f := range r.Findings {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Kind, f.Rule, f.Field)))
	}
	return lines
}

const (
	denyAll  = `- {id: none, effect: deny, tools: ["*"]}`
	denyBank = `- {id: no-bank, effect: deny, tools: [bank.*]}`
)

func TestWhatTheTextShows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fallback string
		rules    []string
		want     []string
	}{
		"marks that are special elsewhere": {
			"deny", []string{
				`- {id: a, effect: deny, tools: ["bank.{pay,send}", bank.pay, "files.read?", "web.(get|put)"]}`,
				`- {id: b, effect: allow, tools: ["k8s.pods/list", "s.a-b_c", "*.x*"]}`,
			},
			[]string{
				"literal_marks a rules[0].tools[0]", "literal_marks a rules[0].tools[2]",
				"literal_marks a rules[0].tools[3]",
			},
		},
		"an allow behind one that confines": {
			"deny", []string{
				`- {id: a, effect: allow, tools: ["*.Bash"], confine: {write: [workspace]}}`,
				`- {id: b, effect: allow, tools: ["*.Bash"]}`,
			},
			[]string{"unreachable b rules[1]"},
		},
		"two rules that confine narrow each other": {
			"deny", []string{
				`- {id: a, effect: allow, tools: ["*.Bash"], confine: {write: [workspace]}}`,
				`- {id: b, effect: allow, tools: ["*.Bash"], confine: {write: [workspace/out]}, otherwise: hold}`,
			},
			nil,
		},
		"an ask is before one that confines, but not before its otherwise": {
			"deny", []string{
				`- {id: a, effect: ask, tools: ["*.Bash"]}`,
				`- {id: b, effect: allow, tools: ["*.Bash"], confine: {write: [workspace]}}`,
			},
			nil,
		},
		"a deny is before one that confines": {
			"deny", []string{
				`- {id: a, effect: deny, tools: ["*.Bash"]}`,
				`- {id: b, effect: allow, tools: ["*.Bash"], confine: {write: [workspace]}, otherwise: hold}`,
			},
			[]string{"shadowed_allow b rules[1]"},
		},
		"a limit of one that confines beside a wider allow": {
			"deny", []string{
				`- {id: a, effect: allow, tools: ["*.Bash"], confine: {write: [workspace]}, limit: {calls: 5, per: 1h}}`,
				`- {id: b, effect: allow, tools: ["*.Bash"]}`,
			},
			nil,
		},
		"an allow that a deny takes back": {
			"deny", []string{denyBank, `- {id: pay, effect: allow, tools: [bank.pay, bank.get_*]}`},
			[]string{"shadowed_allow pay rules[1]"},
		},
		"a part of it": {
			"deny", []string{denyBank, `- {id: pay, effect: allow, tools: [shop.buy, bank.pay]}`},
			[]string{"shadowed_allow pay rules[1].tools[1]"},
		},
		"by two rules together": {
			"deny",
			[]string{
				denyBank, `- {id: x, effect: deny, tools: [shop.buy]}`,
				`- {id: pay, effect: allow, tools: [shop.buy, bank.pay]}`,
			},
			[]string{"shadowed_allow pay rules[2]"},
		},
		"a deny with a condition": {
			"deny",
			[]string{
				`- {id: d, effect: deny, tools: [bank.*], when: args.x == 1}`,
				`- {id: pay, effect: allow, tools: [bank.pay]}`,
			},
			nil,
		},
		"a deny with a limit": {
			"deny",
			[]string{
				`- {id: d, effect: deny, tools: [bank.*], limit: {calls: 5, per: 1h}}`,
				`- {id: pay, effect: allow, tools: [bank.pay]}`,
			},
			nil,
		},
		"a deny whose condition is true": {
			"deny",
			[]string{
				`- {id: d, effect: deny, tools: [bank.*], when: 'true || args.x == 1'}`,
				`- {id: pay, effect: allow, tools: [bank.pay]}`,
			},
			[]string{"shadowed_allow pay rules[1]"},
		},
		"a narrower deny": {
			"deny", []string{denyBank, `- {id: all, effect: allow, tools: ["bank*.get"]}`}, nil,
		},
		"a hold behind a deny": {
			"deny", []string{denyAll, `- {id: h, effect: hold, tools: [bank.pay], when: args.x == 1}`},
			[]string{"unreachable h rules[1]"},
		},
		"a deny behind a hold": {
			"deny", []string{`- {id: h, effect: hold, tools: ["*"]}`, `- {id: z, effect: deny, tools: [bank.pay]}`},
			nil,
		},
		"the same again, later by name": {
			"deny",
			[]string{
				`- {id: a, effect: allow, tools: [bank.*]}`,
				`- {id: b, effect: allow, tools: [bank.pay], when: args.x == 1}`,
			},
			[]string{"unreachable b rules[1]"},
		},
		"the same again, earlier by name": {
			"deny",
			[]string{
				`- {id: b, effect: allow, tools: [bank.*]}`,
				`- {id: a, effect: allow, tools: [bank.pay], when: args.x == 1}`,
			},
			nil,
		},
		"a condition that is never true": {
			"deny", []string{`- {id: a, effect: deny, tools: [bank.pay], when: 'false && args.x == 1'}`},
			[]string{"unreachable a rules[0].when"},
		},
		"one that is for another tool": {
			"deny",
			[]string{`- {id: a, effect: deny, tools: [bank.pay, bank.get], when: 'tool == "get" && args.x == 1'}`},
			[]string{"unreachable a rules[0].tools[0]"},
		},
		"one that depends on the call": {
			"deny", []string{`- {id: a, effect: deny, tools: [bank.pay], when: args.x == 1 || now.getHours() < 6}`},
			nil,
		},
		"every tool": {
			"deny", []string{`- {id: a, effect: allow, tools: [bank.get, "*"]}`},
			[]string{"over_broad a rules[0].tools[1]"},
		},
		"every tool, written longer": {
			"deny", []string{`- {id: a, effect: allow, tools: ["**.*"]}`}, []string{"over_broad a rules[0].tools[0]"},
		},
		"every tool, on a condition": {
			"deny", []string{`- {id: a, effect: allow, tools: ["*"], when: environment == "sandbox"}`}, nil,
		},
		"every tool held":        {"deny", []string{`- {id: a, effect: hold, tools: ["*"]}`}, nil},
		"every tool of a server": {"deny", []string{`- {id: a, effect: allow, tools: [bank.*]}`}, nil},
		"a default that allows":  {"allow", []string{denyBank}, []string{"over_broad  default"}},
		"a limit behind an open door": {
			"deny",
			[]string{
				`- {id: a, effect: allow, tools: [bank.pay], limit: {calls: 5, per: 1h}}`,
				`- {id: b, effect: allow, tools: [bank.*]}`,
			},
			[]string{"contradictory_limits a rules[0].limit"},
		},
		"a limit before an open default": {
			"allow", []string{`- {id: a, effect: allow, tools: [bank.pay], limit: {calls: 5, per: 1h}}`},
			[]string{"over_broad  default", "contradictory_limits a rules[0].limit"},
		},
		"two limits, one never reached": {
			"deny",
			[]string{
				`- {id: a, effect: deny, tools: [bank.*], limit: {calls: 5, per: 1d}}`,
				`- {id: b, effect: deny, tools: [bank.pay], limit: {calls: 9, per: 1h}}`,
			},
			[]string{"contradictory_limits b rules[1].limit"},
		},
		"of another subject": {
			"deny",
			[]string{
				`- {id: a, effect: deny, tools: [bank.*], limit: {calls: 5, per: 1d, by: user}}`,
				`- {id: b, effect: deny, tools: [bank.pay], limit: {calls: 9, per: 1h}}`,
			},
			nil,
		},
		"of everybody together": {
			"deny",
			[]string{
				`- {id: a, effect: deny, tools: [bank.*], limit: {calls: 5, per: 1d, by: org}}`,
				`- {id: b, effect: deny, tools: [bank.pay], limit: {calls: 9, per: 1h}}`,
			},
			[]string{"contradictory_limits b rules[1].limit"},
		},
		"windows that do not nest": {
			"deny",
			[]string{
				`- {id: a, effect: deny, tools: [bank.*], limit: {calls: 5, per: 3h}}`,
				`- {id: b, effect: deny, tools: [bank.pay], limit: {calls: 9, per: 2h}}`,
			},
			nil,
		},
		"another unit": {
			"deny",
			[]string{
				`- {id: a, effect: deny, tools: [bank.*], limit: {tokens: 5, per: 1d}}`,
				`- {id: b, effect: deny, tools: [bank.pay], limit: {calls: 9, per: 1h}}`,
			},
			nil,
		},
		"a burst and a day": {
			"deny",
			[]string{
				`- {id: a, effect: deny, tools: [bank.*], limit: {calls: 50, per: 1d}}`,
				`- {id: b, effect: deny, tools: [bank.*], limit: {calls: 9, per: 1h}}`,
			},
			nil,
		},
		"a weaker one first": {
			"deny",
			[]string{
				`- {id: a, effect: ask, tools: [bank.*], limit: {calls: 5, per: 1h}}`,
				`- {id: b, effect: deny, tools: [bank.*], limit: {calls: 9, per: 1h}}`,
			},
			nil,
		},
		"an allow that stops too late": {
			"deny",
			[]string{
				`- {id: a, effect: allow, tools: [bank.pay], limit: {calls: 100, per: 1h}}`,
				`- {id: b, effect: deny, tools: [bank.*], limit: {calls: 10, per: 1h}}`,
			},
			[]string{"contradictory_limits a rules[0].limit"},
		},
		"two allows, the lower without effect": {
			"deny",
			[]string{
				`- {id: a, effect: allow, tools: [bank.pay], limit: {calls: 5, per: 1h}}`,
				`- {id: b, effect: allow, tools: [bank.pay], limit: {calls: 9, per: 1h}}`,
			},
			[]string{"contradictory_limits a rules[0].limit"},
		},
		"two allows, of more and of fewer": {
			"deny",
			[]string{
				`- {id: a, effect: allow, tools: [bank.pay], limit: {calls: 5, per: 1h}}`,
				`- {id: b, effect: allow, tools: [bank.*], limit: {calls: 9, per: 1h}}`,
			},
			nil,
		},
		"the same limit twice": {
			"deny",
			[]string{
				`- {id: a, effect: deny, tools: [bank.pay], limit: {calls: 5, per: 1h}}`,
				`- {id: b, effect: deny, tools: [bank.pay], limit: {calls: 5, per: 1h}}`,
			},
			[]string{"contradictory_limits b rules[1].limit"},
		},
		"limits on different conditions": {
			"deny",
			[]string{
				`- {id: a, effect: deny, tools: [bank.pay], when: args.x == 1, limit: {calls: 5, per: 1h}}`,
				`- {id: b, effect: deny, tools: [bank.pay], limit: {calls: 9, per: 1h}}`,
			},
			nil,
		},
		"limits on the same condition": {
			"deny",
			[]string{
				`- {id: a, effect: deny, tools: [bank.pay], when: args.x == 1, limit: {calls: 5, per: 1h}}`,
				`- {id: b, effect: deny, tools: [bank.pay], when: args.x == 1, limit: {calls: 9, per: 1h}}`,
			},
			[]string{"contradictory_limits b rules[1].limit"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := lint.Of(ofRules(t, c.fallback, c.rules...))
			if diff := cmp.Diff(c.want, short(report)); diff != "" || report.Incomplete {
				t.Errorf("(-want +got)\n%s\n%+v", diff, report)
			}
			for _, f := range report.Findings {
				if f.Message == "" || f.Fix == "" || f.Calls != 0 || f.Line == 0 && f.Field != "default" {
					t.Errorf("a finding without words or place: %+v", f)
				}
			}
		})
	}
}

func TestPoliciesBeside(t *testing.T) {
	t.Parallel()
	allow := ofRules(t, "deny", `- {id: pay, effect: allow, tools: [bank.pay]}`)
	report := lint.Of(allow, lint.Beside{Name: "guard", Policy: ofRules(t, "deny", denyBank)})
	if diff := cmp.Diff([]string{"shadowed_allow pay rules[0]"}, short(report)); diff != "" {
		t.Fatal(diff)
	}
	if f := report.Findings[0]; !strings.Contains(f.Message, "rule no-bank of policy guard") || f.Line != 5 {
		t.Errorf("it does not say by whom, or where: %+v", f)
	}
	same := lint.Beside{Name: "other", Policy: ofRules(t, "deny", `- {id: a, effect: allow, tools: [bank.*]}`)}
	if report := lint.Of(allow, same); report.Findings != nil {
		t.Errorf("another policy that allows as well: %+v", report)
	}
}

// TestDefaultsBeside: where no rule decides the strictest default counts, so that a
// default that allows lets nothing through beside one that does not, and a limit
// that is spent holds back.
func TestDefaultsBeside(t *testing.T) {
	t.Parallel()
	open := ofRules(t, "allow", `- {id: a, effect: allow, tools: [bank.pay], limit: {calls: 5, per: 1h}}`)
	strict := lint.Beside{Name: "strict", Policy: ofRules(t, "deny", `- {id: x, effect: allow, tools: [shop.buy]}`)}
	if report := lint.Of(open, strict); report.Findings != nil {
		t.Errorf("beside a default that denies: %+v", report)
	}
	strict.Bound = true
	if diff := cmp.Diff([]string{"over_broad  default"}, short(lint.Of(open, strict))); diff != "" {
		t.Errorf("beside one for some callers: %s", diff)
	}
	if report := lint.Of(ofRules(t, "deny", `- {id: pay, effect: allow, tools: [bank.pay]}`), lint.Beside{
		Name: "bound", Bound: true, Policy: ofRules(t, "deny", denyBank),
	}); report.Findings != nil {
		t.Errorf("a deny for some callers takes nothing from others: %+v", report)
	}
}

// TestShippedPoliciesHaveNoFindings: what we give out as an example is one.
func TestShippedPoliciesHaveNoFindings(t *testing.T) {
	t.Parallel()
	for _, shipped := range template.All() {
		if report := lint.Of(compiled(t, shipped.Text)); report.Findings != nil || report.Incomplete {
			t.Errorf("%s: %+v", shipped.Name, report)
		}
	}
}

func TestALargePolicyIsNotComparedForever(t *testing.T) {
	t.Parallel()
	doc := &document.Document{Version: document.Version, Name: "large"}
	for i := range 4000 {
		doc.Rules = append(doc.Rules, document.Rule{
			ID:     fmt.Sprint("r", i),
			Effect: verdict.Hold,
			Tools:  []document.Pattern{document.Pattern(fmt.Sprintf("s%d.*a*", i))},
		})
	}
	policy, problems := engine.Compile(doc)
	if problems != nil {
		t.Fatal(problems)
	}
	if report := lint.Of(policy); !report.Incomplete || report.Findings != nil {
		t.Errorf("%d findings, incomplete %v", len(report.Findings), report.Incomplete)
	}
}

// TestManyLimitsAreNotComparedForever: each pair counts, also where their conditions
// differ.
func TestManyLimitsAreNotComparedForever(t *testing.T) {
	t.Parallel()
	doc := &document.Document{Version: document.Version, Name: "large"}
	for i := range 3000 {
		doc.Rules = append(doc.Rules, document.Rule{
			ID: fmt.Sprint("r", i), Effect: verdict.Deny, Tools: []document.Pattern{"bank.pay"},
			When:  fmt.Sprintf("args.n == %d", i),
			Limit: &document.Limit{Calls: 1, Per: time.Hour, By: document.Agent},
		})
	}
	policy, problems := engine.Compile(doc)
	if problems != nil {
		t.Fatal(problems)
	}
	if report := lint.Of(policy); !report.Incomplete || report.Findings != nil {
		t.Errorf("%d findings, incomplete %v", len(report.Findings), report.Incomplete)
	}
}

// calls are many calls of one tool, whose arguments differ.
func calls(n int, tool string, args func(i int) map[string]any) (made []*toolcall.Call) {
	for i := range n {
		made = append(made, &toolcall.Call{Server: "bank", Tool: tool, Args: args(i)})
	}
	return made
}

func counting(i int) map[string]any { return map[string]any{"n": int64(i)} }

func TestWhatRecordedCallsShow(t *testing.T) {
	t.Parallel()
	erased := toolcall.Gaps{{"args"}}
	many := calls(30, "pay", counting)
	for name, c := range map[string]struct {
		rule  string
		calls []*toolcall.Call
		gaps  toolcall.Gaps
		want  []string
	}{
		"always true": {
			`- {id: a, effect: hold, tools: [bank.pay], when: args.n >= 0}`, many, nil,
			[]string{"always_true a rules[0].when"},
		},
		"true but once": {`- {id: a, effect: hold, tools: [bank.pay], when: args.n >= 1}`, many, nil, nil},
		"too few to say": {
			`- {id: a, effect: hold, tools: [bank.pay], when: args.n >= 0}`, many[:19], nil, nil,
		},
		"always fails": {
			`- {id: a, effect: hold, tools: [bank.pay], when: args.m >= 0}`, many[:1], nil,
			[]string{"always_fails a rules[0].when"},
		},
		"fails but once": {
			`- {id: a, effect: hold, tools: [bank.pay], when: 10 / (args.n - 1) > 100}`, many, nil, nil,
		},
		"erased": {`- {id: a, effect: hold, tools: [bank.pay], when: args.m >= 0}`, many, erased, nil},
		"erased, and not needed": {
			`- {id: a, effect: hold, tools: [bank.pay], when: tool == "pay"}`, many, erased,
			[]string{"always_true a rules[0].when"},
		},
		"other tools":  {`- {id: a, effect: hold, tools: [shop.pay], when: args.m >= 0}`, many, nil, nil},
		"no condition": {`- {id: a, effect: hold, tools: [bank.pay]}`, many, nil, nil},
		"a star for one tool": {
			`- {id: a, effect: allow, tools: [bank.*]}`, many, nil, []string{"over_broad a rules[0].tools[0]"},
		},
		"a star for many tools": {`- {id: a, effect: allow, tools: [bank.*]}`, manyTools(), nil, nil},
		"a star that denies":    {`- {id: a, effect: deny, tools: [bank.*]}`, many, nil, nil},
		"a star, erased": {
			`- {id: a, effect: allow, tools: [bank.*], when: args.n == 1}`, many, erased,
			[]string{"over_broad a rules[0].tools[0]"},
		},
		"a star that never held":  {`- {id: a, effect: allow, tools: [bank.*], when: args.n == 100}`, many, nil, nil},
		"a star, too few to tell": {`- {id: a, effect: allow, tools: [bank.*]}`, many[:19], nil, nil},
	} {
		tally := lint.NewTally(ofRules(t, "deny", c.rule))
		for _, call := range c.calls {
			tally.Add(call, c.gaps)
		}
		report := tally.Report()
		if diff := cmp.Diff(c.want, short(report)); diff != "" || tally.Calls() != int64(len(c.calls)) {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		for _, f := range report.Findings {
			if f.Fix == "" || f.Calls != int64(len(c.calls)) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

func manyTools() (made []*toolcall.Call) {
	for i := range 3 {
		for j := range 11 {
			made = append(made, calls(1, fmt.Sprint("tool", j), func(int) map[string]any { return counting(i) })...)
		}
	}
	return made
}

func TestReportsAreJoinedInTheOrderOfTheText(t *testing.T) {
	t.Parallel()
	policy := ofRules(t, "deny", `- {id: a, effect: hold, tools: [bank.pay], when: args.n >= 0}`,
		denyBank+" # comes first", `- {id: z, effect: allow, tools: ["*"]}`)
	tally := lint.NewTally(policy)
	for _, call := range calls(20, "pay", counting) {
		tally.Add(call, nil)
	}
	joined := short(lint.Join(lint.Of(policy), tally.Report()))
	if !slices.IsSortedFunc(joined, func(a, b string) int {
		return strings.Compare(strings.Fields(a)[2], strings.Fields(b)[2])
	}) || len(joined) != 4 {
		t.Errorf("%v", joined)
	}
}
