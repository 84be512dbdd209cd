package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/expression"
	"writ/internal/verdict"
)

func TestEveryRuleThatNamesTheToolIsExplained(t *testing.T) {
	t.Parallel()
	doc := payments()
	doc.Rules = append(doc.Rules,
		document.Rule{ID: "all", Effect: verdict.Allow, Tools: []document.Pattern{"x.*", "*.send*"}},
		document.Rule{ID: "note", Effect: verdict.Ask, Tools: []document.Pattern{"bank.*"}, When: "args.note != ''"},
		document.Rule{ID: "other", Effect: verdict.Deny, Tools: []document.Pattern{"git.*"}})
	foreign := &document.Document{
		Name:  "foreign",
		Rules: []document.Rule{{ID: "no", Effect: verdict.Deny, Tools: []document.Pattern{"*"}, When: "args.x"}},
	}
	set := engine.NewSet([]engine.Active{
		{ID: "p1", Version: 3, Policy: compile(t, doc)},
		{ID: "p2", Version: 1, Policy: compile(t, foreign), Bindings: engine.Bindings{Users: []string{"ann"}}},
	})
	got := set.Explain(pay("bank", "send_money", map[string]any{"amount": int64(5), "currency": "EUR"}), nothingSpent)

	key := engine.LimitKey{
		PolicyID: "p1",
		RuleID:   "pace",
		Unit:     engine.Calls,
		By:       document.Agent,
		Subject:  "a1",
		Window:   7200,
		Per:      int64(time.Hour / time.Second),
	}
	rule := func(
		id string, effect verdict.Verdict, pattern document.Pattern, outcome engine.Outcome, matched bool,
	) engine.Considered {
		return engine.Considered{
			PolicyID:      "p1",
			PolicyName:    "payments",
			PolicyVersion: 3,
			Rule:          id,
			Effect:        effect,
			Pattern:       pattern,
			Outcome:       outcome,
			Matched:       matched,
		}
	}
	want := []engine.Considered{
		{
			PolicyID:      "p2",
			PolicyName:    "foreign",
			PolicyVersion: 1,
			Rule:          "no",
			Pattern:       "*",
			Outcome:       engine.NotBound,
			When:          "args.x",
		},
		rule("pace", verdict.Deny, "*", engine.LimitLeft, false),
		rule("large-payments", verdict.Hold, "bank.send_money", engine.False, false),
		rule("note", verdict.Ask, "bank.*", engine.Failed, true),
		rule("all", verdict.Allow, "*.send*", engine.Always, true),
		rule("small-payments", verdict.Allow, "bank.send_money", engine.True, true),
	}
	want[1].Limit = &engine.LimitUse{LimitKey: key, Max: 100}
	want[2].When = "args.amount > 1000"
	want[2].Steps = []expression.Step{
		{Expression: "args.amount", Value: "5"}, {Expression: "args.amount > 1000", Value: "false"},
	}
	want[3].When, want[3].Error, want[3].Decided = "args.note != ''", "no such key: note", true
	want[5].When = `args.amount <= 1000 && args.currency == "EUR"`
	for i := range got.Rules {
		if i != 2 {
			got.Rules[i].Steps = nil
		}
	}
	if diff := cmp.Diff(want, got.Rules); diff != "" {
		t.Error(diff)
	}
	if got.Decision.Rule != "note" || got.Decision.Verdict != verdict.Ask {
		t.Errorf("decided by %s: %s", got.Decision.Rule, got.Decision.Verdict)
	}
}
