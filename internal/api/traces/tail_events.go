package traces

import (
	"time"

	"writ/internal/decision"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// TailedTraceBody is a trace in a live tail.
type TailedTraceBody struct {
	TraceHeadBody
	ReceivedAt time.Time `json:"receivedAt" doc:"When it came, or its latest spans did. With id it tells a repeat."`
	Grew       bool      `json:"grew" doc:"It was there before, and got more spans."`
	Product    string    `json:"product" doc:"The client product."`
	Source     string    `json:"source" doc:"The client that sent it."`
	TraceTotalsBody
}

func tailedTrace(caller principal.Principal, a telemetry.Arrival) *TailedTraceBody {
	t := visible(caller, a.TraceItem)
	return &TailedTraceBody{
		TraceHeadBody:   traceHead(&t),
		ReceivedAt:      a.At,
		Grew:            a.Grew,
		Product:         t.Product,
		Source:          t.Source,
		TraceTotalsBody: traceTotals(&t),
	}
}

// TailedDecisionBody is a decision in a live tail.
type TailedDecisionBody struct {
	Index         int64     `json:"index" doc:"Of its entry in the organization's log."`
	ID            string    `json:"id" format:"uuid" doc:"Of the decision."`
	At            time.Time `json:"at" doc:"When it was made."`
	Decision      string    `json:"decision" enum:"allow,deny,hold,ask,altered" doc:"The verdict; altered where the log does not prove it."`
	AgentID       string    `json:"agentId" doc:"The agent, in the client's own words."`
	SessionID     string    `json:"sessionId,omitzero" doc:"The session of the call."`
	PlanID        string    `json:"planId,omitzero" doc:"The plan it was made under."`
	Step          string    `json:"step,omitzero" doc:"Of the plan."`
	Server        string    `json:"server" doc:"The server of the tool."`
	Tool          string    `json:"tool" doc:"The tool that was to be called."`
	PolicyID      string    `json:"policyId" doc:"The id of what decided."`
	PolicyVersion int       `json:"policyVersion,omitzero" doc:"Of the policy."`
	RuleID        string    `json:"ruleId,omitzero" doc:"The rule that matched."`
	Altered       string    `json:"altered,omitzero" doc:"Why the entry must not be taken for what was recorded: somebody altered the database. Where the record itself is not proved, only index and time are given."`

	PolicyName string `json:"policyName,omitzero" doc:"This and the following members are only for callers who may read payloads, and only until they are erased."`
	Reason     string `json:"reason,omitzero" doc:"Why, in words."`
	ApprovalID string `json:"approvalId,omitzero" doc:"The request a call waits for, or whose approval let it run."`
}

func tailedDecision(caller principal.Principal, d *decision.Record) *TailedDecisionBody {
	b := &TailedDecisionBody{
		Index:         d.Index,
		ID:            d.ID,
		At:            d.At,
		Decision:      d.Verdict.String(),
		AgentID:       d.AgentID,
		SessionID:     d.SessionID,
		PlanID:        d.PlanID,
		Step:          d.Step,
		Server:        d.Server,
		Tool:          d.Tool,
		PolicyID:      d.PolicyID,
		PolicyVersion: d.PolicyVersion,
		RuleID:        d.Rule,
	}
	if caller.May(principal.ReadPayloads) {
		b.PolicyName, b.Reason, b.ApprovalID = d.PolicyName, d.Reason, d.ApprovalID
	}
	return b
}
