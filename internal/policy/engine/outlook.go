package engine

import (
	"writ/internal/policy/document"
	"writ/internal/policy/expression"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Outlook is what a set would say about a call of which parts are not known.
type Outlook struct {
	// Decision is the one where no rule in doubt matches. It has no claims.
	Decision
	// ByRules are the verdicts that a rule may give, depending on what is not
	// known, and ByDefault those where no rule matches.
	ByRules, ByDefault Verdicts
	// Claims are what the call would take from limits if it ran.
	Claims []DoubtfulClaim
}

// Possible are all verdicts that it may be.
func (o *Outlook) Possible() Verdicts { return o.ByRules | o.ByDefault }

// DoubtfulClaim is a claim that perhaps is not made, or perhaps for another
// subject.
type DoubtfulClaim struct {
	Claim
	Certain    bool
	AnySubject bool // whose counter it is is not known
}

// Range tells how much of a limit is used up, at least and at most. Of whom the
// limit counts is not known with anySubject.
type Range func(key LimitKey, anySubject bool) (least, most int64)

// Verdicts is a set of verdicts.
type Verdicts uint8

// Add puts a verdict in.
func (v *Verdicts) Add(one verdict.Verdict) { *v |= 1 << one }

// Has reports whether a verdict is in.
func (v Verdicts) Has(one verdict.Verdict) bool { return v&(1<<one) != 0 }

// Only is the one verdict that is in. Not ok: there are several, or none.
func (v Verdicts) Only() (one verdict.Verdict, ok bool) {
	for one = verdict.Deny; one <= verdict.Allow; one++ {
		if v == 1<<one {
			return one, true
		}
	}
	return verdict.Deny, false
}

// doubt is yes, no, or one of the two.
type doubt uint8

const (
	no doubt = iota
	yes
	perhaps
)

func sure(is bool) doubt {
	if is {
		return yes
	}
	return no
}

func (d doubt) not() doubt {
	switch d {
	case yes:
		return no
	case no:
		return yes
	}
	return perhaps
}

// and is no where either is, and yes where both are.
func (d doubt) and(other doubt) doubt {
	switch {
	case d == no || other == no:
		return no
	case d == yes && other == yes:
		return yes
	}
	return perhaps
}

// Outlook decides about a call with gaps. It goes through the rules as Evaluate
// does, and keeps apart those that perhaps match: a verdict is certain where all
// ways to fill the gaps lead to it. It never says less than is possible; which
// gaps depend on each other it does not know, so it may say more.
func (s *Set) Outlook(call *toolcall.Call, gaps toolcall.Gaps, used Range) Outlook {
	var o Outlook
	if call.Tool == "" {
		o.Reason = "the call names no tool"
		o.ByDefault.Add(verdict.Deny)
		return o
	}
	var room [usualLists][]int32
	server, tool := call.Name()
	rules := newMerge(s.index.find(server, tool, room[:0]))
	input := expression.NewPartial(call, gaps)
	decided := false
	for place, more := rules.next(); more; place, more = rules.next() {
		e := &s.entries[place]
		counts := e.policy.perhapsCounts(call, gaps)
		if counts == no || decided && !e.claims() {
			continue
		}
		f := e.foretell(input, call, gaps, used)
		if claimed := counts.and(f.claimed); claimed != no {
			f.claim.Certain = claimed == yes
			o.Claims = append(o.Claims, f.claim)
		}
		matches := counts.and(f.matches)
		if decided || matches == no {
			continue
		}
		o.ByRules.Add(e.rule.Effect)
		if matches == yes {
			decided = true
			o.decideBy(e, finding{})
			if o.Verdict == verdict.Deny {
				break
			}
		}
	}
	if !decided {
		s.perhapsDefault(&o, call, gaps)
	}
	return o
}

// foretold is what one rule says about a call with gaps.
type foretold struct {
	matches doubt
	claimed doubt
	claim   DoubtfulClaim
}

// foretell judges a rule that names the tool, as judge does.
func (e *entry) foretell(input *expression.Partial, call *toolcall.Call, gaps toolcall.Gaps, used Range) foretold {
	allows := e.rule.Effect == verdict.Allow
	holds := yes
	if e.rule.condition != nil {
		held, known, err := e.rule.condition.EvalPartial(input)
		switch {
		case !known:
			holds = perhaps
		case err != nil:
			return foretold{matches: sure(!allows)}
		default:
			holds = sure(held)
		}
	}
	if holds == no || e.rule.Limit == nil {
		return foretold{matches: holds}
	}
	var f foretold
	f.claim.LimitKey, f.claim.Max = keyOf(e, call)
	f.claim.AnySubject = subjectIn(e.rule.Limit.By, gaps)
	least, most := used(f.claim.LimitKey, f.claim.AnySubject)
	spent := perhaps
	switch {
	case least >= f.claim.Max:
		spent = yes
	case most < f.claim.Max:
		spent = no
	}
	if e.claims() {
		f.claimed = holds.and(spent.not())
	}
	switch {
	case allows:
		f.matches = holds.and(spent.not())
	case holds == perhaps:
		f.matches = perhaps // if the condition fails, it does whatever is spent
	default:
		f.matches = spent
	}
	return f
}

// subjectIn reports whether it is not known whose limit a call falls under.
func subjectIn(by document.Subject, gaps toolcall.Gaps) bool {
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

// perhapsCounts reports whether the policy is one for this caller.
func (p *policy) perhapsCounts(call *toolcall.Call, gaps toolcall.Gaps) doubt {
	if !p.bound {
		return yes
	}
	known, open := false, false
	look := func(names map[string]bool, name string, path ...string) {
		if gaps.Cover(path...) {
			open = open || len(names) > 0
			return
		}
		known = known || names[name]
	}
	look(p.users, call.Key.OwnerID, "key", "owner")
	look(p.agents, call.Key.ID, "key", "id")
	look(p.roles, call.Key.OwnerRole, "key", "role")
	if !call.Key.Alone {
		look(p.users, call.User.ID, "user", "id")
		look(p.agents, call.Agent.ID, "agent", "id")
		look(p.roles, call.User.Role, "user", "role")
	}
	if !known && open {
		return perhaps
	}
	return sure(known)
}

// perhapsDefault adds the verdicts of the defaults that may decide.
func (s *Set) perhapsDefault(o *Outlook, call *toolcall.Call, gaps toolcall.Gaps) {
	var strictest *policy
	var doubtful []verdict.Verdict
	for _, p := range s.policies {
		switch p.perhapsCounts(call, gaps) {
		case yes:
			if strictest == nil || p.fallback() < strictest.fallback() {
				strictest = p
			}
		case perhaps:
			doubtful = append(doubtful, p.fallback())
		}
	}
	if strictest == nil {
		o.Decision.Reason = noPolicy
		o.ByDefault.Add(verdict.Deny)
	} else {
		o.Verdict = strictest.fallback()
		o.PolicyID, o.PolicyName, o.PolicyVersion = strictest.ID, strictest.name, strictest.Version
		o.Rule, o.Reason = defaultRule, defaultReason(strictest)
		o.ByDefault.Add(o.Verdict)
	}
	for _, other := range doubtful {
		if strictest == nil || other < strictest.fallback() {
			o.ByDefault.Add(other)
		}
	}
}
