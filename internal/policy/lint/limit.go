package lint

import (
	"fmt"
	"slices"

	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// findLimits finds a limit that never stops a call, because something else lets the
// call through or stops it before.
func (r *reader) findLimits(i int) {
	rule := &r.doc.Rules[i]
	if rule.Limit == nil {
		return
	}
	add := func(message, fix string) { r.add(Contradictory, r.doc.ProblemIn(i, "limit", message), fix) }
	if rule.Effect == verdict.Allow && r.defaultForSome == verdict.Allow {
		add("never stops a call: once it is spent, the default allows",
			"make the default ask, hold or deny, or the rule a deny, which matches once the limit is spent")
		return
	}
	if by, ok := r.unlimited(rule); ok {
		add(fmt.Sprintf("changes nothing: %s, which has no limit, decides %s for the same calls", by, by.rule.Effect),
			"remove one of the two rules, or narrow the other one")
		return
	}
	for j := range r.doc.Rules {
		if r.left <= 0 {
			return
		}
		other := &r.doc.Rules[j]
		if j == i || other.Limit == nil || other.Confine != nil || rule.Confine != nil || !r.sameCalls(j, rule) {
			continue
		}
		if message, fix := pointless(rule, other, func() bool {
			return r.coversAll(rule.Tools, other.Tools)
		}); message != "" {
			add(message, fix)
			return
		}
	}
}

// unlimited is a rule without a limit that has the same effect on all the rule's calls.
func (r *reader) unlimited(rule *document.Rule) (by source, ok bool) {
	for _, pattern := range rule.Tools {
		by, ok = r.covering(pattern, func(s source) bool { return s.policy == "" && sameEffect(s.rule, rule) })
		if !ok {
			return source{}, false
		}
	}
	return by, ok
}

// sameEffect reports whether two rules say the same to every caller.
func sameEffect(a, b *document.Rule) bool {
	return a.Effect == b.Effect && a.Confine == nil && b.Confine == nil
}

// sameCalls reports whether the policy's j-th rule is about every call of another rule.
func (r *reader) sameCalls(j int, rule *document.Rule) bool {
	other := &r.doc.Rules[j]
	if r.left--; r.settled[j] != always && other.When != rule.When {
		return false
	}
	return r.coversAll(other.Tools, rule.Tools)
}

// coversAll reports whether each of the others is covered by one of the patterns.
func (r *reader) coversAll(patterns, others []document.Pattern) bool {
	return !slices.ContainsFunc(others, func(other document.Pattern) bool {
		return !slices.ContainsFunc(patterns, func(pattern document.Pattern) bool {
			r.left--
			return r.left > 0 && pattern.Matches(other.Split())
		})
	})
}

// pointless returns why the limit of a rule never counts because of another rule that
// is about all its calls. Equal reports whether both are about the same calls.
func pointless(rule, other *document.Rule, equal func() bool) (message, fix string) {
	a, b := rule.Limit, other.Limit
	unit, most := amountOf(a)
	otherUnit, otherMost := amountOf(b)
	if unit != otherUnit {
		return "", ""
	}
	if rule.Effect == verdict.Allow && other.Effect == verdict.Allow {
		twins := a.Per == b.Per && a.By == b.By && most <= otherMost && equal()
		if twins && (most < otherMost || rule.ID > other.ID) {
			return fmt.Sprintf("never stops a call: once it is spent, rule %s still allows, whose limit is not lower",
					other.ID),
				"keep the limit you meant, or make this rule a deny, which matches once the limit is spent"
		}
		return "", ""
	}
	// What is spent in a window is also spent in every longer window around it.
	first := other.Effect <= rule.Effect && b.Per%a.Per == 0 && (b.By == a.By || b.By == document.Organization) &&
		otherMost <= most
	same := a.Per == b.Per && a.By == b.By && most == otherMost && other.Effect == rule.Effect
	if first && (!same || rule.ID > other.ID || !equal()) {
		return fmt.Sprintf("is never reached: that of rule %s is spent first, and decides %s", other.ID, other.Effect),
			"lower this limit, raise the other, or remove one of the two"
	}
	return "", ""
}

func amountOf(l *document.Limit) (unit string, most int64) {
	switch {
	case l.Calls > 0:
		return "calls", l.Calls
	case l.Cost > 0:
		return "cost", l.Cost
	}
	return "tokens", l.Tokens
}
