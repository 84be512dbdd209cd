package intent

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent/plan"
)

// UseStep claims one of the steps that a call fits, in the decision's transaction.
// It returns the step, or -1 and the refusal to record instead. A plan without limits
// costs no statement.
//
// The claim is a conditional update, and exact however many calls claim at once,
// because the change holds the lock of the organization's log.
func (s *Service) UseStep(
	ctx context.Context, tx *database.Tx, d *plan.Declared, steps []int,
) (step int, refused plan.Result, err error) {
	if !tx.HoldsLog(audit.LogOf(d.Binding.OrgID)) {
		return -1, plan.Result{}, fmt.Errorf("use a step of plan %s: the change does not declare the log of its organization", d.ID)
	}
	at := plan.Progress{Last: -1}
	if d.Plan.Ordered {
		at, err = readProgress(ctx, tx, d, steps)
	}
	for err == nil {
		step, refused = d.Plan.Next(steps, at)
		if step < 0 {
			return -1, refused, nil
		}
		var claimed bool
		if claimed, err = claim(ctx, tx, d, at.Last, step); err != nil || claimed {
			break
		}
		if at.Uses != nil {
			err = fmt.Errorf("use step %d of plan %s: it was used by another at the same time", step, d.ID)
			break
		}
		at, err = readProgress(ctx, tx, d, steps) // the first step that fits is used up
	}
	if err != nil {
		return -1, plan.Result{}, err
	}
	return step, plan.Result{}, nil
}

// CanUse reports whether UseStep would claim a step now, else the refusal. It runs
// before a person is asked: nobody should approve a call that the plan will refuse.
func (s *Service) CanUse(
	ctx context.Context, tx *database.Tx, d *plan.Declared, steps []int,
) (can bool, refused plan.Result, err error) {
	at := plan.Progress{Last: -1}
	step, refused := d.Plan.Next(steps, at)
	if d.Plan.Ordered || step >= 0 && d.Plan.Steps[step].MaxCalls > 0 {
		if at, err = readProgress(ctx, tx, d, steps); err != nil {
			return false, plan.Result{}, err
		}
		step, refused = d.Plan.Next(steps, at)
	}
	return step >= 0, refused, nil
}

// Usable are those of the steps that UseStep would claim now, each by itself; if there is none, the refusal.
func (s *Service) Usable(
	ctx context.Context, tx *database.Tx, d *plan.Declared, steps []int,
) (usable []int, refused plan.Result, err error) {
	at, err := readProgress(ctx, tx, d, steps)
	if err != nil {
		return nil, plan.Result{}, err
	}
	usable, refused = d.Plan.Usable(steps, at)
	return usable, refused, nil
}

// readProgress reads how far a plan has been used. Uses are read in one statement:
// one for each of hundreds of steps would hold up all other decisions.
func readProgress(ctx context.Context, tx *database.Tx, d *plan.Declared, steps []int) (plan.Progress, error) {
	at := plan.Progress{Last: -1, Uses: map[int]int64{}}
	var err error
	if d.Plan.Ordered {
		at.Last, err = selectPosition(ctx, tx, d)
	}
	if err == nil && slices.ContainsFunc(steps, func(i int) bool { return d.Plan.Steps[i].MaxCalls > 0 }) {
		at.Uses, err = selectUses(ctx, tx.Prepared(), d.ID, d.Anchor)
	}
	return at, err
}

// claim counts a use of the step if the plan limits it, and moves an ordered plan on
// to it.
func claim(ctx context.Context, tx *database.Tx, d *plan.Declared, last, step int) (claimed bool, err error) {
	claimed = true
	if d.Plan.Steps[step].MaxCalls > 0 {
		claimed, err = claimStep(ctx, tx, d, step)
	}
	if err == nil && claimed && d.Plan.Ordered && step != last {
		claimed, err = movePosition(ctx, tx, d, last, step)
	}
	return claimed, err
}
