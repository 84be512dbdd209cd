package enforcement

import (
	"context"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/agent"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/redaction"
	"writ/internal/verdict"
)

// record appends the decision to the log, and tells those who count or carry out by it.
func (s *Service) record(ctx context.Context, tx *database.Tx, c *call, o *outcome) (*audit.Appended, error) {
	o.finish()
	entry, err := entryOf(c, o)
	if err != nil {
		return nil, err
	}
	if c.problem == "" { // else the agent's name is not what was sent
		seen := agent.Sighting{OrgID: c.by.OrgID, AgentID: entry.AgentID, KeyID: c.by.KeyID}
		if err := s.agents.Saw(ctx, tx, seen, c.request.Source); err != nil {
			return nil, err
		}
	}
	if err := c.tellCarrier(ctx, tx, &entry); err != nil {
		return nil, err
	}
	appended, err := decision.Append(ctx, tx, s.log, c.by, &entry)
	if err == nil && o.counting != (agent.Counting{}) {
		err = s.agents.Counted(ctx, tx, c.by.OrgID, o.counting, o.Verdict == verdict.Deny && !o.ours)
	}
	return appended, err
}

// entryOf is the decision as it is stored.
func entryOf(c *call, o *outcome) (entry decision.Record, err error) {
	r := &c.request
	entry = decision.Record{
		ID:        c.id,
		OrgID:     c.by.OrgID,
		AgentID:   r.AgentID,
		SessionID: r.SessionID,
		Server:    o.server,
		Tool:      o.tool(c),
		Ruling:    o.Ruling,
		Verified:  c.verifies,
		Details:   detailsOf(c, o),
	}
	if entry.Tool != r.Tool {
		entry.SpelledAs = r.Tool
	}
	if o.Verdict == verdict.Allow {
		entry.Confine = o.Confine
	}
	if o.Verdict != verdict.Deny {
		entry.Oblige = o.Oblige // an approval does not lift it
	}
	if o.caller != nil { // the plan's agent and session, if the call states none
		entry.AgentID, entry.SessionID = o.caller.Agent.ID, o.caller.Session.ID
	}
	if o.plan != nil {
		entry.PlanID, entry.UnderPlan = o.plan.ID, o.plan.Under
	}
	if o.step >= 0 {
		entry.Step = strconv.Itoa(o.step)
	}
	if o.standing != nil {
		entry.StandingID = o.standing.ID
	}
	for _, f := range o.Failed {
		entry.Failed = append(entry.Failed, decision.Failure{Error: f.Error, Policy: f.PolicyID, Rule: f.Rule})
	}
	entry.Paths, err = shownPaths(r.ResolvedPaths)
	return entry, err
}

// detailsOf is the part of the decision that can be erased.
func detailsOf(c *call, o *outcome) decision.Details {
	r := &c.request
	return decision.Details{
		Arguments:     c.args.Shown,
		ArgumentsFrom: c.argumentsFrom,
		CalledAs:      r.CalledAs,
		Judged:        o.judged(),
		Digest:        c.digest,
		Incomplete:    c.args.Incomplete,
		PlacedOn:      o.placedOn,
		UserID:        r.UserID,
		Email:         r.UserEmail,
		ContextID:     r.ContextID,
		Source:        r.Source,
		Environment:   r.Environment,
		Labels:        r.Labels,
		ApprovalID:    o.approvalID(),
		Duration:      time.Since(c.started),
		Shadows:       o.shadows,
		Demanded:      o.Demanded,
		Grounding:     o.grounded.Doubts,
	}
}

// tellCarrier lets whoever has the call carried out elsewhere store the decision with it.
func (c *call) tellCarrier(ctx context.Context, tx *database.Tx, d *decision.Record) error {
	if c.request.Carried == nil || c.request.Carried.Recorded == nil {
		return nil
	}
	return c.request.Carried.Recorded(ctx, tx, Recorded{
		ID: d.ID, AgentID: d.AgentID, ApprovalID: d.ApprovalID, Verdict: d.Verdict,
		Oblige: d.Oblige,
	})
}

// shownPaths is resolved paths as they are stored.
func shownPaths(resolved map[string]string) (jsontext.Value, error) {
	if len(resolved) == 0 {
		return nil, nil
	}
	paths, err := json.Marshal(resolved, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return redaction.JSON(paths)
}

// PlanTally counts the decisions under a plan of the caller's organization. The API checks that the caller may see the
// plan.
func (s *Service) PlanTally(ctx context.Context, p principal.Principal, planID string) ([]decision.Tally, error) {
	if p.OrgID == "" || planID == "" {
		return nil, fault.New(fault.Forbidden, "decisions belong to an organization")
	}
	return decision.TallyOf(ctx, s.db, p.OrgID, planID)
}

// judged is what the decision was judged by, for the record.
func (d *candidate) judged() (j decision.Judged) {
	if d.caller == nil {
		return j
	}
	return decision.Judged{
		AgentBound: d.caller.Key.AgentID != "",

		AgentCertificate: d.certificate,

		AgentName:       d.caller.Agent.Name,
		AgentRegistered: d.caller.Agent.Registered,
		AgentStatus:     d.caller.Agent.Status,

		CanConfine:   d.caller.CanConfine,
		Grounded:     d.caller.Intent.Grounded,
		Email:        d.caller.User.Email,
		Organization: d.caller.Org.Name,
		OwnerID:      d.caller.Key.OwnerID,
		OwnerRole:    d.caller.Key.OwnerRole,
		Session:      d.sessionUse,
		Step:         d.caller.Intent.Step,
		UserID:       d.caller.User.ID,
		UserRole:     d.caller.User.Role,
	}
}
