package engine_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func TestForesee(t *testing.T) {
	t.Parallel()
	always := func(effect verdict.Verdict) document.Rule {
		return document.Rule{ID: "always-" + effect.String(), Effect: effect, Tools: []document.Pattern{"*"}}
	}
	depends := func(effect verdict.Verdict) document.Rule {
		return document.Rule{
			ID: "depends-" + effect.String(), Effect: effect, Tools: []document.Pattern{"*"}, When: "args.x == 1",
		}
	}
	elsewhere := depends(verdict.Deny)
	elsewhere.When = `tool == "other" && args.x == 1`
	here := depends(verdict.Deny)
	here.When = `tool == "t" && args.x == 1`
	either := depends(verdict.Allow)
	either.When = `server == "s" || args.x == 1`
	limited := always(verdict.Deny)
	limited.Limit = &document.Limit{Calls: 1, Per: time.Hour, By: document.Agent}
	for name, tt := range map[string]struct {
		fallback verdict.Verdict
		rules    []document.Rule
		want     verdict.Verdict
		certain  bool
	}{
		"only a default": {verdict.Allow, nil, verdict.Allow, true},
		"a rule for every call": {
			verdict.Deny, []document.Rule{always(verdict.Allow)}, verdict.Allow, true,
		},
		"a stricter rule may match": {
			verdict.Deny, []document.Rule{always(verdict.Allow), depends(verdict.Hold)}, verdict.Allow, false,
		},
		"a weaker rule cannot change it": {
			verdict.Deny, []document.Rule{always(verdict.Deny), depends(verdict.Allow)}, verdict.Deny, true,
		},
		"an equal rule cannot change it": {
			verdict.Deny, []document.Rule{always(verdict.Hold), depends(verdict.Hold)}, verdict.Hold, true,
		},
		"a weaker rule replaces a default": {
			verdict.Deny, []document.Rule{depends(verdict.Allow)}, verdict.Deny, false,
		},
		"a rule that says what the default is": {
			verdict.Deny, []document.Rule{depends(verdict.Deny)}, verdict.Deny, true,
		},
		"a rule about another tool":     {verdict.Allow, []document.Rule{elsewhere}, verdict.Allow, true},
		"a rule about this tool":        {verdict.Allow, []document.Rule{here}, verdict.Allow, false},
		"an allow that reads arguments": {verdict.Deny, []document.Rule{either}, verdict.Allow, false},
		"a limit may be spent":          {verdict.Allow, []document.Rule{limited}, verdict.Allow, false},
	} {
		policy, problems := engine.Compile(&document.Document{
			Version: "v1", Name: "p", Default: tt.fallback, Rules: tt.rules,
		})
		if problems != nil {
			t.Fatalf("%s: %v", name, problems)
		}
		got := engine.NewSet([]engine.Active{{ID: "p", Policy: policy}}).Foresee(&toolcall.Call{Server: "s", Tool: "t"})
		if got.Verdict != tt.want || got.Certain != tt.certain {
			t.Errorf("%s: %s, certain %t; want %s, certain %t", name, got.Verdict, got.Certain, tt.want, tt.certain)
		}
	}
}

// TestWhatIsCertainHappens draws sets and calls: a verdict foreseen with
// certainty is the verdict of every call.
func TestWhatIsCertainHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		when := rapid.SampledFrom([]string{"", `args.x == 1`, `environment == "production"`,
			`server == "s" || args.x == 1`, `["a"].exists(v, v == tool)`, `now > timestamp("2026-01-01T00:00:00Z")`,
			`tool == "t" && args.x == 1`, `tool != "t" && args.x == 1`, `!has(args.x) && path("a").within("b")`,
			`tool == "t" ? args.x == 1 : args.?x.orValue(2) == 1`, `args.all(k, v, v == 1) || server == "z"`,
			`session.calls > 0 && intent.declared && labels.exists(l, l == "a")`})
		doc := &document.Document{
			Version: "v1", Name: "p", Default: verdict.Verdict(rapid.Uint8Range(0, 3).Draw(rt, "default")),
		}
		for i := range rapid.IntRange(0, 4).Draw(rt, "rules") {
			doc.Rules = append(doc.Rules, document.Rule{
				ID: string(rune('a' + i)), Effect: verdict.Verdict(rapid.Uint8Range(0, 3).Draw(rt, "effect")),
				Tools: []document.Pattern{"*"}, When: when.Draw(rt, "when"),
			})
		}
		policy, problems := engine.Compile(doc)
		if problems != nil {
			rt.Fatalf("compile: %v", problems)
		}
		set := engine.NewSet([]engine.Active{{ID: "p", Policy: policy}})
		call := toolcall.Call{
			Server: rapid.SampledFrom([]string{"s", "r"}).Draw(rt, "server"), Tool: "t", Environment: "sandbox",
		}
		foreseen := set.Foresee(&call)
		call.Args = rapid.SampledFrom([]map[string]any{nil, {"x": int64(1)}, {"x": "1"}}).Draw(rt, "args")
		call.Now = time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(rt, "now"), 0)
		if got := set.Evaluate(&call, nil); foreseen.Certain && got.Verdict != foreseen.Verdict {
			rt.Fatalf("foreseen %s, happened %s", foreseen.Verdict, got.Verdict)
		}
	})
}

// TestForesightHoldsForAnySet is the same for sets with bindings, limits and
// patterns.
func TestForesightHoldsForAnySet(t *testing.T) {
	check(t, func(t *rapid.T) {
		set, call := engine.NewSet(drawActive(t)), drawCall(t)
		foreseen := set.Foresee(call)
		other := drawCall(t)
		call.Args, call.Now, call.Session = other.Args, other.Now, other.Session
		if got := set.Evaluate(call, counters(t)); foreseen.Certain && got.Verdict != foreseen.Verdict {
			t.Fatalf("foreseen %s by %s, happened %s by %s", foreseen.Verdict, foreseen.Rule, got.Verdict, got.Rule)
		}
	})
}
