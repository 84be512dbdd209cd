package engine_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// exactly is what counters tell, as a range.
func exactly(spent engine.Spent) engine.Range {
	return func(key engine.LimitKey, anySubject bool) (int64, int64) {
		if anySubject {
			return 0, 10
		}
		used, err := spent(key)
		if err != nil {
			return 10, 10 // counts as spent
		}
		return used, used
	}
}

// TestWithoutGapsNothingIsInDoubt: an outlook on a call that is all known is the
// decision about it.
func TestWithoutGapsNothingIsInDoubt(t *testing.T) {
	check(t, func(t *rapid.T) {
		set, call, spent := engine.NewSet(drawActive(t)), drawCall(t), counters(t)
		want, got := set.Evaluate(call, spent), set.Outlook(call, nil, exactly(spent))
		if only, ok := got.Possible().Only(); !ok || only != want.Verdict {
			t.Fatalf("%s, possible are %b", want.Verdict, got.Possible())
		}
		ignore := cmpopts.IgnoreFields(engine.Decision{}, "Reason", "Failed", "Claims")
		if diff := gocmp.Diff(want, got.Decision, ignore, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("decides otherwise:\n%s", diff)
		}
		if want.ByRule() == (got.ByRules == 0) || want.ByRule() == (got.ByDefault != 0) {
			t.Fatalf("rule %q: %b by rules, %b by defaults", want.Rule, got.ByRules, got.ByDefault)
		}
		var claims []engine.Claim
		for _, claim := range got.Claims {
			if !claim.Certain || claim.AnySubject {
				t.Fatalf("a claim is in doubt: %+v", claim)
			}
			claims = append(claims, claim.Claim)
		}
		if diff := gocmp.Diff(want.Claims, claims, cmpopts.EquateEmpty()); want.Verdict != verdict.Deny && diff != "" {
			t.Fatalf("claims otherwise:\n%s", diff)
		}
	})
}

// TestWhatIsUnknownIsNeverRuledOut fills the gaps of a call in some way: whatever
// is decided then was said to be possible, and what is claimed was foretold.
func TestWhatIsUnknownIsNeverRuledOut(t *testing.T) {
	check(t, func(t *rapid.T) {
		set, call, spent := engine.NewSet(drawActive(t)), drawCall(t), counters(t)
		filled, other := *call, drawCall(t)
		var gaps toolcall.Gaps
		lose := func(name string, fill func(), gap ...string) {
			if rapid.Bool().Draw(t, "lose "+name) {
				gaps = append(gaps, gap)
				fill()
			}
		}
		lose("arguments", func() { filled.Args = other.Args }, "args")
		lose("agent", func() { filled.Agent = other.Agent }, "agent")
		lose("user", func() { filled.User.ID = other.User.ID }, "user", "id")
		lose("role", func() { filled.User.Role = other.User.Role }, "user", "role")
		lose("owner", func() { filled.Key.OwnerID = other.User.ID }, "key", "owner")
		lose("owner's role", func() { filled.Key.OwnerRole = other.User.Role }, "key", "role")
		call.Key.Alone = rapid.Bool().Draw(t, "alone")
		filled.Key.Alone = call.Key.Alone
		outlook := set.Outlook(call, gaps, exactly(spent))
		got := set.Evaluate(&filled, spent)
		if !outlook.Possible().Has(got.Verdict) {
			t.Fatalf("%s was ruled out, possible were %b", got.Verdict, outlook.Possible())
		}
		if got.ByRule() && !outlook.ByRules.Has(got.Verdict) || !got.ByRule() && !outlook.ByDefault.Has(got.Verdict) {
			t.Fatalf("%s by %q: %b by rules, %b by defaults", got.Verdict, got.Rule, outlook.ByRules, outlook.ByDefault)
		}
		for _, claim := range got.Claims {
			if !prediction(outlook.Claims, claim) {
				t.Fatalf("%+v was not foretold in %+v", claim, outlook.Claims)
			}
		}
	})
}

func prediction(claims []engine.DoubtfulClaim, made engine.Claim) bool {
	for _, c := range claims {
		if c.AnySubject {
			c.Subject = made.Subject
		}
		if c.Claim == made {
			return true
		}
	}
	return false
}

func TestTheOnlyVerdict(t *testing.T) {
	t.Parallel()
	var some engine.Verdicts
	if _, ok := some.Only(); ok {
		t.Error("no verdict is one")
	}
	some.Add(verdict.Ask)
	if one, ok := some.Only(); !ok || one != verdict.Ask {
		t.Errorf("%s %v", one, ok)
	}
	some.Add(verdict.Deny)
	if _, ok := some.Only(); ok {
		t.Error("two verdicts are one")
	}
}

// TestAFailedConditionIsForeseenPastALimit: to a caller that cannot confine, a rule whose condition fails
// denies, however much of its limit is spent.
func TestAFailedConditionIsForeseenPastALimit(t *testing.T) {
	t.Parallel()
	rule := confinedRule("c", verdict.Deny, "*")
	rule.When = "args.missing == 1"
	rule.Limit = &document.Limit{Calls: 1, Per: time.Hour, By: document.Agent}
	set := setOfRules(t, rule)
	spent := func(engine.LimitKey) (int64, error) { return 1, nil }
	call := &toolcall.Call{Server: "s", Tool: "t"}
	if got := set.Evaluate(call, spent); got.Verdict != verdict.Deny || got.Rule != "c" {
		t.Fatalf("%s by %q", got.Verdict, got.Rule)
	}
	outlook := set.Outlook(call, toolcall.Gaps{{"args"}}, exactly(spent))
	if !outlook.ByRules.Has(verdict.Deny) {
		t.Errorf("%b by rules", outlook.ByRules)
	}
}
