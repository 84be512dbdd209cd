package intent

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/fault"
)

// MintedAction is what the log says of a new plan, with the plan as its subject.
const MintedAction = "plan.minted"

// EraseText forgets what a plan said, when the payload of its entry is erased: the
// shown copy at once, and the exact text unless the plan is live, because then calls
// are judged by it. Its root and whom it was for stay, and it authorises nothing.
func EraseText(ctx context.Context, tx *database.Tx, orgID, planID string) error {
	_, err := tx.Exec(ctx, `UPDATE plan SET goal = '' WHERE org_id = $1 AND id = $2`, orgID, planID)
	if err == nil {
		_, err = tx.Exec(ctx, `
			UPDATE plan_anchor
			SET shown = ''
			WHERE plan_id IN (SELECT id FROM plan WHERE org_id = $1 AND id = $2)`, orgID, planID)
	}
	if err == nil {
		_, err = tx.Exec(ctx, `
			UPDATE plan_anchor
			SET sealed = $3
			WHERE plan_id IN (SELECT id FROM plan WHERE org_id = $1 AND id = $2 AND (status <> 'active' OR expires_at <= $4))`,
			orgID, planID, []byte{}, database.Micros(tx.Now()))
	}
	if err != nil {
		return fmt.Errorf("erase the text of plan %s: %w", planID, err)
	}
	return nil
}

// errErased answers who asks for a text that is gone.
func errErased() error { return fault.New(fault.NotFound, "the text of this plan was erased") }
