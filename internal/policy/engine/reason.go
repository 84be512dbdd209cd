package engine

import (
	"fmt"

	"writ/internal/verdict"
)

// The reasons where no rule or default decides.
const (
	noTool   = "the call names no tool"
	noPolicy = "no active policy; activate one that applies to this caller"
)

// noServer is said beside a default: whoever names a tool web.fetch and no server has most often written a rule for the
// tool fetch of web.
const noServer = "; the call names no server: send it by itself (mcp), or write local. before the tool in the rule"

var pastTense = [...]string{
	verdict.Deny:  "denied",
	verdict.Hold:  "held for approval",
	verdict.Ask:   "left to the user",
	verdict.Allow: "allowed",
}

// reason is one sentence on why the rule decided.
func (r result) reason(e *entry) string {
	switch {
	case r.limited && r.usage.err != nil:
		return e.reason + ", whose limit could not be read"
	case r.failed != nil:
		return e.reason + ", whose condition failed: " + r.failed.Error()
	case r.limited && r.usage.spent():
		return fmt.Sprintf("%s: its limit of %s is spent", e.reason, limitText(r.usage))
	}
	return e.reason
}

// exhausted says why a rule did not allow a call that it is about.
func (r result) exhausted(e *entry) string {
	why := fmt.Sprintf("its limit of %s is spent", limitText(r.usage))
	if r.usage.err != nil {
		why = "its limit could not be read"
	}
	return fmt.Sprintf("rule %s of policy %s would allow it, but %s", e.rule.ID, e.policy.name, why)
}

// ruleReason is the reason without details. It is built once for a rule, because
// most decisions need no more.
func ruleReason(p *policy, r *rule, effect verdict.Verdict) string {
	return pastTense[effect] + " by rule " + r.ID + " of policy " + p.name
}

// confinedReason is the reason if the rule allows a call confined.
func confinedReason(p *policy, r *rule) string {
	return "allowed, if it is confined, by rule " + r.ID + " of policy " + p.name
}

// otherwiseReason is the reason if the caller cannot confine the call.
func otherwiseReason(p *policy, r *rule) string {
	if r.Otherwise == verdict.Allow {
		return ruleReason(p, r, r.Otherwise)
	}
	return ruleReason(p, r, r.Otherwise) + ", which permits this call only confined, and the caller cannot confine it"
}

func defaultReason(p *policy) string {
	return "no rule matches; " + pastTense[p.fallback()] + " by default of policy " + p.name
}

// sharedDefaultReason is the reason if other policies that apply have the same default: to name one of them would send
// people to a policy that has nothing to do with the call.
func sharedDefaultReason(p *policy) string {
	return "no rule of the active policies matches; " + pastTense[p.fallback()] + " by default"
}

func limitText(u usage) string {
	if u.Unit == Cost {
		return fmt.Sprintf("%g US dollars", float64(u.Max)/1e9)
	}
	return fmt.Sprintf("%d %s", u.Max, u.Unit)
}
