package intent

import (
	"context"

	"writ/internal/database"
)

// OwnersOf lists the owners of the keys that declared a plan or delegated it, and those that it came from.
func OwnersOf(ctx context.Context, r database.Reader, orgID, planID string) ([]string, error) {
	owners, err := database.Collect(ctx, r, database.Column[string], `
		WITH RECURSIVE above (id, parent_id, owner_id) AS (
			SELECT id, parent_id, owner_id FROM plan WHERE id = $1 AND org_id = $2
			UNION
			SELECT p.id, p.parent_id, p.owner_id FROM plan p JOIN above a ON p.id = a.parent_id WHERE p.org_id = $2
		)
		SELECT DISTINCT owner_id FROM above`, planID, orgID)
	return owners, database.Wrap(err, "find who delegated plan %s", planID)
}

// IsDelegate reports whether anything was delegated to an agent of an organization, also if it has ended.
func IsDelegate(ctx context.Context, r database.Reader, orgID, agentID string) (is bool, err error) {
	err = r.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT 1 FROM delegation d JOIN plan p ON p.id = d.plan_id
			WHERE d.agent_id = $2 AND d.agent_id <> '' AND p.org_id = $1)`, orgID, agentID).Scan(&is)
	return is, database.Wrap(err, "look for what was delegated to an agent")
}
