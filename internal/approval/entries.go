package approval

import (
	"context"
	"fmt"

	"writ/internal/database"
)

// RequestsAt are the requests that entries of the log describe, for those who hold copies
// that must be erased with the entries' payloads.
func RequestsAt(ctx context.Context, r database.Reader, orgID string, positions []int64) (ids []string, err error) {
	for _, position := range positions {
		found, err := database.Collect(ctx, r, database.Column[string], `
			SELECT id
			FROM approval_request
			WHERE org_id = $1 AND (opened_at_entry = $2 OR decided_at_entry = $2)`, orgID, position)
		if err != nil {
			return nil, fmt.Errorf("find the requests of entry %d: %w", position, err)
		}
		ids = append(ids, found...)
	}
	return ids, nil
}
