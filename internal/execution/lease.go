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

// compareWithLease makes a finding of a report that its lease does not permit, and of numbers that are missing before
// it. One that says that nothing ran only has a number.
func (s *Service) compareWithLease(ctx context.Context, tx *database.Tx, id string, position int64, it *item) error {
	if it.lease == "" {
		return nil
	}
	used := LeaseUsed{Problem: it.leaseProblem}
	if it.leaseProblem == "" {
		var err error
		used, err = s.leases.Use(ctx, tx, LeaseUse{
			OrgID:       it.by.OrgID,
			KeyID:       it.by.KeyID,
			AgentID:     it.agentID,
			UserID:      it.userID,
			LeaseID:     it.payload.Lease,
			Server:      it.stated.Server, // a lease is for names as its client calls them
			Tool:        it.stated.Tool,
			Number:      it.leaseUse,
			At:          it.executedAt,
			ExecutionID: id,
			Blocked:     it.status == Blocked,
		})
		if err != nil {
			return err
		}
		if err := noteLeaseGap(ctx, tx, it.finding(tx, LeaseGap, id, position), it, used); err != nil {
			return err
		}
	}
	if used.Problem == "" || it.status == Blocked {
		return nil
	}
	f := it.finding(tx, OutsideLease, id, position)
	f.Detail = used.Problem
	return insertFinding(ctx, tx, f)
}

// noteLeaseGap makes a finding of the numbers that are missing before a report, or notes that one of them came.
func noteLeaseGap(ctx context.Context, tx *database.Tx, f Finding, it *item, used LeaseUsed) error {
	if used.Late {
		_, err := tx.Exec(ctx, `
			UPDATE finding
			SET missing = missing - 1, resolved_at = CASE WHEN missing = 1 THEN $5 ELSE resolved_at END
			WHERE org_id = $1 AND kind = $6 AND key_id = $2 AND missing > 0 AND first_seq <= $4 AND last_seq >= $4
				AND EXISTS (SELECT 1 FROM execution e WHERE e.id = finding.execution_id AND e.lease_id = $3)`,
			f.OrgID, f.KeyID, it.payload.Lease, *it.leaseUse, database.Micros(tx.Now()), string(LeaseGap))
		return database.Wrap(err, "note a call of a lease that came late")
	}
	if used.Last < used.First {
		return nil
	}
	f.FirstSeq, f.LastSeq, f.Missing = used.First, used.Last, used.Last-used.First+1
	f.Detail = "calls of lease " + it.payload.Lease + " before this one were not reported"
	return insertFinding(ctx, tx, f)
}
