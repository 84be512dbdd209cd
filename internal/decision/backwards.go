package decision

import (
	"context"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
)

// backwardSlice is how many decisions Backwards reads at once.
const backwardSlice = 250

// Backwards passes the decisions of an organization since an instant to take, newest
// first, until take returns false; with an agentID only those of the agent. No
// transaction is open between slices.
func Backwards(
	ctx context.Context, r database.Reader, orgID, agentID string, since time.Time, take func(Record) (more bool),
) error {
	var before audit.Position
	for {
		entries, err := audit.DecisionsBefore(ctx, r, audit.LogOf(orgID), agentID, since, before, backwardSlice)
		if err != nil {
			return err
		}
		for i := range entries {
			record, err := fromEntry(orgID, &entries[i])
			if err != nil {
				return fmt.Errorf("read the decision at %d: %w", entries[i].Index, err)
			}
			if !take(record) {
				return nil
			}
			before = entries[i].Before()
		}
		if len(entries) < backwardSlice {
			return nil
		}
	}
}
