package engine

import (
	"writ/internal/policy/document"
	"writ/internal/policy/expression"
	"writ/internal/toolcall"
)

// Attempt is what a rule's condition comes to for one call, whatever its limit
// says and whoever the policy counts for.
type Attempt struct {
	Rule  *document.Rule // must not be changed
	Holds bool
	Known bool // whether what is missing of the call leaves but one answer
	Err   error
	Work  uint64 // that it took
}

// Attempts tries the conditions of a policy's rules on calls.
type Attempts struct{ set *Set }

// NewAttempts makes a policy's conditions ready to be tried.
func NewAttempts(p *Policy) *Attempts { return &Attempts{NewSet([]Active{{Policy: p}})} }

// Each tries every rule that names the call's tool, until it is told that this is
// enough. Each has the work of a whole decision to itself: what one takes must not
// look like the failure of another.
func (a *Attempts) Each(call *toolcall.Call, gaps toolcall.Gaps, tell func(Attempt) (more bool)) {
	server, tool := call.Name()
	rules := newMerge(a.set.index.find(server, tool, nil))
	for place, more := rules.next(); more; place, more = rules.next() {
		r := a.set.entries[place].rule
		attempt := Attempt{Rule: r.Rule, Holds: true, Known: true}
		if r.condition != nil {
			input := expression.NewPartial(call, gaps)
			attempt.Holds, attempt.Known, attempt.Err = r.condition.EvalPartial(input)
			attempt.Work = input.Work()
		}
		if !tell(attempt) {
			return
		}
	}
}

// Bound tells for whose calls a policy counts.
type Bound struct{ policy *policy }

// NewBound makes one of a policy's bindings.
func NewBound(b Bindings) Bound { return Bound{newPolicy(Active{Bindings: b})} }

// ForAll reports whether the policy counts whoever calls.
func (b Bound) ForAll() bool { return !b.policy.bound }

// Certainly reports whether the policy counts for who made the call, whatever the
// gaps hold.
func (b Bound) Certainly(call *toolcall.Call, gaps toolcall.Gaps) bool {
	return b.policy.perhapsCounts(call, gaps) == yes
}

// unsaid is all that conditions can see beside the names of server and tool.
var unsaid = toolcall.Gaps{
	{"args"}, {"agent"}, {"user"}, {"org"}, {"session"}, {"intent"}, {"labels"}, {"environment"}, {"now"}, {"paths"},
}

// Settled is what the condition of the policy's i-th rule comes to for every call,
// where that is the same for all, and the work of finding out. A rule without one
// always holds.
func (p *Policy) Settled(i int) (holds, settled bool, work uint64) {
	return p.settled(i, &toolcall.Call{}, append(toolcall.Gaps{{"server"}, {"tool"}}, unsaid...))
}

// SettledFor is what it comes to for every call of one tool.
func (p *Policy) SettledFor(i int, server, tool string) (holds, settled bool, work uint64) {
	return p.settled(i, &toolcall.Call{Server: server, Tool: tool}, unsaid)
}

func (p *Policy) settled(i int, call *toolcall.Call, gaps toolcall.Gaps) (holds, settled bool, work uint64) {
	condition := p.rules[i].condition
	if condition == nil {
		return true, true, 0
	}
	input := expression.NewPartial(call, gaps)
	holds, known, err := condition.EvalPartial(input)
	return holds, known && err == nil, input.Work()
}
