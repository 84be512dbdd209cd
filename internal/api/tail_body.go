package api

import (
	"time"

	"writ/internal/decision"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// TailedTraceBody is a trace in a live tail.
type TailedTraceBody struct {
	ID                string     `json:"id" format:"uuid" doc:"The id it was sent with."`
	ReceivedAt        time.Time  `json:"receivedAt" doc:"When it came, or what it got since. With id it tells a repeat."`
	Grew              bool       `json:"grew" doc:"It was there before, and got more spans."`
	SessionID         *string    `json:"sessionId" format:"uuid" doc:"The session it belongs to; null when it has none."`
	Name              string     `json:"name" doc:"What was done."`
	StartTime         time.Time  `json:"startTime" doc:"When it began, by the client's clock."`
	EndTime           *time.Time `json:"endTime" doc:"When it ended; null when that was not sent."`
	DurationMs        *int64     `json:"durationMs" doc:"In milliseconds; null when that is not known."`
	Status            string     `json:"status" enum:"ok,error,denied" doc:"How it ended."`
	UserID            *string    `json:"userId" format:"uuid" doc:"The person the agent worked for; null when that was not sent."`
	AgentID           string     `json:"agentId" doc:"The agent, in the client's own words."`
	Product           string     `json:"product" doc:"The client product."`
	Source            string     `json:"source" doc:"The client that sent it."`
	TotalInputTokens  int64      `json:"totalInputTokens" doc:"Of its generation spans."`
	TotalOutputTokens int64      `json:"totalOutputTokens" doc:"Of its generation spans."`
	TotalCostUSD      float64    `json:"totalCostUsd" doc:"Of its generation spans, in US dollars."`
	SpanCount         int64      `json:"spanCount" doc:"How many spans it has by now."`
	ErrorCount        int64      `json:"errorCount" doc:"Spans whose status is not ok."`
	InputPreview      *string    `json:"inputPreview" doc:"null also for callers who may not read payloads."`
	OutputPreview     *string    `json:"outputPreview" doc:"Likewise."`
}

func tailedTrace(caller principal.Principal, a telemetry.Arrival) *TailedTraceBody {
	t := visible(caller, a.TraceItem)
	return &TailedTraceBody{
		ID:                t.ID,
		ReceivedAt:        a.At,
		Grew:              a.Grew,
		SessionID:         orNull(t.SessionID),
		Name:              t.Name,
		StartTime:         t.Start,
		EndTime:           t.End,
		DurationMs:        t.DurationMs,
		Status:            t.Status,
		UserID:            orNull(t.UserID),
		AgentID:           t.AgentID,
		Product:           t.Product,
		Source:            t.Source,
		TotalInputTokens:  t.Usage.Input,
		TotalOutputTokens: t.Usage.Output,
		TotalCostUSD:      t.Usage.Dollars(),
		SpanCount:         t.SpanCount,
		ErrorCount:        t.ErrorCount,
		InputPreview:      t.InputPreview,
		OutputPreview:     t.OutputPreview,
	}
}

// TailedDecisionBody is a decision in a live tail.
type TailedDecisionBody struct {
	Index         int64     `json:"index" doc:"Of its entry in the organization's log."`
	ID            string    `json:"id" format:"uuid" doc:"Of the decision."`
	At            time.Time `json:"at" doc:"When it was made."`
	Decision      string    `json:"decision" enum:"allow,deny,hold,ask" doc:"The answer."`
	AgentID       string    `json:"agentId" doc:"The agent, in the client's own words."`
	SessionID     string    `json:"sessionId,omitzero" doc:"The session of the call."`
	PlanID        string    `json:"planId,omitzero" doc:"The plan it was made under."`
	Step          string    `json:"step,omitzero" doc:"Of the plan."`
	Server        string    `json:"server" doc:"The server of the tool."`
	Tool          string    `json:"tool" doc:"The tool that was to be called."`
	PolicyID      string    `json:"policyId" doc:"What decided."`
	PolicyVersion int       `json:"policyVersion,omitzero" doc:"Of the policy."`
	RuleID        string    `json:"ruleId,omitzero" doc:"The rule that matched."`

	PolicyName string `json:"policyName,omitzero" doc:"This and what follows only for callers who may read payloads, and until it is erased."`
	Reason     string `json:"reason,omitzero" doc:"In words."`
	ApprovalID string `json:"approvalId,omitzero" doc:"The request a call waits for, or whose yes let it run."`
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
