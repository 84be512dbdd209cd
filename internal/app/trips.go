package app

import (
	"context"
	"errors"
	"time"

	"writ/internal/agent"
	"writ/internal/database"
	"writ/internal/telemetry"
)

// findings are what trips may count.
func (a *Areas) findings(
	ctx context.Context, orgID string, kinds []string, after time.Time,
) ([]agent.Found, error) {
	counted, err := a.Executions.CountFound(ctx, orgID, kinds, after)
	all := make([]agent.Found, len(counted))
	for i, c := range counted {
		all[i] = agent.Found(c)
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

// watching is a look for trips that warns of an organization that fails once in a while, and goes on with the others.
func (s *Server) watching(look func(context.Context, func(error)) error) func(context.Context) error {
	warned := map[string]time.Time{}
	return func(ctx context.Context) error {
		return look(ctx, func(err error) {
			failed, ok := errors.AsType[*agent.OrgError](err)
			if ok && time.Since(warned[failed.OrgID]) < warnAgain {
				return
			}
			if ok {
				warned[failed.OrgID] = time.Now()
			}
			s.warnOf("look for trips")(err)
		})
	}
}

// warnAgain is how often an organization that fails is logged.
const warnAgain = time.Minute
