package engine

import (
	"cmp"
	"slices"

	"writ/internal/policy/document"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// DefaultRule is the name of a policy's default in decisions.
const DefaultRule = "default"

// Set is the policies that are active together. It never changes and is safe for
// concurrent use.
type Set struct {
	policies []*policy // by name, then id
	// confining are the rules as callers see them that can confine a call, others as the rest does.
	confining, others *ranking
	obliging          *ranking // those that demand something of whoever carries a call out; nil: none does
	readsIntent       bool
}

// ReadsIntent reports whether what a call is for makes a difference: a condition asks for it.
func (s *Set) ReadsIntent() bool { return s.readsIntent }

// ranking is the rules of a set as one kind of caller sees them.
type ranking struct {
	entries []entry // strictest effect first, then by policy, then by id
	index   *index
}

// seenBy is the rules as the caller sees them.
func (s *Set) seenBy(call *toolcall.Call) *ranking {
	if call.CanConfine {
		return s.confining
	}
	return s.others
}

// policy is an active policy with its bindings as sets.
type policy struct {
	Active
	name                 string
	rank                 int // among the set's policies
	bound                bool
	users, agents, roles map[string]bool
}

// entry is a rule in a set. Its position in ranking.entries is its precedence.
type entry struct {
	policy *policy
	rule   *rule
	effect verdict.Verdict // of the rule, or what it says otherwise
	// confines: the rule allows the call confined.
	confines bool
	// renamed: it is about the names that a harness gives to the rule's tools, not about the tools' own.
	renamed bool
	// failing: it matches only if the rule's condition fails.
	failing bool
	reason  string // why, when it decides
}

// NewSet puts policies together. One without a Policy denies everything, because
// nothing else is known about it.
func NewSet(active []Active) *Set {
	s := &Set{}
	for _, a := range active {
		s.policies = append(s.policies, newPolicy(a))
	}
	slices.SortFunc(s.policies, func(a, b *policy) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Version, b.Version))
	})
	confines := false
	for rank, p := range s.policies {
		p.rank = rank
		confines = confines || slices.ContainsFunc(p.Policy.rules, func(r rule) bool { return r.Confines() })
		s.readsIntent = s.readsIntent || slices.ContainsFunc(p.Policy.rules, readsIntent)
	}
	s.obliging = s.rankObliging()
	s.others = s.rank(false)
	if s.confining = s.others; confines {
		s.confining = s.rank(true)
	}
	return s
}

func readsIntent(r rule) bool {
	return r.condition != nil && r.condition.Concerns(toolcall.Gaps{{"intent"}})
}

// rank orders the rules for callers that can confine a call, or for those that cannot.
func (s *Set) rank(canConfine bool) *ranking {
	r := &ranking{}
	for _, p := range s.policies {
		for i := range p.Policy.rules {
			r.entries = append(r.entries, entriesOf(p, &p.Policy.rules[i], canConfine)...)
		}
	}
	slices.SortFunc(r.entries, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(a.effect, b.effect),
			confinedFirst(a.confines, b.confines),
			cmp.Compare(a.policy.rank, b.policy.rank),
			cmp.Compare(a.rule.ID, b.rule.ID),
		)
	})
	r.index = newIndex(r.entries)
	return r
}

// entriesOf are a rule's entries. One that confines is what it says otherwise to callers that cannot, and to all under
// names that a harness changed: there it may be about another tool, and must not allow it. If its condition fails, it
// restricts, although its effect is allow: it was written to limit the call.
func entriesOf(p *policy, r *rule, canConfine bool) []entry {
	if !r.Confines() {
		return []entry{{policy: p, rule: r, effect: r.Effect, reason: ruleReason(p, r, r.Effect)}}
	}
	entries := []entry{{
		policy:  p,
		rule:    r,
		effect:  r.Otherwise,
		reason:  otherwiseReason(p, r),
		renamed: canConfine,
	}}
	if r.condition != nil && (canConfine || r.Otherwise == verdict.Allow) {
		entries = append(entries, failingEntry(p, r))
	}
	if canConfine {
		confined := entry{policy: p, rule: r, effect: r.Effect, reason: confinedReason(p, r)}
		confined.confines = true
		entries = append(entries, confined)
	}
	return entries
}

