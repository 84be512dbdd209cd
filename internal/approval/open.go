package approval

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
)

// Find is the request that answers for a call, within the transaction of its
// decision, or nil where there is none.
func (s *Service) Find(ctx context.Context, tx *database.Tx, call Call, want Requirement) (*Request, error) {
	if len(call.Digest) == 0 {
		return nil, fmt.Errorf("look for an approval of %s.%s: the call has no digest", call.Server, call.Tool)
	}
	if !tx.HoldsLog(audit.LogOf(call.OrgID)) {
		return nil, fmt.Errorf("look for an approval: the change does not declare the log of organization %s",
			call.OrgID)
	}
	requests, err := selectForCall(ctx, tx, call, want, oldest(tx.Now()))
	if err != nil {
		return nil, err
	}
	if requests, err = stillValid(ctx, tx, s.sources.Role, requests); err != nil {
		return nil, err
	}
	rejected, err := selectRejected(ctx, tx, call, tx.Now())
	if err != nil {
		return nil, err
	}
	found := decisive(append(requests, rejected...), tx.Now())
	if found != nil {
		found.otherCall = len(found.editedDigest) > 0 && !bytes.Equal(found.editedDigest, call.Digest)
	}
	return found, nil
}

// oldest is when a request may have been opened that still says something.
func oldest(now time.Time) time.Time { return now.Add(-2 * MaxLife) }

// mostTelling is what counts of several requests about one call: the last answer
// that a person gave, else the latest question.
func decisive(requests []Request, now time.Time) (best *Request) {
	for i := range requests {
		r := &requests[i]
		if r.answers(now) && (best == nil || r.outranks(best)) {
			best = r
		}
	}
	return best
}

func (r *Request) outranks(other *Request) bool {
	switch {
	case r.DecidedAt == nil && other.DecidedAt == nil:
		return r.CreatedAt.After(other.CreatedAt)
	case r.DecidedAt == nil || other.DecidedAt == nil:
		return r.DecidedAt != nil
	}
	return r.DecidedAt.After(*other.DecidedAt)
}

// Open asks for a yes, within the transaction of the decision that wants it. The
// caller has not found one; the log's lock keeps others from opening it twice.
func (s *Service) Open(ctx context.Context, tx *database.Tx, call Call, want Requirement) (*Request, error) {
	if len(call.Digest) == 0 {
		return nil, fmt.Errorf("open a request for approval of %s.%s: the call has no digest", call.Server, call.Tool)
	}
	return s.open(ctx, tx, Request{Call: call, Via: ViaDecision}, want)
}

// open stores a request that waits, and announces it.
func (s *Service) open(ctx context.Context, tx *database.Tx, r Request, want Requirement) (*Request, error) {
	if want.Kind != Hold && want.Kind != Ask {
		return nil, fmt.Errorf("open a request for approval of the kind %q: there is no such kind", want.Kind)
	}
	now := tx.Now()
	settings, err := readSettings(ctx, tx, r.OrgID)
	if err != nil {
		return nil, err
	}
	waiting, err := countPending(ctx, tx, r.KeyID, now)
	if err != nil {
		return nil, err
	}
	// An agent that asks and cancels floods its readers as well.
	cancelled, err := countCancelled(ctx, tx, r.OrgID, r.KeyID, now.Add(-settings.PendingLife))
	if err != nil {
		return nil, err
	}
	if waiting+cancelled >= MaxPending {
		return nil, ErrTooMany
	}
	r.ID, r.Status, r.CreatedAt, r.ExpiresAt = database.NewID(), Pending, now, now.Add(settings.PendingLife)
	r.grantLife = settings.GrantLife
	r.Kind, r.Role, r.Needed = want.Kind, want.role(), want.needed()
	r.PolicyID, r.PolicyVersion, r.Rule, r.Reason, r.Message = want.PolicyID, want.PolicyVersion, want.Rule,
		want.Reason, want.Message
	if err := assess(ctx, tx, &r); err != nil {
		return nil, err
	}
	if err := insertRequest(ctx, tx, &r); err != nil {
		return nil, err
	}
	return &r, s.announce(ctx, tx, r.OrgID, r.ID, EventOpened, r.KeyID)
}

// Repeat counts that a request which waits was asked again, within the
// transaction of the decision that found it.
func Repeat(ctx context.Context, tx *database.Tx, r *Request) error {
	now := tx.Now()
	r.Repeats, r.LastAskedAt = r.Repeats+1, &now
	_, err := tx.Exec(ctx, `
		UPDATE approval_request
		SET repeats = repeats + 1, last_asked_at = $3
		WHERE org_id = $1 AND id = $2`, r.OrgID, r.ID, database.Micros(now))
	return wrap("count request "+r.ID, err)
}

// Consume uses the grant of a request for a decision, once. It reports whether
// it could: a grant that is used or over, or of another call, lets nothing run.
func (s *Service) Consume(ctx context.Context, tx *database.Tx, r *Request, decisionID string) (bool, error) {
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
	if changed != 1 {
		return false, nil
	}
	return true, s.announce(ctx, tx, r.OrgID, r.ID, EventUsed, r.KeyID)
}

// VoidAll ends every grant, request and wider yes, after a restore: a backup must
// not bring back what was used, rejected or taken back since.
func VoidAll(ctx context.Context, tx *database.Tx) (ended int64, err error) {
	now := database.Micros(tx.Now())
	if _, err = tx.Exec(ctx, `UPDATE approval_grant SET expires_at = $1 WHERE used_at IS NULL AND expires_at > $1`,
		now); err != nil {
		return 0, fmt.Errorf("end all approvals: %w", err)
	}
	if _, err = tx.Exec(ctx, `UPDATE temporary_allow SET expires_at = $1 WHERE expires_at > $1`, now); err != nil {
		return 0, fmt.Errorf("end all temporary allows: %w", err)
	}
	ended, err = tx.Exec(ctx,
		`UPDATE approval_request SET status = 'expired', expires_at = $1 WHERE status IN ('pending', 'approved')`, now)
	return ended, database.Wrap(err, "end all requests for approval")
}
