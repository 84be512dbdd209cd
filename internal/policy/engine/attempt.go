package engine

import (
	"iter"
	"slices"

	"writ/internal/policy/document"
	"writ/internal/policy/expression"
	"writ/internal/toolcall"
)

// Attempt is what a rule's condition comes to for one call, whatever its limit
// says and whoever its policy applies to.
type Attempt struct {
	Rule  *document.Rule // must not be changed
	Holds bool
	Known bool // false if the answer depends on parts of the call that are unknown
	Err   error
	Work  uint64 // how much it took
}

// Attempts evaluates the conditions of a policy's rules one by one.
type Attempts struct{ set *Set }

// NewAttempts prepares a policy's conditions.
func NewAttempts(p *Policy) *Attempts { return &Attempts{NewSet([]Active{{Policy: p}})} }

// On evaluates every rule that names the call's tool. Each has the work of a whole
// decision to itself, so that what one takes does not look like the failure of
// another.
func (a *Attempts) On(call *toolcall.Call, gaps toolcall.Gaps) iter.Seq[Attempt] {
	return func(yield func(Attempt) bool) {
		for e := range a.set.candidates(call, nil) {
			attempt := e.rule.attempt(call, gaps)
			if !yield(attempt) {
				return
			}
		}
	}
}

func (r *rule) attempt(call *toolcall.Call, gaps toolcall.Gaps) Attempt {
	a := Attempt{Rule: r.Rule, Holds: true, Known: true}
	if r.condition != nil {
		input := expression.NewPartial(call, gaps)
		a.Holds, a.Known, a.Err = r.condition.EvalPartial(input)
		a.Work = input.Work()
	}
	return a
}

// Bound tells to whose calls a policy applies.
type Bound struct{ policy *policy }

// NewBound makes one from a policy's bindings.
func NewBound(b Bindings) Bound { return Bound{newPolicy(Active{Bindings: b})} }

// ForAll reports whether the policy applies to everybody.
func (b Bound) ForAll() bool { return !b.policy.bound }

// Certainly reports whether the policy applies to the caller, whatever fills the
// gaps.
func (b Bound) Certainly(call *toolcall.Call, gaps toolcall.Gaps) bool {
	return b.policy.appliesTo(call, gaps) == yes
}

// unnamed is all that conditions can see of a call beside its server and tool.
var unnamed = slices.Concat(unmade, toolcall.Gaps{{"agent"}, {"user"}, {"org"}, {"environment"}})

// Settled evaluates the condition of the policy's i-th rule for every call at once.
// It is settled if the answer is the same for all; a rule without a condition
// always holds.
func (p *Policy) Settled(i int) (holds, settled bool, work uint64) {
	return p.settled(i, &toolcall.Call{}, slices.Concat(unnamed, toolcall.Gaps{{"server"}, {"tool"}}))
}

// SettledFor is Settled for every call of one tool.
func (p *Policy) SettledFor(i int, server, tool string) (holds, settled bool, work uint64) {
	return p.settled(i, &toolcall.Call{Server: server, Tool: tool}, unnamed)
}

func (p *Policy) settled(i int, call *toolcall.Call, gaps toolcall.Gaps) (holds, settled bool, work uint64) {
	a := p.rules[i].attempt(call, gaps)
	return a.Holds, a.Known && a.Err == nil, a.Work
}
