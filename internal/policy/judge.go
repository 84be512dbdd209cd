package policy

import (
	"cmp"
	"slices"

	"writ/internal/obligation"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Judge evaluates a call that was made with an API key twice: with the agent and user that the client names, and for
// the key alone. The stricter decision counts. So a client can neither evade a policy by naming another agent or user,
// nor gain from a policy that allows more to the one it names. Conditions on user.id, user.email and agent.id see what
// the client says. user.role is the named member's in the first evaluation, and the key owner's in the second.
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
		second.Reason = keyNotBound(set, call)
	}
	return Stricter(d, second)
}

// explainJudged judges as Judge does, and explains the rules of the decision that counts.
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
		second.Decision.Reason = keyNotBound(set, call)
	}
	joined := Stricter(x.Decision, second.Decision)
	if second.Decision.StricterThan(&x.Decision) {
		x = second
	}
	x.Decision = joined
	return x
}

// ForKeyAlone is the call for its key alone, or nil if the set decides the same about both: no policy is bound, and the
// user has the role of the key's owner. Gaps are the unknown parts of the call.
func ForKeyAlone(set *engine.Set, call *toolcall.Call, gaps toolcall.Gaps) *toolcall.Call {
	if !set.Bound() && call.User.Role == call.Key.OwnerRole &&
		!gaps.Cover("user", "role") && !gaps.Cover("key", "role") {
		return nil
	}
	return call.ForKeyAlone()
}

// Callers are the calls to evaluate if the strictest answer counts: as the client makes it, and for its key alone.
func Callers(set *engine.Set, call *toolcall.Call) []*toolcall.Call {
	if alone := ForKeyAlone(set, call, nil); alone != nil {
		return []*toolcall.Call{call, alone}
	}
	return []*toolcall.Call{call}
}

// keyNotBound is the reason if policies apply to the agent or user that the client names, but none to the key.
// Activating another policy would not help.
func keyNotBound(set *engine.Set, call *toolcall.Call) string {
	named := "the user whom the call names"
	if set.BindsAgent(call.Agent.ID) {
		named = "agent " + call.Agent.ID
	}
	return "the policies that apply to " + named +
		" do not apply to its API key: bind the key's id, its owner or the owner's role too"
}

// Stricter is the stricter of two decisions, with the claims of both. Two that confine the call confine it to what both
// permit, and obligations add up.
func Stricter(a, b engine.Decision) engine.Decision {
	claims := append(slices.Clip(a.Claims), b.Claims...)
	obliged := obligation.Both(a.Oblige, b.Oblige)
	approvers, confined := a.Approvers, a.Confine
	if b.Verdict == a.Verdict {
		approvers, confined = MoreApprovers(approvers, b.Approvers), engine.Narrower(a.Confine, b.Confine)
	}
	switch {
	case b.Verdict < a.Verdict:
		a = b
	case b.StricterThan(&a):
		a = b
		a.Approvers, a.Confine = approvers, confined
	default:
		a.Approvers, a.Confine = approvers, confined
	}
	a.Claims, a.Oblige = nil, nil
	if a.Verdict != verdict.Deny {
		a.Claims, a.Oblige = claims, obliged
	}
	return a
}

// MoreApprovers demands what either demands, so that one approval cannot satisfy two holds with different approvers.
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
