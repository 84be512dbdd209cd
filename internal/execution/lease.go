package execution

import (
	"context"

	"writ/internal/database"
)

// unknownLease stands for the id of what is presented as a lease and is none.
const unknownLease = "unknown"

// findLease finds the lease that a row presents.
func (s *Service) findLease(ctx context.Context, it *item) (err error) {
	if it.lease == "" {
		return nil
	}
	it.payload.Lease, it.leaseProblem, err = s.leases.Presented(ctx, it.by.OrgID, it.lease)
	if it.leaseProblem != "" {
		it.payload.Lease = unknownLease
	}
	it.payload.LeaseUse = it.leaseUse
	return err
}

// compareWithLease makes a finding of a report that its lease does not permit. One that says that nothing ran is none.
func (s *Service) compareWithLease(ctx context.Context, tx *database.Tx, id string, position int64, it *item) error {
	if it.lease == "" || it.status == Blocked {
		return nil
	}
	problem := it.leaseProblem
	if problem == "" {
		var err error
		problem, err = s.leases.Use(ctx, tx, LeaseUse{
			OrgID:       it.by.OrgID,
			KeyID:       it.by.KeyID,
			AgentID:     it.agentID,
			UserID:      it.userID,
			LeaseID:     it.payload.Lease,
			Server:      it.server,
			Tool:        it.tool,
			Number:      it.leaseUse,
			At:          it.executedAt,
			ExecutionID: id,
		})
		if err != nil || problem == "" {
			return err
		}
	}
	f := it.finding(tx, OutsideLease, id, position)
	f.Detail = problem
	return insertFinding(ctx, tx, f)
}
