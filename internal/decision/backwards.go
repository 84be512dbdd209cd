package decision

import (
	"context"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
)

// backwardSlice is how many decisions are read at once on the way back.
const backwardSlice = 250

// Backwards gives the decisions of an organization since an instant to a function,
// newest first, until it has had enough; of an agent alone, where one is named. No
// transaction is open between slices.
func Backwards(
	ctx context.Context, r database.Reader, orgID, agentID string, since time.Time, take func(Record) (more bool),
) error {
	var place audit.Position
	for {
		entries, err := audit.DecisionsBefore(ctx, r, audit.LogOf(orgID), agentID, since, place, backwardSlice)
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
			place = entries[i].Before()
		}
		if len(entries) < backwardSlice {
			return nil
		}
	}
}