// failingEntry is what a rule that confines does if its condition fails.
func failingEntry(p *policy, r *rule) entry {
	effect := r.Otherwise
	if effect == verdict.Allow {
		effect = verdict.Deny
	}
	return entry{
		policy:  p,
		rule:    r,
		effect:  effect,
		reason:  ruleReason(p, r, effect),
		failing: true,
	}
}

// confinedFirst puts what confines before what does not.
func confinedFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// denyAll stands in for a policy that is missing.
var denyAll = &Policy{document: &document.Document{Version: document.Version}}

func newPolicy(a Active) *policy {
	if a.Policy == nil {
		a.Policy = denyAll
	}
	b := a.Bindings
	return &policy{
		Active: a,
		name:   a.Policy.document.Name,
		bound:  len(b.Users)+len(b.Agents)+len(b.Roles) > 0,
		users:  setOf(b.Users),
		agents: setOf(b.Agents),
		roles:  setOf(b.Roles),
	}
}

// setOf leaves out the empty string: a caller without a name is not bound.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		if name != "" {
			set[name] = true
		}
	}
	return set
}

func (p *policy) appliesTo(call *toolcall.Call, gaps toolcall.Gaps) tristate {
	if !p.bound {
		return yes
	}
	return p.boundTo(call, gaps)
}

func (p *policy) boundTo(call *toolcall.Call, gaps toolcall.Gaps) tristate {
	unknown := false
	has := func(names map[string]bool, name, of, member string) bool {
		if len(names) == 0 {
			return false
		}
		if len(gaps) > 0 && gaps.Cover(of, member) {
			unknown = true
			return false
		}
		return names[name]
	}
	key, user := &call.Key, &call.User
	byKey := has(p.users, key.OwnerID, "key", "owner") || has(p.agents, key.ID, "key", "id") ||
		has(p.agents, key.AgentID, "key", "agent") || has(p.roles, key.OwnerRole, "key", "role")
	if byKey || !key.Alone && (has(p.users, user.ID, "user", "id") || has(p.agents, call.Agent.ID, "agent", "id") ||
		has(p.roles, user.Role, "user", "role")) {
		return yes
	}
	if unknown {
		return maybe
	}
	return no
}

// Active calls each for every policy, and says whether it is bound to some callers.
func (s *Set) Active(each func(a Active, bound bool)) {
	for _, p := range s.policies {
		each(p.Active, p.bound)
	}
}

// BindsAgent reports whether any policy is bound to an agent.
func (s *Set) BindsAgent(id string) bool {
	return slices.ContainsFunc(s.policies, func(p *policy) bool { return p.agents[id] })
}

// Bound reports whether any policy is bound to some callers, so that it matters
// who calls.
func (s *Set) Bound() bool {
	return slices.ContainsFunc(s.policies, func(p *policy) bool { return p.bound })
}

// strictestDefault is the first policy with the strictest default among those that
// apply to the caller, or nil if none does. Doubtful are the defaults of policies
// that may apply.
func (s *Set) strictestDefault(call *toolcall.Call, gaps toolcall.Gaps) (strictest *policy, doubtful Verdicts) {
	for _, p := range s.policies {
		if strictest != nil && p.fallback() >= strictest.fallback() {
			continue
		}
		switch p.appliesTo(call, gaps) {
		case yes:
			strictest = p
		case maybe:
			doubtful.Add(p.fallback())
		}
	}
	return strictest, doubtful
}

// sharesDefault reports whether another policy that applies to the caller has the default of p.
func (s *Set) sharesDefault(p *policy, call *toolcall.Call) bool {
	return slices.ContainsFunc(s.policies, func(other *policy) bool {
		return other != p && other.fallback() == p.fallback() && other.appliesTo(call, nil) == yes
	})
}

func (p *policy) fallback() verdict.Verdict { return p.Policy.document.Default }
