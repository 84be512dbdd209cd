package engine_test

import (
	"strings"
	"testing"

	"writ/internal/confine"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func confinedRule(id string, otherwise verdict.Verdict, tools ...document.Pattern) document.Rule {
	return document.Rule{
		ID: id, Effect: verdict.Allow, Tools: tools,
		Confine: &confine.Limits{Write: []string{"workspace"}}, Otherwise: otherwise,
	}
}

func setOfRules(t *testing.T, rules ...document.Rule) *engine.Set {
	t.Helper()
	doc := &document.Document{Version: document.Version, Name: "p", Rules: rules}
	return engine.NewSet([]engine.Active{{ID: "p", Version: 1, Policy: compile(t, doc)}})
}

// TestOtherwiseIsAnEffect: to a caller that cannot confine, the rule denies or holds as any other would.
func TestOtherwiseIsAnEffect(t *testing.T) {
	t.Parallel()
	ask := document.Rule{ID: "ask", Effect: verdict.Ask, Tools: []document.Pattern{"*"}}
	hold := document.Rule{ID: "hold", Effect: verdict.Hold, Tools: []document.Pattern{"*"}}
	allow := document.Rule{ID: "allow", Effect: verdict.Allow, Tools: []document.Pattern{"*"}}
	for name, c := range map[string]struct {
		with            []document.Rule
		otherwise       verdict.Verdict
		capable, others verdict.Verdict
	}{
		"alone":          {nil, verdict.Deny, verdict.Allow, verdict.Deny},
		"beside allow":   {[]document.Rule{allow}, verdict.Hold, verdict.Allow, verdict.Hold},
		"beside ask":     {[]document.Rule{ask}, verdict.Deny, verdict.Ask, verdict.Deny},
		"beside ask, 2":  {[]document.Rule{ask}, verdict.Hold, verdict.Ask, verdict.Hold},
		"beside hold":    {[]document.Rule{hold}, verdict.Deny, verdict.Hold, verdict.Deny},
		"beside hold, 2": {[]document.Rule{hold}, verdict.Hold, verdict.Hold, verdict.Hold},
	} {
		set := setOfRules(t, append(c.with, confinedRule("c", c.otherwise, "*"))...)
		can := set.Evaluate(&toolcall.Call{Server: "s", Tool: "t", CanConfine: true}, nil)
		if can.Verdict != c.capable || (can.Confine != nil) != (c.capable == verdict.Allow) || can.Demanded != nil {
			t.Errorf("%s, for one that can: %+v", name, can)
		}
		cannot := set.Evaluate(&toolcall.Call{Server: "s", Tool: "t"}, nil)
		if cannot.Verdict != c.others || cannot.Confine != nil {
			t.Errorf("%s, for one that cannot: %+v", name, cannot)
		}
		if decides := cannot.Rule == "c"; decides != (cannot.Demanded != nil) ||
			decides != strings.Contains(cannot.Reason, "only confined") {
			t.Errorf("%s: by %s, which demands %v: %s", name, cannot.Rule, cannot.Demanded, cannot.Reason)
		}
	}
}

// TestAChangedNameIsNotAllowedConfined: a harness writes do:it as do_it, which may be another tool.
func TestAChangedNameIsNotAllowedConfined(t *testing.T) {
	t.Parallel()
	allow := document.Rule{ID: "allow", Effect: verdict.Allow, Tools: []document.Pattern{"s.*"}}
	set := setOfRules(t, allow, confinedRule("c", verdict.Hold, "s.do:it"))
	for tool, want := range map[string]verdict.Verdict{"do:it": verdict.Allow, "do_it": verdict.Hold} {
		d := set.Evaluate(&toolcall.Call{Server: "s", Tool: tool, CanConfine: true}, nil)
		if d.Verdict != want || (d.Confine != nil) != (want == verdict.Allow) {
			t.Errorf("%s: %+v", tool, d)
		}
	}
}

// TestWhatIsUnknownAboutTheCaller: both answers are possible.
func TestWhatIsUnknownAboutTheCaller(t *testing.T) {
	t.Parallel()
	set := setOfRules(t, confinedRule("c", verdict.Hold, "*"))
	o := set.Outlook(&toolcall.Call{Server: "s", Tool: "t"}, toolcall.Gaps{{"key"}}, nil)
	if !o.Possible().Has(verdict.Hold) || !o.Possible().Has(verdict.Allow) || !o.MayConfine || o.Confine != nil {
		t.Errorf("%+v", o)
	}
}

// TestAConfinementWhoseConditionFailsRestricts: an argument of another type must not get a call out of its confinement.
func TestAConfinementWhoseConditionFailsRestricts(t *testing.T) {
	t.Parallel()
	open := document.Rule{ID: "all", Effect: verdict.Allow, Tools: []document.Pattern{"s.*"}}
	for otherwise, want := range map[verdict.Verdict]verdict.Verdict{
		verdict.Deny: verdict.Deny, verdict.Hold: verdict.Hold, verdict.Allow: verdict.Deny,
	} {
		confined := confinedRule("builds", otherwise, "s.t")
		confined.When = `args.command.startsWith("make")`
		set := setOfRules(t, open, confined)
		for _, can := range []bool{true, false} {
			call := toolcall.Call{
				Server: "s", Tool: "t", Args: map[string]any{"command": []any{"make"}}, CanConfine: can,
			}
			if d := set.Evaluate(&call, nil); d.Verdict != want || d.Confine != nil || len(d.Failed) != 1 {
				t.Errorf("otherwise %s, can confine %v: %s by %s, %d failures, want %s", otherwise, can, d.Verdict,
					d.Rule,
					len(d.Failed), want)
			}
		}
	}
}

// TestOtherwiseAllow: callers that can confine a call do, and the others run it as it is.
func TestOtherwiseAllow(t *testing.T) {
	t.Parallel()
	set := setOfRules(t, confinedRule("c", verdict.Allow, "*"))
	for _, can := range []bool{true, false} {
		d := set.Evaluate(&toolcall.Call{Server: "s", Tool: "t", CanConfine: can}, nil)
		if d.Verdict != verdict.Allow || (d.Confine != nil) != can || (d.Demanded != nil) == can {
			t.Errorf("can confine %v: %+v", can, d)
		}
	}
}
