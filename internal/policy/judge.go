package policy

import (
	"cmp"
	"slices"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Judge asks a set about a call that was made with an API key, and takes the
// stricter of two answers: for whom the client names together with whom the key
// belongs to, and for the key alone. So a policy that restricts a named agent or
// user, or the key or its owner, cannot be left by naming another or none; and
// one that allows more to somebody is not won by naming them. Conditions on
// user.id, user.email and agent.id do see what the client says; user.role is of
// the named member in one answer, and of the owner in the other.
func Judge(set *engine.Set, call *toolcall.Call, spent engine.Spent) engine.Decision {
	d := set.Evaluate(call, spent)
	if d.Verdict == verdict.Deny {
		return d
	}
	alone := ForKeyAlone(set, call, nil)
	if alone == nil {
		return d
	}
	second := set.Evaluate(alone, spent)
	if second.PolicyID == "" {
		second.Reason = whyNotAlone(set, call)
	}
	return Stricter(d, second)
}

// explainJudged judges as Judge does, and tells about the rules of the answer that
// counts.
func explainJudged(set *engine.Set, call *toolcall.Call, spent engine.Spent) engine.Explanation {
	x := set.Explain(call, spent)
	if x.Decision.Verdict == verdict.Deny {
		return x
	}
	alone := ForKeyAlone(set, call, nil)
	if alone == nil {
		return x
	}
	second := set.Explain(alone, spent)
	if second.Decision.PolicyID == "" {
		second.Decision.Reason = whyNotAlone(set, call)
	}
	joined := Stricter(x.Decision, second.Decision)
	if second.Decision.Verdict < x.Decision.Verdict {
		x = second
	}
	x.Decision = joined
	return x
}

// ForKeyAlone is the call for its key alone, or nil where a set says the same of
// both: nothing in it is bound, and the user has the role of the key's owner. Gaps
// are what is not known of the call.
func ForKeyAlone(set *engine.Set, call *toolcall.Call, gaps toolcall.Gaps) *toolcall.Call {
	if !set.Bound() && call.User.Role == call.Key.OwnerRole && !gaps.Cover("user", "role") &&
		!gaps.Cover("key", "role") {
		return nil
	}
	return call.ForKeyAlone()
}

// Callers are the calls to ask a set about where the strictest answer counts: as the
// client makes it, and for its key alone.
func Callers(set *engine.Set, call *toolcall.Call) []*toolcall.Call {
	if alone := ForKeyAlone(set, call, nil); alone != nil {
		return []*toolcall.Call{call, alone}
	}
	return []*toolcall.Call{call}
}

// whyNotAlone is the reason where policies count for whom the client names, and
// none for the key: activating another one would not help.
func whyNotAlone(set *engine.Set, call *toolcall.Call) string {
	whom := "the user whom the call names"
	if set.CountsForAgent(call.Agent.ID) {
		whom = "agent " + call.Agent.ID
	}
	return "the policies that count for " + whom +
		" do not count for its API key: bind the key's id, its owner or the owner's role too"
}

// Stricter is the stricter of two decisions, and takes from the limits of both.
func Stricter(a, b engine.Decision) engine.Decision {
	claims := append(slices.Clip(a.Claims), b.Claims...)
	approvers := a.Approvers
	switch {
	case b.Verdict < a.Verdict:
		a, approvers = b, b.Approvers
	case b.Verdict == a.Verdict:
		approvers = MoreApprovers(approvers, b.Approvers)
	}
	a.Approvers = approvers
	a.Claims = nil
	if a.Verdict != verdict.Deny {
		a.Claims = claims
	}
	return a
}

// MoreApprovers wants what either wants: one yes must not lift two holds that ask
// for different persons.
func MoreApprovers(a, b *document.Approvers) *document.Approvers {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	roles := principal.Roles()
	more := document.Approvers{Role: a.Role, Count: max(a.Count, b.Count)}
	if slices.Index(roles, principal.Role(b.Role)) < slices.Index(roles, principal.Role(a.Role)) {
		more.Role = b.Role
	}
	return &more
}
