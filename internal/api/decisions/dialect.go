package decisions

import (
	"strings"

	"writ/internal/api/policies"
	"writ/internal/audit/ledger"
	"writ/internal/enforcement"
	"writ/internal/intent/grounding"
	"writ/internal/verdict"
)

// The words of published clients. There are four verdicts inside; each surface
// knows three words, and none of them has one for ask: to a client that cannot
// ask, it is a hold. "allowed" alone lets a tool run, and is false with all but
// an allow that is recorded.
const (
	wordAllow = "allow"
	wordDeny  = "deny"  // what plugins read in action
	wordBlock = "block" // what SDKs read in enforcementAction
	wordHold  = "hold"
)

// pluginAction is a verdict in the words of plugins.
func pluginAction(v verdict.Verdict) string {
	switch v {
	case verdict.Allow:
		return wordAllow
	case verdict.Hold, verdict.Ask:
		return wordHold
	default:
		return wordDeny
	}
}

// sdkAction is a verdict in the words of SDKs.
func sdkAction(v verdict.Verdict) string {
	if action := pluginAction(v); action != wordDeny {
		return action
	}
	return wordBlock
}

// DecisionBody is a decision, in the words of every client.
type DecisionBody struct {
	Allowed           bool            `json:"allowed" doc:"Whether the tool may run: true only with an allow that is recorded."`
	Action            string          `json:"action" enum:"allow,deny,hold" doc:"The decision in the words of plugins."`
	EnforcementAction string          `json:"enforcementAction" enum:"allow,block,hold" doc:"The decision in the words of SDKs."`
	Decision          verdict.Verdict `json:"decision" enum:"allow,deny,hold,ask" doc:"The decision itself. hold: an approver must say yes; ask: the person the agent works for."`
	Reason            string          `json:"reason" doc:"One sentence that a model can act on."`
	Message           string          `json:"message,omitempty" doc:"The rule's own words."`

	DecidedBy  string                  `json:"decidedBy,omitempty" doc:"The id of the policy that decided, or what did instead: writ:agent, writ:intent, writ:approval, writ:default."`
	Rule       string                  `json:"rule,omitempty" doc:"The rule that decided; default where none matched."`
	Server     string                  `json:"server,omitempty" doc:"The MCP server the call was judged for."`
	PlanID     string                  `json:"planId,omitempty" doc:"The plan the call was judged by."`
	Step       *int                    `json:"step,omitempty" doc:"The step of the plan, from 0."`
	DecisionID string                  `json:"decisionId,omitempty" doc:"The record of this decision. Absent: it could not be recorded, and is a deny."`
	ApprovalID string                  `json:"approvalId,omitempty" doc:"The approval this waits for, or that let the call run."`
	Approvers  *policies.ApproversBody `json:"approvers,omitempty" doc:"Who must say yes, where the rule says."`
	Confine    *policies.ConfineBody   `json:"confine,omitzero" doc:"With allow: the call may run only confined to this; {} permits least. Only callers that state the capability confine get it."`
	Oblige     *policies.ObligeBody    `json:"oblige,omitzero" doc:"With allow: what must be done with the result. Only callers that state the capability oblige get it."`
	Grounding  []grounding.Reason      `json:"grounding,omitempty" doc:"The arguments in doubt, and why, without their values. With grounding: ask the call is then held."`
	Session    *GuardedSessionBody     `json:"session,omitempty" doc:"Of calls in a guarded session."`
	Receipt    *ledger.Receipt         `json:"receipt,omitempty" doc:"Proves that the decision is in the organization's log."`
}

// GuardedSessionBody is the guarded session of a call.
type GuardedSessionBody struct {
	Turn           int64 `json:"turn"`
	MonitorAllowed bool  `json:"monitorAllowed" doc:"Whether the organization permits hooks to log instead of deny."`
}

// SDKDecisionBody is the answer to an SDK.
type SDKDecisionBody struct {
	DecisionBody
	MatchedPolicy *policies.MatchedBody `json:"matchedPolicy" doc:"The policy that decided; null: none did."`
}

// PluginDecisionBody is the answer to a plugin.
type PluginDecisionBody struct {
	DecisionBody
	MatchedPolicy *policies.MatchedBody `json:"matched_policy" doc:"The policy that decided; null: none did."`
}

// BodyOf is a decision in the words of every client.
func BodyOf(d enforcement.Answer) DecisionBody { return decisionBody(d) }

// MatchedPolicy names the policy that decided; nil: none did.
func MatchedPolicy(d enforcement.Answer) *policies.MatchedBody { return matchedPolicy(d) }

func decisionBody(d enforcement.Answer) DecisionBody {
	v := d.Verdict
	if v == verdict.Allow && !d.Allowed() {
		v = verdict.Deny // what is not recorded does not run
	}
	body := DecisionBody{
		Allowed:           d.Allowed(),
		Action:            pluginAction(v),
		EnforcementAction: sdkAction(v),
		Decision:          v,
		Reason:            agentMessage(d),
		Message:           d.Message,
		DecidedBy:         d.PolicyID,
		Rule:              d.Rule,
		Server:            d.Server,
		PlanID:            d.PlanID,
		DecisionID:        d.DecisionID,
		ApprovalID:        d.ApprovalID,
		Grounding:         d.Grounding,
		Receipt:           d.Receipt,
	}
	if d.Session != nil {
		body.Session = &GuardedSessionBody{Turn: d.Session.Turn, MonitorAllowed: d.Session.AllowMonitor}
	}
	if body.Allowed {
		body.Confine, body.Oblige = policies.ConfineOf(d.Confine), policies.ObligeOf(d.Oblige)
	}
	if d.Step >= 0 && d.PlanID != "" {
		body.Step = &d.Step
	}
	if d.Approvers != nil {
		body.Approvers = &policies.ApproversBody{Role: d.Approvers.Role, Count: d.Approvers.Count}
	}
	return body
}

// agentMessage is the reason as clients show it, which know no other member: the words of
// the rule first, where it has any.
func agentMessage(d enforcement.Answer) string {
	if d.Message == "" {
		return d.Reason
	}
	return d.Message + " (" + d.Reason + ")"
}

// matchedPolicy names the policy that decided, if one did.
func matchedPolicy(d enforcement.Answer) *policies.MatchedBody {
	if d.PolicyID == "" || strings.HasPrefix(d.PolicyID, reservedMark) {
		return nil
	}
	return &policies.MatchedBody{ID: d.PolicyID, Name: d.PolicyName, Version: d.PolicyVersion}
}

// reservedMark begins what decides where no policy does.
const reservedMark = "writ:"

// refusedCall is the answer to a call that cannot be read.
func refusedCall(reason string) enforcement.Answer {
	return enforcement.Answer{Ruling: verdict.Ruling{Reason: reason}, Step: -1}
}
