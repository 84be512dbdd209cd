package engine

import (
	"math"

	"writ/internal/policy/document"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Foresight is what is known about a caller's calls to a tool before they are made.
type Foresight struct {
	Decision
	// Certain is whether every such call gets this verdict, whatever its arguments
	// and time and what limits have spent.
	Certain bool
	// MayDeny is whether a rule may deny such a call.
	MayDeny bool
	// Doubt is what the strictest rule says that such a call may match, and need not; empty: none is known.
	Doubt string
}

// unmade are the parts of a call that are unknown before it is made. Who would
// make it, to which tool and in which environment is known.
var unmade = toolcall.Gaps{{"args"}, {"session"}, {"intent"}, {"labels"}, {"now"}, {"paths"}}

// unseen are the parts of a call that is about to be made which are unknown while
// nobody has seen its arguments.
var unseen = toolcall.Gaps{{"args"}, {"labels"}, {"paths"}}

// Foresee decides about a caller's calls to a tool. Where it is not certain, the
// decision is the one without the rules that depend on the call.
func (s *Set) Foresee(caller *toolcall.Call) Foresight {
	return s.foresee(caller, unmade, func(LimitKey, bool) (least, most int64) { return 0, math.MaxInt64 })
}

func (s *Set) foresee(call *toolcall.Call, gaps toolcall.Gaps, used Range) Foresight {
	o := s.Outlook(call, gaps, used)
	_, certain := o.Possible().Only()
	certain = certain && (o.Verdict != verdict.Allow || !s.allowReads(call, o.Rule, gaps))
	return Foresight{o.Decision, certain, o.ByRules.Has(verdict.Deny), o.Doubt}
}

// allowReads reports whether an allow of this id reads what is unknown. Its condition may
// fail on the arguments of a call, even where their value does not matter, so that the
// allow is not certain.
func (s *Set) allowReads(call *toolcall.Call, id string, gaps toolcall.Gaps) bool {
	for e := range s.candidates(call, nil) {
		if r := e.rule; e.effect == verdict.Allow && r.ID == id && r.condition != nil && r.condition.Concerns(gaps) {
			return true
		}
	}
	return false
}

// Approvers are all that the rules about a tool demand of approvers for this
// caller's calls, whichever of the rules would decide. Rules without demands of
// their own are left out.
func (s *Set) Approvers(caller *toolcall.Call) (demands []document.Approvers) {
	for e, applies := range s.candidates(caller, nil) {
		if applies == yes && e.effect == verdict.Hold && e.rule.Approvers != nil {
			demands = append(demands, *e.rule.Approvers)
		}
	}
	return demands
}
