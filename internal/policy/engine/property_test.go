package engine_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"writ/internal/confine"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/expression"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func TestAnAddedDenyNeverLoosens(t *testing.T) {
	check(t, func(t *rapid.T) {
		active, call, spent := drawActive(t), drawCall(t), counters(t)
		before := engine.NewSet(active).Evaluate(call, spent)

		deny := drawRule(t, "deny")
		deny.Effect, deny.Approvers, deny.Confine, deny.Otherwise = verdict.Deny, nil, nil, verdict.Deny
		if len(active) == 0 {
			return // a first policy is not an addition to one
		}
		i := rapid.IntRange(0, len(active)-1).Draw(t, "into")
		doc := *active[i].Policy.Document()
		doc.Rules = append(slices.Clone(doc.Rules), deny)
		active[i].Policy = compile(t, &doc)
		after := engine.NewSet(active).Evaluate(call, spent)
		if after.Verdict > before.Verdict {
			t.Fatalf("%s became %s", before.Verdict, after.Verdict)
		}
	})
}

// TestAnAddedConfinementNeverLoosens: a rule that confines takes from what is allowed without it, for callers that can
// and for those that cannot.
func TestAnAddedConfinementNeverLoosens(t *testing.T) {
	check(t, func(t *rapid.T) {
		active, call, spent := drawActive(t), drawCall(t), counters(t)
		before := engine.NewSet(active).Evaluate(call, spent)
		if len(active) == 0 || !before.ByRule() {
			return // a rule goes before a default
		}
		added := drawRule(t, "added")
		added.Effect, added.Approvers, added.Confine = verdict.Allow, nil, &confine.Limits{Write: []string{"/srv"}}
		i := rapid.IntRange(0, len(active)-1).Draw(t, "into")
		doc := *active[i].Policy.Document()
		doc.Rules = append(slices.Clone(doc.Rules), added)
		active[i].Policy = compile(t, &doc)
		after := engine.NewSet(active).Evaluate(call, spent)
		if before.StricterThan(&after) {
			t.Fatalf("%s (%v) became %s (%v)", before.Verdict, before.Confine, after.Verdict, after.Confine)
		}
		if before.Confine != nil && after.Confine != nil && !after.Confine.Within(*before.Confine) {
			t.Fatalf("%v became %v", before.Confine, after.Confine)
		}
		if after.Confine != nil && !call.CanConfine {
			t.Fatal("a caller that cannot confine is asked to")
		}
	})
}

func TestOrderMeansNothing(t *testing.T) {
	check(t, func(t *rapid.T) {
		active, call, spent := drawActive(t), drawCall(t), counters(t)
		want := engine.NewSet(active).Evaluate(call, spent)

		var other []engine.Active
		for _, a := range shuffled(t, active) {
			doc := *a.Policy.Document()
			doc.Rules = shuffled(t, doc.Rules)
			for i := range doc.Rules {
				doc.Rules[i].Tools = shuffled(t, doc.Rules[i].Tools)
			}
			a.Policy = compile(t, &doc)
			other = append(other, a)
		}
		got := engine.NewSet(other).Evaluate(call, spent)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("another order decides otherwise:\n%s", diff)
		}
	})
}

// TestSameAsALinearScan holds the index, the order of evaluation and what it
// leaves out against the meaning of policies written down as plainly as can be.
func TestSameAsALinearScan(t *testing.T) {
	check(t, func(t *rapid.T) {
		active, call, spent := drawActive(t), drawCall(t), counters(t)
		got := engine.NewSet(active).Evaluate(call, spent)
		want := scan(t, active, call, spent)
		ignore := cmpopts.IgnoreFields(engine.Decision{}, "Reason", "Failed")
		if diff := gocmp.Diff(want, got, ignore, cmpopts.SortSlices(claimBefore), cmpopts.EquateEmpty(),
			cmpopts.SortSlices(strings.Compare)); diff != "" {
			t.Fatalf("differs from a scan:\n%s", diff)
		}
		if got.Reason == "" {
			t.Fatalf("there is no reason")
		}
	})
}

func TestExplanationAgrees(t *testing.T) {
	check(t, func(t *rapid.T) {
		active, call, spent := drawActive(t), drawCall(t), counters(t)
		set := engine.NewSet(active)
		want := set.Evaluate(call, spent)
		x := set.Explain(call, spent)
		if diff := gocmp.Diff(want, x.Decision); diff != "" {
			t.Fatalf("Explain decides otherwise:\n%s", diff)
		}
		strictest, decided := verdict.Allow+1, 0
		for _, r := range x.Rules {
			if r.Pattern == "" || r.Matched && r.Effect < verdict.Allow && r.Outcome == engine.False {
				t.Fatalf("%+v is no explanation", r)
			}
			if r.Matched {
				strictest = min(strictest, r.Effect)
			}
			if r.Decided {
				decided++
				if r.Effect != want.Verdict || r.Rule != want.Rule || r.PolicyID != want.PolicyID {
					t.Fatalf("%s is said to have decided, not %s", r.Rule, want.Rule)
				}
			}
		}
		byRule := want.Rule != "" && want.Rule != "default"
		if byRule && (decided != 1 || strictest != want.Verdict) ||
			!byRule && (decided != 0 || strictest <= verdict.Allow && call.Tool != "") {
			t.Fatalf("%d rules decided and the strictest says %s, but the decision is %s by %q", decided, strictest,
				want.Verdict, want.Rule)
		}
	})
}

