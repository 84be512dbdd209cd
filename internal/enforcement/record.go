package enforcement

import (
	"context"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/redaction"
	"writ/internal/verdict"
)

// Action is what the audit log calls a decision.
const Action = "call.decided"

// recorded is what the log says of a decision beside who, what and the verdict.
// It is the payload, which can be erased; arguments stand here and nowhere else.
type recorded struct {
	Server      string         `json:"server"`
	Arguments   jsontext.Value `json:"arguments,omitzero"` // redacted
	Digest      string         `json:"argumentsDigest,omitzero"`
	Incomplete  bool           `json:"incomplete,omitzero"` // arguments lack something
	User        string         `json:"user,omitzero"`
	Email       string         `json:"userEmail,omitzero"`
	Session     string         `json:"session,omitzero"`
	Context     string         `json:"context,omitzero"`
	Source      string         `json:"source,omitzero"`
	Environment string         `json:"environment,omitzero"`
	Labels      []string       `json:"labels,omitempty"`
	Paths       jsontext.Value `json:"resolvedPaths,omitzero"` // redacted

	Policy   string           `json:"policy"`
	Version  int              `json:"policyVersion,omitzero"`
	Rule     string           `json:"rule,omitzero"`
	Reason   string           `json:"reason"`
	Step     *int             `json:"step,omitzero"`
	Approval string           `json:"approval,omitzero"`
	Failed   []engine.Failure `json:"failed,omitempty"`
}

// record appends the decision to the log and stores it: one entry, one row.
func record(ctx context.Context, tx *database.Tx, c *call, o *outcome, generation int64) (*audit.Appended, error) {
	r := &c.request
	o.finish()
	payload, err := c.payload(o)
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
		Decision: audit.Decision{Agent: r.AgentID, Tool: r.Tool, Verdict: o.Verdict.String(), Plan: row.PlanID}, Payload: payload,
	})
	if err != nil {
		return nil, err
	}
	row.AuditPosition = appended.Index
	return appended, policy.InsertDecision(ctx, tx, row)
}

// finish names who decided in the end: the grant where one was used.
func (o *outcome) finish() {
	if !o.used {
		return
	}
	o.Verdict, o.PolicyID = verdict.Allow, policy.ByApproval
	o.Reason = "approved, once: " + o.Reason
}

func (c *call) payload(o *outcome) (recorded, error) {
	r := &c.request
	p := recorded{
		Server: o.server, Arguments: c.shown, Digest: hex.EncodeToString(c.digest), Incomplete: c.hidden, User: r.UserID, Email: r.UserEmail,
		Session: r.SessionID, Context: r.ContextID, Source: r.Source, Environment: r.Environment, Labels: r.Labels,
		Policy: o.PolicyID, Version: o.PolicyVersion, Rule: o.Rule, Reason: o.Reason, Failed: o.Failed,
	}
	if o.step >= 0 {
		p.Step = &o.step
	}
	if o.approval != nil {
		p.Approval = o.approval.ID
	}
	if len(r.ResolvedPaths) == 0 {
		return p, nil
	}
	paths, err := json.Marshal(r.ResolvedPaths, json.Deterministic(true))
	if err == nil {
		p.Paths, err = redaction.JSON(paths)
	}
	return p, err
}

// textOf is a list as JSON; nothing where it is empty.
func textOf[T any](list []T) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return json.Marshal(list)
}
