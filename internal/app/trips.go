package app

import (
	"context"
	"time"

	"writ/internal/agent"
	"writ/internal/database"
	"writ/internal/telemetry"
)

// findings are what trips may count.
func (a *Areas) findings(ctx context.Context, orgID string, since time.Time) ([]agent.Found, error) {
	found, err := a.Executions.FoundSince(ctx, orgID, since)
	all := make([]agent.Found, len(found))
	for i, f := range found {
		all[i] = agent.Found{AgentID: f.AgentID, KeyID: f.KeyID, Kind: string(f.Kind), At: f.FoundAt}
	}
	return all, err
}

// spentByAgent is what an agent has cost, by telemetry.
func (a *Areas) spentByAgent(ctx context.Context, orgID, agentID string, since time.Time) (int64, error) {
	used, err := a.Telemetry.Spent(ctx, orgID, telemetry.SpentByAgent, agentID, since)
	return used.CostNanos, err
}

// countAnswer counts an answer to an approval request for trips.
func (a *Areas) countAnswer(
	ctx context.Context, tx *database.Tx, orgID, agentID, keyID string, rejected bool,
) error {
	return a.Agents.Answered(ctx, tx, orgID, agentID, keyID, rejected)
}
