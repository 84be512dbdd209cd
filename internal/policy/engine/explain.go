package engine

import (
	"writ/internal/policy/document"
	"writ/internal/policy/expression"
	"writ/internal/policy/glob"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Explanation is a decision with everything that was considered for it.
type Explanation struct {
	Decision Decision
	// Rules are the rules that name the tool, those of policies that do not
	// count for the caller included, in order of precedence.
	Rules []Considered
}

// Considered is a rule that names the tool, and why it matched or not.
type Considered struct {
	PolicyID      string
	PolicyName    string
	PolicyVersion int
	Rule          string
	Effect        verdict.Verdict
	Pattern       document.Pattern // the first of its patterns that names the tool

	Matched bool
	Decided bool // it is the rule of the decision
	Outcome Outcome

	When  string            // the condition; empty: always
	Steps []expression.Step // what its parts came to
	Error string            // with Failed and LimitUnread

	Limit *LimitUse // if it has a limit that was asked about
}

// LimitUse is how far a rule's limit has been taken.
type LimitUse struct {
	LimitKey
	Max  int64
	Used int64
}

// Outcome is why a rule matched or did not.
type Outcome string

// The outcomes.
const (
	NotBound    Outcome = "not bound"    // its policy does not count for this caller
	Always      Outcome = "always"       // it has no condition
	True        Outcome = "true"         // its condition holds
	False       Outcome = "false"        // its condition does not
	Failed      Outcome = "failed"       // its condition could not be evaluated
	LimitLeft   Outcome = "limit left"   // it would apply, and its limit is not spent
	LimitSpent  Outcome = "limit spent"  // it would apply, and its limit is spent
	LimitUnread Outcome = "limit unread" // it would apply, and its limit could not be read, which counts as spent
)

// maxExplained is how many rules are explained in full; the others lack Steps.
const maxExplained = 100

// Explain decides as Evaluate does and tells about every rule that names the
// tool.
func (s *Set) Explain(call *toolcall.Call, spent Spent) Explanation {
	found := map[*entry]finding{}
	x := Explanation{Decision: s.decide(call, spent, func(e *entry, f finding) { found[e] = f })}
	if call.Tool == "" {
		return x
	}
	server, tool := call.Name()
	rules := newMerge(s.index.find(server, tool, nil))
	// Neither rules that the decision did not need nor the explanations may use
	// up its work.
	others, explained := expression.NewInput(call), expression.NewInput(call)
	for place, more := rules.next(); more; place, more = rules.next() {
		e := &s.entries[place]
		c := e.considered(server, tool)
		if e.policy.counts(call) {
			f, known := found[e]
			if !known {
				f = e.judge(others, call, spent)
			}
			c.conclude(e, f)
			if e.rule.condition != nil && len(x.Rules) < maxExplained {
				c.Steps = e.rule.condition.ExplainInput(explained)
			}
		}
		c.Decided = c.Matched && x.Decision.PolicyID == c.PolicyID && x.Decision.Rule == c.Rule
		x.Rules = append(x.Rules, c)
	}
	return x
}

func (e *entry) considered(server, tool string) Considered {
	c := Considered{
		PolicyID:      e.policy.ID,
		PolicyName:    e.policy.name,
		PolicyVersion: e.policy.Version,
		Rule:          e.rule.ID,
		Effect:        e.rule.Effect,
		When:          e.rule.When,
		Outcome:       NotBound,
	}
	for _, pattern := range e.rule.Tools {
		if names(pattern, server, tool) {
			c.Pattern = pattern
			break
		}
	}
	return c
}

// names reports whether a pattern covers a tool.
func names(pattern document.Pattern, server, tool string) bool {
	s, t := pattern.Split()
	return glob.Match(s, server) && glob.Match(t, tool)
}

func (c *Considered) conclude(e *entry, f finding) {
	c.Matched = f.matches
	if f.failed != nil {
		c.Error = f.failed.Error()
	}
	if f.limited {
		c.Limit = &LimitUse{LimitKey: f.used.key, Max: f.used.most, Used: f.used.amount}
	}
	c.Outcome = f.outcome(e.rule.condition == nil)
}

func (f finding) outcome(unconditional bool) Outcome {
	switch {
	case f.limited && f.used.err != nil:
		return LimitUnread
	case f.failed != nil:
		return Failed
	case !f.holds:
		return False
	case f.limited && f.used.spent():
		return LimitSpent
	case f.limited:
		return LimitLeft
	case unconditional:
		return Always
	}
	return True
}
