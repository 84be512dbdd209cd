package engine

import (
	"writ/internal/policy/document"
	"writ/internal/policy/expression"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Outlook is what a set says about a call of which parts are unknown.
type Outlook struct {
	// Decision is the one if no rule in doubt matches. It has no claims.
	Decision
	// ByRules are the verdicts that a rule may give, depending on what is unknown.
	// ByDefault are those where no rule matches.
	ByRules, ByDefault Verdicts
	// Doubt is what the strictest rule would say that may match and need not; empty: there is none.
	Doubt string
	// MayConfine: a rule may allow the call confined. Confine is what those demand that certainly do.
	MayConfine bool
	// Claims are what the call would take from limits if it ran.
	Claims []DoubtfulClaim
}

// Possible are all verdicts that the call may get.
func (o *Outlook) Possible() Verdicts { return o.ByRules | o.ByDefault }

// DoubtfulClaim is a claim that may not be made, or be made for another subject.
type DoubtfulClaim struct {
	Claim
	Certain    bool
	AnySubject bool // the subject is unknown
}

// Range returns the least and the most that may be used up of a limit. With
// anySubject, the subject of the key is unknown.
type Range func(key LimitKey, anySubject bool) (least, most int64)

// Verdicts is a set of verdicts.
type Verdicts uint8

// Add puts a verdict in.
func (v *Verdicts) Add(one verdict.Verdict) { *v |= 1 << one }

// Has reports whether a verdict is in.
func (v Verdicts) Has(one verdict.Verdict) bool { return v&(1<<one) != 0 }

// Only is the one verdict that is in. It is not ok if there are several, or none.
func (v Verdicts) Only() (one verdict.Verdict, ok bool) {
	for one = verdict.Deny; one <= verdict.Allow; one++ {
		if v == 1<<one {
			return one, true
		}
	}
	return verdict.Deny, false
}

// Outlook decides about a call with gaps. It goes through the rules as Evaluate
// does and keeps apart those that may match: a verdict is certain if every way to
// fill the gaps leads to it. No verdict that is possible is left out. Because
// Outlook does not know which gaps depend on each other, it may name more verdicts
// than are possible.
func (s *Set) Outlook(call *toolcall.Call, gaps toolcall.Gaps, used Range) Outlook {
	if s.confining == s.others || !gaps.Cover("key", "canConfine") {
		return s.outlook(call, gaps, used)
	}
	// Whether the caller could confine the call is unknown.
	can, cannot := *call, *call
	can.CanConfine, cannot.CanConfine = true, false
	o, other := s.outlook(&cannot, gaps, used), s.outlook(&can, gaps, used)
	o.ByRules, o.ByDefault = o.ByRules|other.ByRules, o.ByDefault|other.ByDefault
	o.MayConfine = other.MayConfine
	return o
}

func (s *Set) outlook(call *toolcall.Call, gaps toolcall.Gaps, used Range) Outlook {
	var o Outlook
	if call.Tool == "" {
		o.Reason = noTool
		o.ByDefault.Add(verdict.Deny)
		return o
	}
	input := expression.NewPartial(call, gaps)
	decided := false
	for e, applies := range s.candidates(call, gaps) {
		narrows := decided && e.confines && o.Confine != nil
		if applies == no || decided && !e.claims() && !narrows {
			continue
		}
		p := e.predict(input, call, gaps, used)
		if claimed := applies.and(p.claimed); claimed != no {
			p.claim.Certain = claimed == yes
			o.Claims = append(o.Claims, p.claim)
		}
		matches := applies.and(p.matches)
		if narrows && matches == yes {
			o.Confine = Narrower(o.Confine, e.rule.Confine)
		}
		if decided || matches == no {
			continue
		}
		o.ByRules.Add(e.effect)
		o.MayConfine = o.MayConfine || e.confines
		if matches != yes && o.Doubt == "" {
			o.Doubt = e.reason
		}
		if matches == yes {
			decided = true
			o.decideBy(e, result{failed: p.failed})
			if o.Verdict == verdict.Deny {
				break
			}
		}
	}
	if !decided {
		o.predictDefault(s.strictestDefault(call, gaps))
	}
	s.obligeOutlook(&o, call, gaps, input)
	return o
}

// predictDefault adds the verdicts of the defaults that may decide.
func (o *Outlook) predictDefault(strictest *policy, doubtful Verdicts) {
	o.decideByDefault(strictest)
	if strictest != nil {
		doubtful &= 1<<o.Verdict - 1 // only a stricter one could decide instead
	}
	o.ByDefault = doubtful
	o.ByDefault.Add(o.Verdict)
}

type prediction struct {
	matches tristate
	failed  error // the condition, whatever fills the gaps
	claimed tristate
	claim   DoubtfulClaim
}

// predict judges a rule that names the tool, as judge does.
func (e *entry) predict(input *expression.Partial, call *toolcall.Call, gaps toolcall.Gaps, used Range) prediction {
	allows := e.rule.Effect == verdict.Allow
	holds := yes
	if e.rule.condition != nil {
		held, known, err := e.rule.condition.EvalPartial(input)
		switch {
		case !known:
			holds = maybe
		case err != nil:
			return prediction{matches: certainly(e.effect != verdict.Allow), failed: err}
		default:
			holds = certainly(held)
		}
	}
	if e.failing && holds == maybe {
		return prediction{matches: maybe}
	}
	if e.failing {
		return prediction{matches: no}
	}
	if holds == no || e.rule.Limit == nil {
		return prediction{matches: holds}
	}
	counter := counterOf(e, call)
	p := prediction{claim: DoubtfulClaim{
		Claim:      Claim{LimitKey: counter.LimitKey, Max: counter.Max},
		AnySubject: subjectUnknown(e.rule.Limit.By, gaps),
	}}
	least, most := used(counter.LimitKey, p.claim.AnySubject)
	spent := maybe
	switch {
	case least >= counter.Max:
		spent = yes
	case most < counter.Max:
		spent = no
	}
	if e.claims() {
		p.claimed = holds.and(spent.not())
	}
	switch {
	case holds == maybe && e.effect != verdict.Allow:
		p.matches = maybe // if the condition fails, the rule matches whatever is spent
	case allows:
		p.matches = holds.and(spent.not())
	default:
		p.matches = spent
	}
	return p
}

// subjectUnknown reports whether the gaps hide whose limit a call falls under.
func subjectUnknown(by document.Subject, gaps toolcall.Gaps) bool {
	switch by {
	case document.Agent:
		return gaps.Cover("agent", "id")
	case document.Session:
		return gaps.Cover("session", "id")
	case document.User:
		return gaps.Cover("user", "id")
	}
	return gaps.Cover("org", "id")
}
