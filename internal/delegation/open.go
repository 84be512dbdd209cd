package delegation

import (
	"context"
	"fmt"

	"writ/internal/audit"
	"writ/internal/database"
)

// Find is the request that answers for a call, within the transaction of its
// decision, or nil where there is none.
func Find(ctx context.Context, tx *database.Tx, call Call, want Want) (*Request, error) {
	if len(call.Digest) == 0 {
		return nil, fmt.Errorf("look for an approval of %s.%s: the call has no digest", call.Server, call.Tool)
	}
	if !tx.HoldsLog(audit.LogOf(call.OrgID)) {
		return nil, fmt.Errorf("look for an approval: the change does not declare the log of organization %s", call.OrgID)
	}
	now := tx.Now()
	requests, err := selectForCall(ctx, tx, call, want, now.Add(-PendingLife-GrantLife))
	if err != nil {
		return nil, err
	}
	for i := range requests {
		if requests[i].answers(now) {
			return &requests[i], nil
		}
	}
	return nil, nil
}

// Open asks for a yes, within the transaction of the decision that wants it. The
// caller has not found one; the log's lock keeps others from opening it twice.
func Open(ctx context.Context, tx *database.Tx, call Call, want Want) (*Request, error) {
	if want.Kind != Hold && want.Kind != Ask || len(call.Digest) == 0 {
		return nil, fmt.Errorf("open a request for approval of kind %q: it needs a kind and a digest", want.Kind)
	}
	now := tx.Now()
	waiting, err := countPending(ctx, tx, call.KeyID, now)
	if err != nil {
		return nil, err
	}
	if waiting >= MaxPending {
		return nil, ErrTooMany
	}
	r := Request{
		ID: database.NewID(), Call: call, Kind: want.Kind,
		PolicyID: want.PolicyID, PolicyVersion: want.PolicyVersion, Rule: want.Rule, Reason: want.Reason, Message: want.Message,
		Role: want.role(), Needed: want.needed(), Status: Pending, CreatedAt: now, ExpiresAt: now.Add(PendingLife),
	}
	return &r, insertRequest(ctx, tx, &r)
}

// Consume uses the grant of a request for a decision, once. It reports whether
// it could: a grant that is used or over lets nothing run.
func Consume(ctx context.Context, tx *database.Tx, r *Request, decisionID string) (bool, error) {
	if !tx.HoldsLog(audit.LogOf(r.OrgID)) {
		return false, fmt.Errorf("use an approval: the change does not declare the log of organization %s", r.OrgID)
	}
	if !r.Granted(tx.Now()) {
		return false, nil
	}
	changed, err := tx.Exec(ctx, `
		UPDATE approval_grant
		SET used_at = $3, decision_id = $4
		WHERE org_id = $1 AND id = $2 AND used_at IS NULL AND expires_at > $3`,
		r.OrgID, r.grant.id, database.Micros(tx.Now()), decisionID)
	if err != nil {
		return false, fmt.Errorf("use the approval of request %s: %w", r.ID, err)
	}
	return changed == 1, nil
}

// VoidAll ends every grant and request, after a restore: a backup must not bring
// back grants that were used since, or requests that were rejected.
func VoidAll(ctx context.Context, tx *database.Tx) (ended int64, err error) {
	now := database.Micros(tx.Now())
	if _, err = tx.Exec(ctx, `UPDATE approval_grant SET expires_at = $1 WHERE used_at IS NULL AND expires_at > $1`, now); err != nil {
		return 0, fmt.Errorf("end all approvals: %w", err)
	}
	ended, err = tx.Exec(ctx, `UPDATE approval_request SET status = 'expired', expires_at = $1 WHERE status IN ('pending', 'approved')`, now)
	if err != nil {
		return 0, fmt.Errorf("end all requests for approval: %w", err)
	}
	return ended, nil
}
