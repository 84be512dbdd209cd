package intent

import (
	"context"
	"fmt"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/principal"
)

// NoteAllowed notes, in the decision's transaction, that a step was allowed though nobody had seen the arguments of its
// call. A report with other arguments than the noted steps state then ends the plan.
func NoteAllowed(ctx context.Context, tx *database.Tx, planID string, step int) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO plan_step_allowed (plan_id, step)
		VALUES ($1, $2)
		ON CONFLICT (plan_id, step) DO NOTHING`, planID, step)
	return database.Wrap(err, "note that step %d of plan %s was allowed", step, planID)
}

// EndIfOther ends a plan of the caller, in the report's transaction, if the reported call has other arguments than the
// noted steps with its tool. It reports whether it has. A call may also have been decided with its arguments: decided
// reports whether that covers a call that fits these steps, which are not noted.
func (s *Service) EndIfOther(
	ctx context.Context, tx *database.Tx, p principal.Principal, planID string, call plan.Call,
	decided func(steps []int) (bool, error),
) (other bool, err error) {
	allowed, err := selectAllowed(ctx, tx, planID)
	if err != nil || len(allowed) == 0 {
		return false, err
	}
	if !tx.HoldsLog(audit.LogOf(p.OrgID)) {
		return false, fmt.Errorf("compare a report with plan %s: the change does not declare the log of its organization", planID)
	}
	row, err := selectPlan(ctx, tx, p.OrgID, planID)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil || row.Binding.KeyID != p.KeyID || len(row.sealed) == 0 {
		return false, err // another key's report, or a plan whose text was erased
	}
	_, planned, err := s.open(row)
	if err != nil {
		return false, err
	}
	if fits, err := fitsAllowed(planned, call, allowed, decided); err != nil || fits {
		return false, err
	}
	if row.stored != plan.Active {
		return true, nil
	}
	return true, s.changeStatus(ctx, tx, p, row, plan.Failed, "a report has other arguments than the plan")
}

// fitsAllowed reports whether a reported call has the arguments of an allowed step, or is of a tool without one.
func fitsAllowed(
	planned *plan.Plan, call plan.Call, allowed map[int]bool, decided func(steps []int) (bool, error),
) (bool, error) {
	isNoted := false
	var others []int
	for _, i := range planned.Planned(call.Tool) {
		fits := planned.Reported(i, call.Arguments)
		switch {
		case allowed[i] && fits:
			return true, nil
		case allowed[i]:
			isNoted = true
		case fits:
			others = append(others, i)
		}
	}
	if !isNoted {
		return true, nil
	}
	if len(others) == 0 {
		return false, nil
	}
	return decided(others)
}

func selectAllowed(ctx context.Context, tx *database.Tx, planID string) (map[int]bool, error) {
	allowed := map[int]bool{}
	_, err := database.Collect(ctx, tx, func(row database.Scanner) (none struct{}, err error) {
		var step int
		err = row.Scan(&step)
		allowed[step] = true
		return none, err
	}, `SELECT step FROM plan_step_allowed WHERE plan_id = $1`, planID)
	return allowed, database.Wrap(err, "read which steps of plan %s were allowed", planID)
}
