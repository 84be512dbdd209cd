package policy

import (
	"context"
	"fmt"

	"writ/internal/database"
)

// EraseCalls forgets what the calls of decisions were: their payload in the log is
// being erased, and a copy must not outlive it. That they were decided, and how,
// stays; a replay does not know them any more.
func EraseCalls(ctx context.Context, tx *database.Tx, orgID string, positions []int64) error {
	for _, position := range positions {
		_, err := tx.ExecOften(ctx, `
			UPDATE decision
			SET call = NULL, redacted = 1, explanation = '{}'
			WHERE org_id = $1 AND audit_position = $2`, orgID, position)
		if err != nil {
			return fmt.Errorf("erase the call of the decision at %d: %w", position, err)
		}
	}
	return nil
}