// scan decides by looking at every pattern of every rule of every policy.
func scan(t *rapid.T, active []engine.Active, call *toolcall.Call, spent engine.Spent) engine.Decision {
	if call.Tool == "" {
		return engine.Decision{}
	}
	var matching []engine.Decision
	var claims []engine.Claim
	for _, a := range active {
		if !counts(a.Bindings, call) {
			continue
		}
		doc := a.Policy.Document()
		by := engine.Decision{Ruling: verdict.Ruling{PolicyID: a.ID, PolicyName: doc.Name, PolicyVersion: a.Version}}
		for _, r := range doc.Rules {
			matches, claim := judge(t, a.ID, r, call, spent)
			claims = append(claims, claim...)
			if r.Confine != nil && fails(t, r, call) {
				d := by
				d.Verdict, d.Rule, d.Approvers, d.Demanded = r.Otherwise, r.ID, r.Approvers, r.Confine
				if r.Otherwise == verdict.Allow {
					d.Verdict = verdict.Deny
				}
				matching = append(matching, d)
			}
			if matches {
				d := by
				d.Verdict, d.Rule, d.Approvers = r.Effect, r.ID, r.Approvers
				switch {
				case r.Confine == nil:
				case call.CanConfine:
					d.Confine = r.Confine
				default:
					d.Verdict, d.Demanded = r.Otherwise, r.Confine
				}
				matching = append(matching, d)
			}
		}
	}
	if len(matching) == 0 {
		for _, a := range active {
			if counts(a.Bindings, call) {
				doc := a.Policy.Document()
				matching = append(matching, engine.Decision{
					Ruling: verdict.Ruling{
						PolicyID:      a.ID,
						PolicyName:    doc.Name,
						PolicyVersion: a.Version,
						Verdict:       doc.Default,
						Rule:          "default",
					},
				})
			}
		}
	}
	if len(matching) == 0 {
		return engine.Decision{}
	}
	d := slices.MinFunc(matching, func(a, b engine.Decision) int {
		return cmp.Or(cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(unconfined(a), unconfined(b)),
			cmp.Compare(a.PolicyName, b.PolicyName), cmp.Compare(a.PolicyID, b.PolicyID), cmp.Compare(a.Rule, b.Rule))
	})
	if d.Confine != nil {
		for _, other := range matching {
			if other.Confine != nil {
				both := d.Confine.Intersect(*other.Confine)
				d.Confine = &both
			}
		}
	}
	if d.Verdict != verdict.Deny {
		d.Claims = claims
	}
	return d
}

func unconfined(d engine.Decision) int {
	if d.Confine != nil {
		return 0
	}
	return 1
}

func counts(b engine.Bindings, call *toolcall.Call) bool {
	is := func(list []string, id string) bool { return id != "" && slices.Contains(list, id) }
	return len(b.Users)+len(b.Agents)+len(b.Roles) == 0 ||
		is(b.Users, call.User.ID) || is(b.Agents, call.Agent.ID) || is(b.Roles, call.User.Role)
}

// fails reports whether a rule that covers the call has a condition that fails.
func fails(t *rapid.T, r document.Rule, call *toolcall.Call) bool {
	covered := slices.ContainsFunc(r.Tools, func(p document.Pattern) bool {
		return covers(string(p), call.Server+"."+call.Tool)
	})
	if !covered || r.When == "" {
		return false
	}
	condition, problem := expression.Compile(r.When)
	if problem != nil {
		t.Fatalf("%s: %v", r.When, problem)
	}
	_, err := condition.Eval(call)
	return err != nil
}

func judge(
	t *rapid.T, policyID string, r document.Rule, call *toolcall.Call, spent engine.Spent,
) (bool, []engine.Claim) {
	covered := slices.ContainsFunc(r.Tools, func(p document.Pattern) bool {
		return covers(string(p), call.Server+"."+call.Tool)
	})
	if !covered {
		return false, nil
	}
	if r.When != "" {
		condition, problem := expression.Compile(r.When)
		if problem != nil {
			t.Fatalf("%s: %v", r.When, problem)
		}
		holds, err := condition.Eval(call)
		if err != nil {
			return r.Effect != verdict.Allow, nil
		}
		if !holds {
			return false, nil
		}
	}
	if r.Limit == nil {
		return true, nil
	}
	key := engine.LimitKey{PolicyID: policyID, RuleID: r.ID, By: r.Limit.By, Per: 3600}
	key.Window = call.Now.UTC().Truncate(r.Limit.Per).Unix()
	key.Subject = map[document.Subject]string{
		document.Agent: call.Agent.ID, document.Session: call.Session.ID, document.User: call.User.ID,
		document.Organization: call.Org.ID,
	}[r.Limit.By]
	key.Unit = engine.Tokens
	if r.Limit.Calls > 0 {
		key.Unit = engine.Calls
	} else if r.Limit.Cost > 0 {
		key.Unit = engine.Cost
	}
	used, err := spent(key)
	isSpent := err != nil || used >= 10
	var claim []engine.Claim
	if !isSpent && key.Unit == engine.Calls {
		claim = []engine.Claim{{LimitKey: key, Max: 10}}
	}
	return isSpent != (r.Effect == verdict.Allow), claim
}

// covers is the meaning of patterns by trying every length of what a star may
// stand for.
func covers(pattern, joined string) bool {
	if pattern == "*" {
		return true
	}
	ps, pt, _ := strings.Cut(pattern, ".")
	s, t, _ := strings.Cut(joined, ".")
	return fits(ps, s) && fits(pt, t)
}

func fits(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return fits(pattern[1:], text) || text != "" && fits(pattern, text[1:])
	}
	return text != "" && pattern[0] == text[0] && fits(pattern[1:], text[1:])
}

func claimBefore(a, b engine.Claim) bool {
	return cmp.Or(cmp.Compare(a.PolicyID, b.PolicyID), cmp.Compare(a.RuleID, b.RuleID)) < 0
}
