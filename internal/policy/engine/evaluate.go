package engine

import (
	"strings"

	"writ/internal/policy/expression"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

const maxFailures = 20

// Evaluate decides about a call. It calls spent only for limits of rules that
// otherwise match; if spent is nil, all limits count as spent.
func (s *Set) Evaluate(call *toolcall.Call, spent Spent) Decision {
	return s.decide(call, spent, nil)
}

// decide lets the first candidate that matches decide. After that it only looks
// at what must be counted or narrows the answer: rules with a limit of calls, rules that
// confine after one that does, or nothing after a deny.
//
// It reports the result of each rule to watch, if that is not nil.
func (s *Set) decide(call *toolcall.Call, spent Spent, watch func(*entry, result)) Decision {
	if call.Tool == "" {
		return Decision{Ruling: verdict.Ruling{Reason: noTool}}
	}
	input := expression.NewInput(call)
	var d Decision
	decided := false
	exhausted := "" // why the first rule that would allow the call, but for its limit, does not
	for e, applies := range s.candidates(call, nil) {
		if applies == no || decided && !e.claims() && !(e.confines && d.Confine != nil) {
			continue
		}
		r := e.judge(input, call, spent)
		if watch != nil {
			watch(e, r)
		}
		if r.failed != nil && !e.failsElsewhere() && len(d.Failed) < maxFailures {
			d.Failed = append(d.Failed, Failure{PolicyID: e.policy.ID, Rule: e.rule.ID, Error: r.failed.Error()})
		}
		if claim, ok := r.usage.claim(); ok && r.holds {
			d.Claims = append(d.Claims, claim)
		}
		if exhausted == "" && !r.matches && r.limited && e.rule.Effect == verdict.Allow {
			exhausted = r.exhausted(e)
		}
		switch {
		case !r.matches:
		case !decided:
			decided = true
			d.decideBy(e, r)
		case e.confines && d.Confine != nil:
			d.Confine = Narrower(d.Confine, e.rule.Confine)
		}
		if decided && d.Verdict == verdict.Deny {
			break
		}
	}
	if !decided {
		s.decideByNoRule(&d, call)
		if exhausted != "" && d.Verdict != verdict.Allow {
			d.Reason = exhausted + "; " + strings.Replace(d.Reason, "no rule", "no other rule", 1)
		}
	}
	s.oblige(&d, call, input)
	if d.Verdict == verdict.Deny {
		d.Claims = nil // the call does not run
	}
	return d
}

// decideByNoRule lets the strictest default decide.
func (s *Set) decideByNoRule(d *Decision, call *toolcall.Call) {
	p, _ := s.strictestDefault(call, nil)
	d.decideByDefault(p)
	if p != nil && s.sharesDefault(p, call) {
		d.Reason = sharedDefaultReason(p)
	}
	if p != nil && d.Verdict != verdict.Allow && call.Server == toolname.Local && strings.Contains(call.Tool, ".") {
		d.Reason += noServer
	}
}

type result struct {
	holds   bool  // the condition, or there is none
	failed  error // the condition, or the counter of the limit
	limited bool  // usage was read
	usage   usage
	matches bool
}

// judge evaluates a rule that names the tool. A condition that fails makes the
// rule match unless it would allow; one that confines has an entry of its own for that.
func (e *entry) judge(input *expression.Input, call *toolcall.Call, spent Spent) result {
	allows := e.rule.Effect == verdict.Allow
	r := result{holds: true}
	if e.rule.condition != nil {
		r.holds, r.failed = e.rule.condition.EvalInput(input)
		if r.failed != nil {
			r.holds = false
			r.matches = e.effect != verdict.Allow
			return r
		}
	}
	if e.failing {
		return result{}
	}
	if !r.holds || e.rule.Limit == nil {
		r.matches = r.holds
		return r
	}
	r.limited = true
	r.usage = readUsage(spent, e, call)
	r.failed = r.usage.failure()
	r.matches = r.usage.spent() != allows
	return r
}

// failsElsewhere reports whether another entry of the same rule says that its condition failed.
func (e *entry) failsElsewhere() bool { return e.rule.Confines() && e.effect == verdict.Allow }

// claims reports whether the rule takes from a limit of calls, whichever rule decides.
func (e *entry) claims() bool { return e.rule.Limit != nil && e.rule.Limit.Calls > 0 }

func (d *Decision) decideBy(e *entry, r result) {
	d.Verdict = e.effect
	d.PolicyID, d.PolicyName, d.PolicyVersion = e.policy.ID, e.policy.name, e.policy.Version
	d.Rule = e.rule.ID
	d.Message = e.rule.Message
	if d.Verdict == verdict.Hold {
		d.Approvers = e.rule.Approvers
	}
	switch {
	case e.confines:
		d.Confine = e.rule.Confine
	case e.rule.Confines():
		d.Demanded = e.rule.Confine
	}
	d.Reason = r.reason(e)
}

// decideByDefault lets a policy's default decide. A nil policy denies.
func (d *Decision) decideByDefault(p *policy) {
	if p == nil {
		d.Reason = noPolicy
		return
	}
	d.Verdict = p.fallback()
	d.PolicyID, d.PolicyName, d.PolicyVersion = p.ID, p.name, p.Version
	d.Rule = DefaultRule
	d.Reason = defaultReason(p)
}
