package engine

import (
	"writ/internal/confine"
	"writ/internal/policy/document"
	"writ/internal/policy/expression"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Explanation is a decision with everything that was considered for it.
type Explanation struct {
	Decision Decision
	// Rules are all rules that name the tool, in order of precedence, even those of
	// policies that do not apply to the caller.
	Rules []Considered
}

// Considered is a rule that names the tool, and why it matched or not.
type Considered struct {
	PolicyID      string
	PolicyName    string
	PolicyVersion int
	Rule          string
	Effect        verdict.Verdict  // for this caller
	Confine       *confine.Limits  // what the rule confines calls to; nil: nothing
	Pattern       document.Pattern // the first of its patterns that names the tool

	Matched bool
	Decided bool // whether it is the rule that decided
	Outcome Outcome

	When  string            // the condition; empty: always
	Steps []expression.Step // the values of its parts
	Error string            // with Failed and LimitUnread

	Limit *LimitUse // if it has a limit that was read
}

// LimitUse is how much of a rule's limit is used up.
type LimitUse struct {
	LimitKey
	Max  int64
	Used int64
}

// Outcome is why a rule matched or did not.
type Outcome string

// The outcomes.
const (
	NotBound    Outcome = "not bound"    // its policy does not apply to this caller
	Always      Outcome = "always"       // it has no condition
	True        Outcome = "true"         // its condition is true
	False       Outcome = "false"        // its condition is false
	Failed      Outcome = "failed"       // its condition could not be evaluated
	LimitLeft   Outcome = "limit left"   // it would apply, and its limit is not spent
	LimitSpent  Outcome = "limit spent"  // it would apply, and its limit is spent
	LimitUnread Outcome = "limit unread" // it would apply, and its limit could not be read, which counts as spent
)

// maxExplained is how many rules are explained in full; the others lack Steps.
const maxExplained = 100

// Explain decides as Evaluate does and reports on every rule that names the tool.
func (s *Set) Explain(call *toolcall.Call, spent Spent) Explanation {
	results := map[*entry]result{}
	x := Explanation{Decision: s.decide(call, spent, func(e *entry, r result) { results[e] = r })}
	if call.Tool == "" {
		return x
	}
	// Each input has its own budget of work: neither the rules that the decision
	// did not need nor the explanations may use up the decision's.
	others, explained := expression.NewInput(call), expression.NewInput(call)
	for e, applies := range s.candidates(call, nil) {
		c := e.considered(call)
		if applies == yes {
			r, judged := results[e]
			if !judged {
				r = e.judge(others, call, spent)
			}
			if e.failing && !r.matches {
				continue // another entry of the rule explains it
			}
			c.conclude(e, r)
			if e.rule.condition != nil && len(x.Rules) < maxExplained {
				c.Steps = e.rule.condition.ExplainInput(explained)
			}
		}
		c.Decided = c.Matched && x.Decision.PolicyID == c.PolicyID && x.Decision.Rule == c.Rule &&
			x.Decision.Verdict == c.Effect
		x.Rules = append(x.Rules, c)
	}
	return x
}

func (e *entry) considered(call *toolcall.Call) Considered {
	c := Considered{
		PolicyID:      e.policy.ID,
		PolicyName:    e.policy.name,
		PolicyVersion: e.policy.Version,
		Rule:          e.rule.ID,
		Effect:        e.effect,
		Confine:       e.rule.Confine,
		When:          e.rule.When,
		Outcome:       NotBound,
	}
	for _, pattern := range e.rule.Tools {
		if pattern.Matches(call.Name()) {
			c.Pattern = pattern
			break
		}
	}
	return c
}

func (c *Considered) conclude(e *entry, r result) {
	c.Matched = r.matches
	if r.failed != nil {
		c.Error = r.failed.Error()
	}
	if r.limited {
		c.Limit = &r.usage.LimitUse
	}
	c.Outcome = r.outcome(e.rule.condition == nil)
}

func (r result) outcome(unconditional bool) Outcome {
	switch {
	case r.limited && r.usage.err != nil:
		return LimitUnread
	case r.failed != nil:
		return Failed
	case !r.holds:
		return False
	case r.limited && r.usage.spent():
		return LimitSpent
	case r.limited:
		return LimitLeft
	case unconditional:
		return Always
	}
	return True
}
