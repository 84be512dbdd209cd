package intent

import (
	"context"

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
	return orgID, database.OrMissing(err, noSuchPlan(), "read the organization of plan %s", id)
}
