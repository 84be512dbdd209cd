package engine

import (
	"cmp"
	"slices"

	"writ/internal/policy/document"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// defaultRule is the name of a policy's default in decisions.
const defaultRule = "default"

// Set is the policies that are active together. It never changes and is safe for
// concurrent use.
type Set struct {
	policies []*policy // by name, then id
	entries  []entry   // strictest effect first, then by policy, then by id
	index    *index
}

// policy is an active policy with its bindings as sets.
type policy struct {
	Active
	name                 string
	rank                 int // among the set's policies
	bound                bool
	users, agents, roles map[string]bool
}

// entry is a rule in a set. Its position in Set.entries is its precedence.
type entry struct {
	policy *policy
	rule   *rule
	reason string // why, when it decides
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
	for rank, p := range s.policies {
		p.rank = rank
		for i := range p.Policy.rules {
			s.entries = append(s.entries, entry{p, &p.Policy.rules[i], ruleReason(p, &p.Policy.rules[i])})
		}
	}
	slices.SortFunc(s.entries, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(a.rule.Effect, b.rule.Effect),
			cmp.Compare(a.policy.rank, b.policy.rank),
			cmp.Compare(a.rule.ID, b.rule.ID),
		)
	})
	s.index = newIndex(s.entries)
	return s
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

func (p *policy) fallback() verdict.Verdict { return p.Policy.document.Default }
