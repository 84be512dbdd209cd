package intent

import (
	"context"

	"writ/internal/database"
	"writ/internal/intent/plan"
)

// selectAnchor is how the present version of a plan followed the one before, as it was signed; empty: it is the first.
func selectAnchor(ctx context.Context, r database.Reader, d *plan.Declared) (signed string, err error) {
	err = r.QueryRow(ctx, `SELECT anchor FROM plan_anchor WHERE plan_id = $1 AND number = $2`, d.ID,
		d.Anchor).Scan(&signed)
	return signed, database.Wrap(err, "read anchor %d of plan %s", d.Anchor, d.ID)
}

// selectAnchorEntry is the log's entry of a version of a plan.
func selectAnchorEntry(ctx context.Context, r database.Reader, planID string, number int64) (entry int64, err error) {
	err = r.QueryRow(ctx, `SELECT entry FROM plan_anchor WHERE plan_id = $1 AND number = $2`, planID, number).Scan(&entry)
	return entry, database.Wrap(err, "read the entry of anchor %d of plan %s", number, planID)
}

// insertAnchor stores a version of a plan and makes it the present one. Uses of counted steps are carried over.
func insertAnchor(ctx context.Context, tx *database.Tx, n *newAnchor, grounds bool) error {
	id, number := n.before.ID, n.anchor.Number
	position := -1
	if n.compared.KeepsPosition {
		var err error
		if position, err = selectPosition(ctx, tx, n.before); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO plan_anchor (plan_id, number, root, sealed, shown, position, created_at, anchor)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, id, number, n.anchor.To, n.sealed, string(n.shown), position,
		database.Micros(tx.Now()), n.signed)
	if err == nil {
		_, err = tx.Exec(ctx, `
			UPDATE plan
			SET anchor = $2, steps = $3, goal = $4, source = $5, grounds = $6
			WHERE id = $1`, id, number, len(n.plan.Steps), n.goal, n.source, database.Bit(grounds))
	}
	for step, before := range n.compared.Carried {
		if err != nil {
			break
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO plan_step (plan_id, anchor, step, uses)
			SELECT plan_id, $2, $3, uses
			FROM plan_step
			WHERE plan_id = $1 AND anchor = $4 AND step = $5`, id, number, step, n.before.Anchor, before)
	}
	if err == nil {
		err = moveAllowed(ctx, tx, id, n.compared.Same)
	}
	if err == nil {
		err = reindexWords(ctx, tx, n.before.Binding.OrgID, id)
	}
	return database.Wrap(err, "store anchor %d of plan %s", number, id)
}

// moveAllowed gives the steps that were allowed without their arguments the indexes that they have now.
func moveAllowed(ctx context.Context, tx *database.Tx, planID string, same map[int]int) error {
	allowed, err := selectAllowed(ctx, tx, planID)
	if err != nil || len(allowed) == 0 {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM plan_step_allowed WHERE plan_id = $1`, planID); err != nil {
		return err
	}
	for before := range allowed {
		if now, ok := same[before]; ok {
			if err := NoteAllowed(ctx, tx, planID, now); err != nil {
				return err
			}
		}
	}
	return nil
}
