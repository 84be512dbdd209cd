package engine

import (
	"writ/internal/policy/document"
	"writ/internal/policy/expression"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Foresight is what can be said about a tool before it is called.
type Foresight struct {
	Decision
	// Certain is whether every call of this caller to this tool gets this
	// verdict, whatever its arguments, its hour and what limits have spent.
	Certain bool
}

// Foresee says what the set makes of a caller's calls to a tool. Where it is not
// certain, the decision is the one without the rules that depend on the call.
func (s *Set) Foresee(caller *toolcall.Call) Foresight {
	if caller.Tool == "" {
		return Foresight{s.decide(caller, nil, nil), true}
	}
	var room [usualLists][]int32
	server, tool := caller.Name()
	rules := newMerge(s.index.find(server, tool, room[:0]))
	input, outline := expression.NewInput(caller), expression.NewOutline(caller)
	var d Decision
	var open [verdict.Allow + 1]bool // effects of rules that depend on the call
	for {
		place, more := rules.next()
		if !more {
			s.decideByDefault(&d, caller)
			break
		}
		e := &s.entries[place]
		if !e.policy.counts(caller) {
			continue
		}
		if !e.foreseeable() {
			open[e.rule.Effect] = open[e.rule.Effect] || !e.excludes(outline)
			continue
		}
		if f := e.judge(input, caller, nil); f.matches {
			d.decideBy(e, f)
			break
		}
	}
	return Foresight{d, certain(d, open)}
}

// Approvers are what rules want of who approves a caller's calls to a tool, whichever
// of the rules a call would meet. A rule that wants nothing of its own is left out.
func (s *Set) Approvers(caller *toolcall.Call) (wanted []document.Approvers) {
	var room [usualLists][]int32
	server, tool := caller.Name()
	rules := newMerge(s.index.find(server, tool, room[:0]))
	for {
		place, more := rules.next()
		if !more {
			return wanted
		}
		e := &s.entries[place]
		if e.policy.counts(caller) && e.rule.Effect == verdict.Hold && e.rule.Approvers != nil {
			wanted = append(wanted, *e.rule.Approvers)
		}
	}
}

// foreseeable reports whether a rule that names the tool says the same of every
// call.
func (e *entry) foreseeable() bool {
	return e.rule.Limit == nil && (e.rule.condition == nil || e.rule.condition.Foreseeable())
}

// excludes reports whether the rule's condition is false for every call that the
// outline is of: it names another tool or agent, whatever else it asks for.
func (e *entry) excludes(outline *expression.Input) bool {
	if e.rule.condition == nil {
		return false
	}
	holds, err := e.rule.condition.EvalInput(outline)
	return err == nil && !holds
}

// certain reports whether none of the rules left open can change the verdict. A
// rule that decided is changed by stricter ones only, a default by all.
func certain(d Decision, open [verdict.Allow + 1]bool) bool {
	byRule := d.Rule != defaultRule
	for effect := range open {
		other := verdict.Verdict(effect)
		if open[effect] && other != d.Verdict && (other < d.Verdict || !byRule) {
			return false
		}
	}
	return true
}
