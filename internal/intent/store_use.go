package intent

import (
	"context"

	"writ/internal/database"
	"writ/internal/intent/plan"
)

// claimStep counts one more use of a limited step, unless all are used.
func claimStep(ctx context.Context, tx *database.Tx, d *plan.Declared, step int) (bool, error) {
	changed, err := tx.Prepared().Exec(ctx, `
		INSERT INTO plan_step (plan_id, anchor, step, uses)
		VALUES ($1, $2, $3, 1)
		ON CONFLICT (plan_id, anchor, step) DO UPDATE
		SET uses = plan_step.uses + 1
		WHERE plan_step.uses < $4`, d.ID, d.Anchor, step, d.Plan.Steps[step].MaxCalls)
	return changed == 1, database.Wrap(err, "use step %d of plan %s", step, d.ID)
}

// selectUses counts the calls of each limited step, by index.
func selectUses(ctx context.Context, r database.Reader, planID string, anchor int64) (map[int]int64, error) {
	uses := map[int]int64{}
	_, err := database.Collect(ctx, r, func(s database.Scanner) (step int, err error) {
		var calls int64
		err = s.Scan(&step, &calls)
		uses[step] = calls
		return step, err
	}, `SELECT step, uses FROM plan_step WHERE plan_id = $1 AND anchor = $2`, planID, anchor)
	return uses, database.Wrap(err, "uses of plan %s", planID)
}

// selectPosition is the step of an ordered plan that was used last.
func selectPosition(ctx context.Context, tx *database.Tx, d *plan.Declared) (last int, err error) {
	err = tx.Prepared().QueryRow(ctx, `SELECT position FROM plan_anchor WHERE plan_id = $1 AND number = $2`, d.ID,
		d.Anchor).Scan(&last)
	return last, database.Wrap(err, "position of plan %s", d.ID)
}

// movePosition makes a step the one used last, unless another call was faster.
func movePosition(ctx context.Context, tx *database.Tx, d *plan.Declared, last, step int) (bool, error) {
	changed, err := tx.Prepared().Exec(ctx, `
		UPDATE plan_anchor
		SET position = $4
		WHERE plan_id = $1 AND number = $2 AND position = $3`, d.ID, d.Anchor, last, step)
	return changed == 1, database.Wrap(err, "use step %d of plan %s", step, d.ID)
}
