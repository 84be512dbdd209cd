package intent

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
)

// holdersTried bounds how many live plans are tried for one call.
const holdersTried = 20

// errSelfPlanned answers a plugin that made a plan by itself. The model reads it.
func errSelfPlanned() error {
	return fault.New(fault.Forbidden,
		"no plan has this call: register a plan that names the tools you will use and what for "+
			"(register_intent_plan), then call the tool again")
}

// allowUnderRegistered accepts a plan that a plugin made by itself if a live plan of
// the same key, user, agent and context has its one call. The new plan ends with that
// plan. A plan that limits or orders its steps does not count, because it does not
// count the calls made under another plan.
func (s *Service) allowUnderRegistered(ctx context.Context, n *newPlan) error {
	ids, err := selectLive(ctx, s.db, n.binding, s.db.Now(), holdersTried)
	if err != nil {
		return err
	}
	step := n.plan.Steps[0]
	call := plan.Call{Server: step.Server, Tool: step.Tool, Arguments: step.Arguments()}
	for _, id := range ids {
		holder, err := s.readOwn(ctx, n, id)
		if err != nil {
			return err
		}
		if holder.Plan.Limited() || !holder.Fit(call).OK {
			continue
		}
		if ended, err := s.hasEnded(ctx, s.db, holder); err != nil || ended {
			if err != nil {
				return err
			}
			continue
		}
		n.parentID, n.parentAnchor = id, holder.Anchor
		if holder.Expires.Before(n.expires) {
			n.expires = holder.Expires
		}
		return nil
	}
	return errSelfPlanned()
}

// readOwn reads a plan of the organization of a new one.
func (s *Service) readOwn(ctx context.Context, n *newPlan, id string) (*plan.Declared, error) {
	row, err := selectPlan(ctx, s.db, n.binding.OrgID, id)
	if err != nil {
		return nil, err
	}
	return s.declared(ctx, s.db, row)
}

// hasEnded reports whether the kill switch has ended a plan, or the one that it was accepted under.
func (s *Service) hasEnded(ctx context.Context, r database.Reader, d *plan.Declared) (bool, error) {
	return s.agents.Ended(ctx, r, d.Binding.OrgID, d.Binding.AgentID, d.Binding.KeyID, d.ID, d.Under)
}

// stillUnder refuses a plan whose parent has ended since allowUnderRegistered. It is stale if that has another version
// now, which may not permit the call.
func (s *Service) stillUnder(ctx context.Context, tx *database.Tx, n *newPlan) (stale bool, err error) {
	if n.parentID == "" {
		return false, nil
	}
	at, err := selectState(ctx, tx, n.parentID)
	if err != nil {
		return false, fmt.Errorf("read plan %s: %w", n.parentID, err)
	}
	if at.status != plan.Active {
		return false, errSelfPlanned()
	}
	if at.anchor != n.parentAnchor {
		return true, nil
	}
	ended, err := s.agents.Ended(ctx, tx, n.binding.OrgID, n.binding.AgentID, n.binding.KeyID, n.parentID)
	if err == nil && ended {
		err = errSelfPlanned()
	}
	return false, err
}

// accepted selects the live plans that were accepted under plan $1 at time $2. What was delegated from it is judged
// with it, and is none of them. Those that expired are left alone: a plan that lives for weeks has any number of them.
const accepted = `parent_id = $1 AND status = 'active' AND expires_at > $2
	AND NOT EXISTS (SELECT 1 FROM delegation d WHERE d.plan_id = plan.id)`

// endedAccepted is what an entry of the log says about the plans that endAccepted has ended.
type endedAccepted struct {
	Plans []string `json:"endedPlans,omitempty"` // the first of them
	Count int64    `json:"endedPlanCount,omitempty"`
}

// endAccepted ends the plans that were accepted under one, because that permits their calls no more, or not as it did.
func endAccepted(
	ctx context.Context, tx *database.Tx, holderID string, status plan.Status,
) (e endedAccepted, err error) {
	now := database.Micros(tx.Now())
	e.Plans, err = database.Collect(ctx, tx, database.Column[string], `
		SELECT id FROM plan WHERE `+accepted+` ORDER BY created_at, id LIMIT $3`, holderID, now, shownPlans)
	if err == nil && len(e.Plans) > 0 {
		e.Count, err = tx.Exec(ctx, `UPDATE plan SET status = $3, ended_at = $2 WHERE `+accepted, holderID, now,
			string(status))
	}
	return e, database.Wrap(err, "end the plans that were accepted under plan %s", holderID)
}
