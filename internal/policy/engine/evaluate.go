package engine

import (
	"writ/internal/policy/expression"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// maxFailures is how many failed conditions a decision lists.
const maxFailures = 20

// Evaluate decides about a call. It asks spent only about limits of rules that
// otherwise match; without a function to ask, all limits count as spent.
func (s *Set) Evaluate(call *toolcall.Call, spent Spent) Decision {
	return s.decide(call, spent, nil)
}

// decide goes through the rules that name the tool, strictest first. The first
// that matches decides, and is the one to be named, for rules of one effect are
// in the order of names. After that only what must be counted is looked at: with
// a deny nothing, otherwise rules with a limit of calls.
//
// What it does with each rule it tells watch, if there is one.
func (s *Set) decide(call *toolcall.Call, spent Spent, watch func(*entry, finding)) Decision {
	if call.Tool == "" {
		return Decision{Ruling: verdict.Ruling{Reason: "the call names no tool"}}
	}
	var room [usualLists][]int32
	server, tool := call.Name()
	rules := newMerge(s.index.find(server, tool, room[:0]))
	input := expression.NewInput(call)
	var d Decision
	decided := false
	for {
		place, more := rules.next()
		if !more {
			break
		}
		e := &s.entries[place]
		if !e.policy.counts(call) || decided && !e.claims() {
			continue
		}
		f := e.judge(input, call, spent)
		if watch != nil {
			watch(e, f)
		}
		if f.failed != nil && len(d.Failed) < maxFailures {
			d.Failed = append(d.Failed, Failure{PolicyID: e.policy.ID, Rule: e.rule.ID, Error: f.failed.Error()})
		}
		if claim, ok := f.used.claim(); ok && f.holds {
			d.Claims = append(d.Claims, claim)
		}
		if f.matches && !decided {
			decided = true
			d.decideBy(e, f)
			if d.Verdict == verdict.Deny {
				break
			}
		}
	}
	if !decided {
		s.decideByDefault(&d, call)
	}
	if d.Verdict == verdict.Deny {
		d.Claims = nil // it does not run
	}
	return d
}

// finding is what one rule says about a call.
type finding struct {
	holds   bool  // the condition, or there is none
	failed  error // the condition, or the counter of the limit
	limited bool  // used was asked
	used    used
	matches bool
}

// judge evaluates a rule that names the tool. A condition that fails makes it
// match unless it would allow.
func (e *entry) judge(input *expression.Input, call *toolcall.Call, spent Spent) finding {
	allows := e.rule.Effect == verdict.Allow
	f := finding{holds: true}
	if e.rule.condition != nil {
		f.holds, f.failed = e.rule.condition.EvalInput(input)
		if f.failed != nil {
			f.holds = false
			f.matches = !allows
			return f
		}
	}
	if !f.holds || e.rule.Limit == nil {
		f.matches = f.holds
		return f
	}
	f.limited = true
	f.used = ask(spent, e, call)
	f.failed = f.used.failure()
	f.matches = f.used.spent() != allows
	return f
}

// claims reports whether the rule takes from a limit of calls, whoever decides.
func (e *entry) claims() bool { return e.rule.Limit != nil && e.rule.Limit.Calls > 0 }

func (d *Decision) decideBy(e *entry, f finding) {
	d.Verdict = e.rule.Effect
	d.PolicyID, d.PolicyName, d.PolicyVersion = e.policy.ID, e.policy.name, e.policy.Version
	d.Rule = e.rule.ID
	d.Message = e.rule.Message
	if d.Verdict == verdict.Hold {
		d.Approvers = e.rule.Approvers
	}
	d.Reason = reason(e, f)
}

func (s *Set) decideByDefault(d *Decision, call *toolcall.Call) {
	p := s.strictestDefault(call)
	if p == nil {
		d.Reason = noPolicy
		return
	}
	d.Verdict = p.fallback()
	d.PolicyID, d.PolicyName, d.PolicyVersion = p.ID, p.name, p.Version
	d.Rule = defaultRule
	d.Reason = defaultReason(p)
}
