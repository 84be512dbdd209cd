package engine

import (
	"writ/internal/obligation"
	"writ/internal/policy/expression"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// rankObliging collects the rules that demand something of whoever carries a call out; nil: none does.
func (s *Set) rankObliging() *ranking {
	r := &ranking{}
	for _, p := range s.policies {
		for i := range p.Policy.rules {
			if rule := &p.Policy.rules[i]; rule.Obliges() {
				r.entries = append(r.entries, entry{policy: p, rule: rule, effect: rule.Effect})
			}
		}
	}
	if len(r.entries) == 0 {
		return nil
	}
	r.index = newIndex(r.entries)
	return r
}

// Obliges reports whether any rule demands something of whoever carries a call out.
func (s *Set) Obliges() bool { return s.obliging != nil }

// oblige adds what rules about the call demand, whichever of them decided: obligations add up. A rule whose condition
// fails demands it too, because it was written to limit the call. A caller that cannot keep obligations is denied.
func (s *Set) oblige(d *Decision, call *toolcall.Call, input *expression.Input) {
	if s.obliging == nil || d.Verdict == verdict.Deny {
		return
	}
	for e, applies := range walk(s.obliging, call, nil) {
		if applies == no {
			continue
		}
		if e.rule.condition != nil {
			if holds, err := e.rule.condition.EvalInput(input); err == nil && !holds {
				continue
			}
		}
		if !call.CanOblige {
			d.denyUnobliged(e)
			return
		}
		d.Oblige = obligation.Both(d.Oblige, e.rule.Oblige)
	}
}

// denyUnobliged denies a call whose caller cannot keep what a rule demands.
func (d *Decision) denyUnobliged(e *entry) {
	failed := d.Failed
	*d = Decision{Failed: failed}
	d.PolicyID, d.PolicyName, d.PolicyVersion = e.policy.ID, e.policy.name, e.policy.Version
	d.Rule, d.Message = e.rule.ID, e.rule.Message
	d.Reason = ruleReason(e.policy, e.rule, verdict.Deny) +
		", which permits this call only with obligations, and the caller cannot keep them"
}

// obligeOutlook is oblige for a call of which parts are unknown.
func (s *Set) obligeOutlook(o *Outlook, call *toolcall.Call, gaps toolcall.Gaps, input *expression.Partial) {
	if only, ok := o.Possible().Only(); s.obliging == nil || ok && only == verdict.Deny {
		return
	}
	for e, applies := range walk(s.obliging, call, gaps) {
		matches := applies
		if e.rule.condition != nil && applies != no {
			switch holds, known, err := e.rule.condition.EvalPartial(input); {
			case !known:
				matches = matches.and(maybe)
			case err == nil:
				matches = matches.and(certainly(holds))
			}
		}
		switch {
		case matches == no:
		case call.CanOblige:
			o.Oblige = obligation.Both(o.Oblige, e.rule.Oblige) // also what may be demanded
		case matches == yes:
			o.denyUnobliged(e)
			o.ByRules, o.ByDefault, o.MayConfine, o.Claims = 0, 0, false, nil
			o.ByRules.Add(verdict.Deny)
			return
		default:
			o.ByRules.Add(verdict.Deny)
		}
	}
}
