package lint_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/lint"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// drawn is a small policy over few tools, so that rules meet often.
func drawn(random *rand.Rand) *document.Document {
	patterns := []document.Pattern{"*", "a.*", "b.*", "*.x", "a.x", "a.y", "b.x", "b.*y", "a*.*"}
	conditions := []string{
		"", "", "true", "false", "args.n == 1", `tool == "x"`, `tool == "y" && args.n == 0`, "args.missing == 1",
		"args.n == 1 || true",
	}
	doc := &document.Document{Version: document.Version, Name: "drawn", Default: verdict.Verdict(random.IntN(4))}
	for i := range 1 + random.IntN(5) {
		rule := document.Rule{
			ID:     fmt.Sprint("r", (i*7)%5),
			Effect: verdict.Verdict(random.IntN(4)),
			When:   conditions[random.IntN(len(conditions))],
		}
		for _, j := range random.Perm(len(patterns))[:1+random.IntN(2)] {
			rule.Tools = append(rule.Tools, patterns[j])
		}
		if random.IntN(4) == 0 {
			rule.Limit = &document.Limit{
				Calls: 1 + random.Int64N(3), Per: time.Duration(1+random.IntN(3)) * time.Hour, By: document.Agent,
			}
		}
		doc.Rules = append(doc.Rules, rule)
	}
	return doc
}

// made is every call that such a policy can tell apart, in an order of its own.
func made(random *rand.Rand) (all []toolcall.Call) {
	for _, server := range []string{"a", "b", "ab"} {
		for _, tool := range []string{"x", "y", "zy"} {
			for n := range 2 {
				for hour := range 3 {
					all = append(all, toolcall.Call{
						Server: server, Tool: tool, Args: map[string]any{"n": int64(n)},
						Agent: toolcall.Agent{ID: "agent"},
						Now:   time.Unix(int64(hour)*3600, 0),
					})
				}
			}
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// played decides about calls one after the other, limits counted, and gives the
// verdicts and the rules that decided.
func played(
	t *testing.T, doc *document.Document, calls []toolcall.Call,
) (verdicts []verdict.Verdict, decided map[string]bool) {
	t.Helper()
	policy, problems := engine.Compile(doc)
	if problems != nil {
		t.Fatal(problems)
	}
	set := engine.NewSet([]engine.Active{{ID: "p", Policy: policy}})
	counters, decided := map[engine.LimitKey]int64{}, map[string]bool{}
	for i := range calls {
		d := set.Evaluate(&calls[i], func(key engine.LimitKey) (int64, error) { return counters[key], nil })
		for _, claim := range d.Claims {
			counters[claim.LimitKey]++
		}
		verdicts, decided[d.Rule] = append(verdicts, d.Verdict), true
	}
	return verdicts, decided
}

// TestFindingsAreTrue: a rule that is said never to decide never does, and without
// a limit that is said to hold back nothing every call gets the answer it got.
func TestFindingsAreTrue(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 1))
	unreachable, limits := 0, 0
	for range 800 {
		doc := drawn(random)
		policy, problems := engine.Compile(doc)
		if problems != nil {
			t.Fatal(problems)
		}
		calls := made(random)
		before, decided := played(t, doc, calls)
		for _, f := range lint.Of(policy).Findings {
			rule := ruleOf(doc, f.Rule)
			switch {
			case (f.Kind == lint.Unreachable || f.Kind == lint.ShadowedAllow) && len(f.Field) == len("rules[0]"):
				unreachable++
				if decided[f.Rule] {
					t.Fatalf("%+v, and it decides in\n%s", f, document.Render(doc))
				}
			case f.Kind == lint.Contradictory:
				limits++
				other := withoutLimit(doc, rule, f)
				if after, _ := played(t, other, calls); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Fatalf("%+v, and without it the answers change in\n%s", f, document.Render(doc))
				}
			}
		}
	}
	if unreachable < 100 || limits < 50 {
		t.Errorf("too few were drawn: %d rules, %d limits", unreachable, limits)
	}
}

func ruleOf(doc *document.Document, id string) int {
	for i := range doc.Rules {
		if doc.Rules[i].ID == id {
			return i
		}
	}
	return -1
}

// withoutLimit replaces a limit without effect by one that is never spent. Where the
// limit of another rule lets the same calls through for longer, the rule itself has no
// effect, and never matches.
func withoutLimit(doc *document.Document, i int, f lint.Finding) *document.Document {
	other := *doc
	other.Rules = append([]document.Rule{}, doc.Rules...)
	if strings.Contains(f.Message, "still allows") {
		other.Rules[i].When = "false"
		return &other
	}
	limit := *doc.Rules[i].Limit
	limit.Calls = document.MaxCount
	other.Rules[i].Limit = &limit
	return &other
}
