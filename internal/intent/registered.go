package intent

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
)

// holdersTried bounds how many live plans are looked at for one call.
const holdersTried = 20

// errSelfPlanned is told to the model whose plugin made a plan by itself.
func errSelfPlanned() error {
	return fault.New(fault.Forbidden,
		"no plan holds this call: register a plan that names the tools you will use and what for "+
			"(register_intent_plan), then call the tool again")
}

// allowUnderRegistered lets a plan that a plugin made by itself through when
// a live plan of the same key, user, agent and context holds its one call. The
// new plan ends no later than that one, and with it. One that limits or orders
// its steps does not count: calls made under another plan would escape its
// counting.
func (s *Service) allowUnderRegistered(ctx context.Context, n *newPlan) error {
	ids, err := selectLive(ctx, s.db, n.binding, s.db.Now(), holdersTried)
	if err != nil {
		return err
	}
	step := n.plan.Steps[0]
	call := plan.Call{Server: step.Server, Tool: step.Tool, Arguments: step.Arguments()}
	for _, id := range ids {
		row, err := selectPlan(ctx, s.db, n.binding.OrgID, id)
		if err != nil {
			return err
		}
		holder, err := s.declared(row)
		if err != nil {
			return err
		}
		if holder.Plan.Limited() || !holder.Fit(call).OK {
			continue
		}
		n.parentID = id
		if holder.Expires.Before(n.expires) {
			n.expires = holder.Expires
		}
		return nil
	}
	return errSelfPlanned()
}

// stillUnder refuses a plan whose holder was ended since it was looked up.
func (n *newPlan) stillUnder(ctx context.Context, tx *database.Tx) error {
	if n.parentID == "" {
		return nil
	}
	status, _, err := selectStanding(ctx, tx, n.parentID)
	if err != nil {
		return fmt.Errorf("read plan %s: %w", n.parentID, err)
	}
	if status != plan.Active {
		return errSelfPlanned()
	}
	return nil
}
