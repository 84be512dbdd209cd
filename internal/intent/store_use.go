package intent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"writ/internal/database"
	"writ/internal/intent/plan"
)

// claimStep counts one more use of a limited step, unless all are used.
func claimStep(ctx context.Context, tx *database.Tx, d *plan.Declared, step int) (bool, error) {
	changed, err := tx.Exec(ctx, `
		INSERT INTO plan_step (plan_id, anchor, step, uses)
		VALUES ($1, $2, $3, 1)
		ON CONFLICT (plan_id, anchor, step) DO UPDATE
		SET uses = plan_step.uses + 1
		WHERE plan_step.uses < $4`, d.ID, d.Anchor, step, d.Plan.Steps[step].MaxCalls)
	return changed == 1, database.Wrap(err, "use step %d of plan %s", step, d.ID)
}

// selectUses is how often a step was used.
func selectUses(ctx context.Context, r database.Reader, d *plan.Declared, step int) (uses int64, err error) {
	err = r.QueryRow(ctx, `
		SELECT uses
		FROM plan_step
		WHERE plan_id = $1 AND anchor = $2 AND step = $3`, d.ID, d.Anchor, step).Scan(&uses)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("uses of step %d of plan %s: %w", step, d.ID, err)
	}
	return uses, nil
}

// selectAllUses is how often each limited step was used, by index.
func selectAllUses(ctx context.Context, r database.Reader, planID string, anchor int64) (map[int]int64, error) {
	type use struct {
		step int
		uses int64
	}
	rows, err := database.Collect(ctx, r, func(s database.Scanner) (u use, err error) {
		err = s.Scan(&u.step, &u.uses)
		return u, err
	}, `SELECT step, uses FROM plan_step WHERE plan_id = $1 AND anchor = $2`, planID, anchor)
	if err != nil {
		return nil, fmt.Errorf("uses of plan %s: %w", planID, err)
	}
	uses := make(map[int]int64, len(rows))
	for _, u := range rows {
		uses[u.step] = u.uses
	}
	return uses, nil
}

// selectPosition is the step of an ordered plan that was used last.
func selectPosition(ctx context.Context, tx *database.Tx, d *plan.Declared) (last int, err error) {
	err = tx.QueryRow(ctx, `SELECT position FROM plan_anchor WHERE plan_id = $1 AND number = $2`, d.ID,
		d.Anchor).Scan(&last)
	return last, database.Wrap(err, "position of plan %s", d.ID)
}

// movePosition makes a step the one used last, if that is still the one it was.
func movePosition(ctx context.Context, tx *database.Tx, d *plan.Declared, last, step int) (bool, error) {
	changed, err := tx.Exec(ctx, `
		UPDATE plan_anchor
		SET position = $4
		WHERE plan_id = $1 AND number = $2 AND position = $3`, d.ID, d.Anchor, last, step)
	return changed == 1, database.Wrap(err, "use step %d of plan %s", step, d.ID)
}
