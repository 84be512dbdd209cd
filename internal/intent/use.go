package intent

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent/plan"
)

// UseStep claims one of the steps a call fits, in the decision's transaction.
// It gives the step, or -1 and the refusal to be recorded in its place; an error
// means that nothing was decided. A plan that limits nothing costs no statement.
//
// The claim is a conditional update, and exact however many calls claim at once:
// the change holds the lock of the organization's log.
func (s *Service) UseStep(
	ctx context.Context, tx *database.Tx, d *plan.Declared, steps []int,
) (step int, refused plan.Result, err error) {
	if !tx.HoldsLog(audit.LogOf(d.Binding.OrgID)) {
		return -1, plan.Result{}, fmt.Errorf("use a step of plan %s: the change does not declare the log of its organization", d.ID)
	}
	if d.Plan.Ordered {
		return useOrdered(ctx, tx, d, steps)
	}
	step, refused = d.Plan.Next(steps, plan.Progress{Last: -1})
	if step < 0 || d.Plan.Steps[step].MaxCalls == 0 {
		return step, refused, nil
	}
	if claimed, err := claimStep(ctx, tx, d, step); err != nil || claimed {
		return step, plan.Result{}, err
	}
	return useLeft(ctx, tx, d, steps)
}

// useLeft claims a step when the first that fits is used up. What is left of the
// others is read at once: a statement for each of hundreds would hold up the
// decisions of everybody else.
func useLeft(
	ctx context.Context, tx *database.Tx, d *plan.Declared, steps []int,
) (step int, refused plan.Result, err error) {
	at := plan.Progress{Last: -1}
	if at.Uses, err = selectAllUses(ctx, tx, d.ID, d.Anchor); err != nil {
		return -1, plan.Result{}, err
	}
	step, refused = d.Plan.Next(steps, at)
	if step < 0 || d.Plan.Steps[step].MaxCalls == 0 {
		return step, refused, nil
	}
	claimed, err := claimStep(ctx, tx, d, step)
	if err == nil && !claimed {
		err = fmt.Errorf("use step %d of plan %s: it was used by another at the same time", step, d.ID)
	}
	if err != nil {
		return -1, plan.Result{}, err
	}
	return step, plan.Result{}, nil
}

// CanUse reports whether UseStep would claim a step now, and claims nothing; else
// it gives the refusal. It is asked before a person is: nobody should say yes to a
// call that the plan will not let run.
func (s *Service) CanUse(
	ctx context.Context, tx *database.Tx, d *plan.Declared, steps []int,
) (can bool, refused plan.Result, err error) {
	at := plan.Progress{Last: -1}
	switch step, refused := d.Plan.Next(steps, at); {
	case d.Plan.Ordered:
		at, err = orderedProgress(ctx, tx, d, steps)
	case step < 0 || d.Plan.Steps[step].MaxCalls == 0:
		return step >= 0, refused, nil
	default:
		at.Uses, err = selectAllUses(ctx, tx, d.ID, d.Anchor)
	}
	if err != nil {
		return false, plan.Result{}, err
	}
	step, refused := d.Plan.Next(steps, at)
	return step >= 0, refused, nil
}

// orderedProgress is how far an ordered plan is, as much as a call to some of its
// steps need know.
func orderedProgress(
	ctx context.Context, tx *database.Tx, d *plan.Declared, steps []int,
) (at plan.Progress, err error) {
	last, err := selectPosition(ctx, tx, d)
	if err != nil {
		return plan.Progress{}, err
	}
	at = plan.Progress{Last: last, Uses: map[int]int64{}}
	for _, i := range []int{last, last + 1} {
		if slices.Contains(steps, i) && d.Plan.Steps[i].MaxCalls > 0 {
			if at.Uses[i], err = selectUses(ctx, tx, d, i); err != nil {
				return plan.Progress{}, err
			}
		}
	}
	return at, nil
}

// useOrdered claims a step and the place in the order. Both are read first, for
// a claim that fails must leave nothing behind in a transaction that goes on.
func useOrdered(ctx context.Context, tx *database.Tx, d *plan.Declared, steps []int) (int, plan.Result, error) {
	at, err := orderedProgress(ctx, tx, d, steps)
	if err != nil {
		return -1, plan.Result{}, err
	}
	last := at.Last
	step, refused := d.Plan.Next(steps, at)
	if step < 0 {
		return -1, refused, nil
	}
	claimed := true
	if d.Plan.Steps[step].MaxCalls > 0 {
		claimed, err = claimStep(ctx, tx, d, step)
	}
	if err == nil && claimed && step != last {
		claimed, err = movePosition(ctx, tx, d, last, step)
	}
	if err == nil && !claimed {
		err = fmt.Errorf("use step %d of plan %s: it was used by another at the same time", step, d.ID)
	}
	if err != nil {
		return -1, plan.Result{}, err
	}
	return step, plan.Result{}, nil
}
