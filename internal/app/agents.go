package app

import (
	"context"

	"writ/internal/agent"
	"writ/internal/database"
	"writ/internal/intent"
)

// livePlansOf tells the registry of agents which plans they have.
func livePlansOf(
	db *database.DB,
) func(context.Context, database.Reader, string, []string) (map[string]agent.Plan, error) {
	return func(ctx context.Context, r database.Reader, orgID string, ids []string) (map[string]agent.Plan, error) {
		live, err := intent.LiveOf(ctx, r, orgID, ids, db.Now())
		plans := make(map[string]agent.Plan, len(live))
		for _, l := range live {
			plans[l.AgentID] = agent.Plan{ID: l.ID, KeyID: l.KeyID, DeclaredAt: l.CreatedAt, ExpiresAt: l.ExpiresAt}
		}
		return plans, err
	}
}
