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
	if !asksAlone(set, call, d) {
		return d
	}
	second := set.Evaluate(alone(call), spent)
	if second.PolicyID == "" {
		second.Reason = whyNotAlone(set, call)
	}
	return Stricter(d, second)
}

// explainJudged judges as Judge does, and tells about the rules of the answer that
// counts.
func explainJudged(set *engine.Set, call *toolcall.Call, spent engine.Spent) engine.Explanation {
	x := set.Explain(call, spent)
	if !asksAlone(set, call, x.Decision) {
		return x
	}
	second := set.Explain(alone(call), spent)
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

// asksAlone reports whether the answer for the key alone can be a stricter one.
func asksAlone(set *engine.Set, call *toolcall.Call, d engine.Decision) bool {
	return d.Verdict != verdict.Deny && (set.Bound() || call.User.Role != call.Key.OwnerRole)
}

// alone is the call without anybody whom the client names.
func alone(call *toolcall.Call) *toolcall.Call {
	same := *call
	same.Key.Alone, same.User.Role = true, call.Key.OwnerRole
	return &same
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
