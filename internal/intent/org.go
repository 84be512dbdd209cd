package intent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"writ/internal/database"
)

// OrgOf is the organization of a plan, for the edge to place a caller in. It
// tells nobody anything: who is not in that organization gets the same answer as
// for a plan that does not exist.
func (s *Service) OrgOf(ctx context.Context, id string) (orgID string, err error) {
	if !database.IsID(id) {
		return "", noSuchPlan()
	}
	err = s.db.QueryRow(ctx, `SELECT org_id FROM plan WHERE id = $1`, id).Scan(&orgID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", noSuchPlan()
	}
	if err != nil {
		return "", fmt.Errorf("read the organization of plan %s: %w", id, err)
	}
	return orgID, nil
}
