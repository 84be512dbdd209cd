package enforcement

import (
	"context"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// Action is what the audit log calls a decision.
const Action = "call.decided"

// record appends the decision to the log and stores it: one entry, one row.
func record(ctx context.Context, tx *database.Tx, c *call, o *outcome, generation int64) (*audit.Appended, error) {
	r := &c.request
	o.finish()
	payload, err := c.payload(o)
	if err != nil {
		return nil, err
	}
	text, err := payload.canonical()
	if err != nil {
		return nil, err
	}
	row := policy.DecisionRecord{
		ID: c.id, OrgID: c.by.OrgID, Generation: generation, KeyID: c.by.KeyID, UserID: r.UserID, AgentID: r.AgentID, SessionID: r.SessionID,
		Environment: r.Environment, Server: o.server, Tool: r.Tool, Labels: r.Labels, ArgumentsDigest: c.digest, Redacted: c.hidden || c.shown == nil,
		Verdict: o.Verdict, PolicyID: o.PolicyID, PolicyName: o.PolicyName, PolicyVersion: o.PolicyVersion, Rule: o.Rule, Reason: o.Reason, Message: o.Message,
		RequestID: payload.Approval, Duration: time.Since(c.started),
	}
	if o.plan != nil {
		row.PlanID = o.plan.ID
	}
	if o.step >= 0 {
		row.Step = strconv.Itoa(o.step)
	}
	if row.Explanation, err = textOf(payload.Failed); err != nil {
		return nil, err
	}
	if o.Verdict == verdict.Allow {
		if row.Claims, err = textOf(o.Claims); err != nil {
			return nil, err
		}
	}
	appended, err := audit.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(c.by.OrgID), Action: Action, Actor: c.by, Subject: audit.Subject{Type: "decision", ID: c.id}, Observation: true,
		Decision: audit.Decision{Agent: r.AgentID, Tool: r.Tool, Verdict: o.Verdict.String(), Plan: row.PlanID}, Payload: text,
	})
	if err != nil {
		return nil, err
	}
	row.AuditPosition = appended.Index
	return appended, policy.InsertDecision(ctx, tx, row)
}

// textOf is a list as JSON; nothing where it is empty.
func textOf[T any](list []T) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return json.Marshal(list)
}
