package engine

import (
	"cmp"
	"slices"

	"writ/internal/policy/document"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// defaultRule is the name that a policy's default goes by in decisions.
const defaultRule = "default"

// Set is the policies that are active together. It never changes, and may be
// used by many goroutines at once.
type Set struct {
	policies []*policy // by name, then id
	entries  []entry   // by effect, then policy, then rule: strictest first
	index    *index
}

// policy is an active policy with its bindings made quick to ask.
type policy struct {
	Active
	name                 string
	place                int // among the set's policies
	bound                bool
	users, agents, roles map[string]bool
}

// entry is a rule in a set. Its place in Set.entries is its precedence.
type entry struct {
	policy *policy
	rule   *rule
	said   string // what is said when it decides
}

// NewSet puts policies together. One without a Policy counts as one that denies
// everything, for nothing else can be said about it.
func NewSet(active []Active) *Set {
	s := &Set{}
	for _, a := range active {
		s.policies = append(s.policies, newPolicy(a))
	}
	slices.SortFunc(s.policies, func(a, b *policy) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Version, b.Version))
	})
	for place, p := range s.policies {
		p.place = place
		for i := range p.Policy.rules {
			s.entries = append(s.entries, entry{p, &p.Policy.rules[i], sentence(p, &p.Policy.rules[i])})
		}
	}
	slices.SortFunc(s.entries, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(a.rule.Effect, b.rule.Effect),
			cmp.Compare(a.policy.place, b.policy.place),
			cmp.Compare(a.rule.ID, b.rule.ID),
		)
	})
	s.index = newIndex(s.entries)
	return s
}

// nothing is what stands in for a policy that is missing.
var nothing = &Policy{document: &document.Document{Version: document.Version}}

func newPolicy(a Active) *policy {
	if a.Policy == nil {
		a.Policy = nothing
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

// setOf leaves out the empty text: who is not named is not bound.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		if name != "" {
			set[name] = true
		}
	}
	return set
}

// counts reports whether the policy is one for this caller.
func (p *policy) counts(call *toolcall.Call) bool {
	if !p.bound {
		return true
	}
	if key := &call.Key; p.users[key.OwnerID] || p.agents[key.ID] || p.roles[key.OwnerRole] {
		return true
	}
	return !call.Key.Alone && (p.users[call.User.ID] || p.agents[call.Agent.ID] || p.roles[call.User.Role])
}

// Active are the policies, and whether each counts for some callers only.
func (s *Set) Active(each func(a Active, bound bool)) {
	for _, p := range s.policies {
		each(p.Active, p.bound)
	}
}

// CountsForAgent reports whether any policy counts for an agent because it is bound
// to it.
func (s *Set) CountsForAgent(id string) bool {
	return slices.ContainsFunc(s.policies, func(p *policy) bool { return p.agents[id] })
}

// Bound reports whether any policy counts for some callers only: then who is
// named matters.
func (s *Set) Bound() bool {
	return slices.ContainsFunc(s.policies, func(p *policy) bool { return p.bound })
}

// strictestDefault is the first of the counting policies with the strictest
// default, or nil when no policy counts.
func (s *Set) strictestDefault(call *toolcall.Call) *policy {
	var strictest *policy
	for _, p := range s.policies {
		if (strictest == nil || p.fallback() < strictest.fallback()) && p.counts(call) {
			strictest = p
			if p.fallback() == verdict.Deny {
				break
			}
		}
	}
	return strictest
}

func (p *policy) fallback() verdict.Verdict { return p.Policy.document.Default }
