package enforcement

import (
	"context"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/redaction"
)

// record appends the decision to the log.
func (s *Service) record(ctx context.Context, tx *database.Tx, c *call, o *outcome) (*audit.Appended, error) {
	r := &c.request
	o.finish()
	kept := decision.Record{
		ID:        c.id,
		OrgID:     c.by.OrgID,
		AgentID:   r.AgentID,
		SessionID: r.SessionID,
		Server:    o.server,
		Tool:      r.Tool,
		Ruling:    o.Ruling,
		Details: decision.Details{
			Arguments:   c.args.Shown,
			Digest:      c.digest,
			Incomplete:  c.args.Incomplete,
			PlacedOn:    o.placedOn,
			UserID:      r.UserID,
			Email:       r.UserEmail,
			ContextID:   r.ContextID,
			Source:      r.Source,
			Environment: r.Environment,
			Labels:      r.Labels,
			ApprovalID:  o.approvalID(),
			Duration:    time.Since(c.started),
			Shadows:     o.shadows,
		},
	}
	if o.plan != nil {
		kept.PlanID = o.plan.ID
	}
	if o.step >= 0 {
		kept.Step = strconv.Itoa(o.step)
	}
	if o.standing != nil {
		kept.StandingID = o.standing.ID
	}
	for _, f := range o.Failed {
		kept.Failed = append(kept.Failed, decision.Failure{Error: f.Error, Policy: f.PolicyID, Rule: f.Rule})
	}
	paths, err := shownPaths(r.ResolvedPaths)
	if err != nil {
		return nil, err
	}
	kept.Paths = paths
	return decision.Append(ctx, tx, s.log, c.by, &kept)
}

// shownPaths are resolved paths as they may be kept.
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

// PlanTally counts what was decided under a plan of the caller's organization. It
// asks nobody's leave about the plan: the caller has shown that they may see it.
func (s *Service) PlanTally(ctx context.Context, p principal.Principal, planID string) ([]decision.Tally, error) {
	if p.OrgID == "" || planID == "" {
		return nil, fault.New(fault.Forbidden, "decisions belong to an organization")
	}
	return decision.TallyOf(ctx, s.db, p.OrgID, planID)
}
