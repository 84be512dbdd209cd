package approval

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
)

// refuseEnded refuses to approve a request from before the kill switch stopped its agent or key.
func (s *Service) refuseEnded(ctx context.Context, tx *database.Tx, r *Request) error {
	if s.sources.Ended == nil {
		return nil
	}
	ended, err := s.sources.Ended(ctx, tx, r.OrgID, r.AgentID, r.KeyID)
	if err != nil {
		return err
	}
	if r.isEnded(ended) {
		return fault.New(fault.Conflict,
			"the kill switch has stopped this agent or its key since, so that the request has ended")
	}
	return nil
}

// isEnded reports whether a request is from before an index; one that is not positive ends none.
func (r *Request) isEnded(before int64) bool { return before > 0 && r.OpenedAt < before }

// ended reports whether a standing approval was given before an index.
func (a *StandingApproval) ended(ctx context.Context, r database.Reader, before int64) (bool, error) {
	if before <= 0 {
		return false, nil
	}
	var decided int64
	err := r.QueryRow(ctx, `SELECT COALESCE(decided_at_entry, -1) FROM approval_request WHERE org_id = $1 AND id = $2`,
		a.OrgID, a.RequestID).Scan(&decided)
	return decided < before, database.Wrap(err, "read when a standing approval was given")
}
