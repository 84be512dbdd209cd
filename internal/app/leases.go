package app

import (
	"context"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/database"
	"writ/internal/execution"
)

// leases are those of agents, as reports need them.
type leases struct{ areas *Areas }

func (l leases) Presented(ctx context.Context, orgID, shown string) (id, problem string, err error) {
	return l.areas.Agents.PresentedLease(ctx, orgID, shown)
}

func (leases) Use(ctx context.Context, tx *database.Tx, use execution.LeaseUse) (execution.LeaseUsed, error) {
	used, err := agent.UseLease(ctx, tx, agent.LeaseUse{
		OrgID:       use.OrgID,
		KeyID:       use.KeyID,
		AgentID:     use.AgentID,
		UserID:      use.UserID,
		LeaseID:     use.LeaseID,
		Tool:        lease.Tool{Server: use.Server, Tool: use.Tool},
		Number:      use.Number,
		At:          use.At,
		ExecutionID: use.ExecutionID,
		Blocked:     use.Blocked,
	})
	return execution.LeaseUsed(used), err
}
