package approval

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"writ/internal/database"
)

// Find is the request that applies to a call, within the transaction of its decision;
// nil: there is none.
func (s *Service) Find(ctx context.Context, tx *database.Tx, call Call, want Requirement) (*Request, error) {
	if len(call.Digest) == 0 {
		return nil, fmt.Errorf("find an approval of %s.%s: the call has no digest", call.Server, call.Tool)
	}
	if err := requireLog(tx, "find an approval", call.OrgID); err != nil {
		return nil, err
	}
	requests, err := selectForCall(ctx, tx, call, want, oldest(tx.Now()))
	if err != nil {
		return nil, err
	}
	if requests, err = stillValid(ctx, tx, s.sources.Role, requests); err != nil {
		return nil, err
	}
	requests = slices.DeleteFunc(requests, func(r Request) bool {
		return r.isEnded(call.Since) || call.Delegated && r.PlanID != call.PlanID
	})
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

// oldest is the earliest time at which a request that still applies was opened.
func oldest(now time.Time) time.Time { return now.Add(-2 * MaxLife) }

// decisive is the request that counts of several about one call: the one that a person
// answered last, else the latest.
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

// Open opens a request, within the transaction of the decision that needs it. The caller
// has found none; the log's lock keeps others from opening it twice.
func (s *Service) Open(ctx context.Context, tx *database.Tx, call Call, want Requirement) (*Request, error) {
	if len(call.Digest) == 0 {
		return nil, fmt.Errorf("open a request for approval of %s.%s: the call has no digest", call.Server, call.Tool)
	}
	via := ViaDecision
	if call.Carried {
		via = ViaProxy
	}
	return s.open(ctx, tx, Request{Call: call, Via: via}, want)
}

// OpenForStep is Open for a decision about a step of a plan, whose call nobody has seen.
func (s *Service) OpenForStep(
	ctx context.Context, tx *database.Tx, call Call, want Requirement, argumentsFrom string,
) (*Request, error) {
	call.Digest = []byte{} // no decision about a call finds it
	return s.open(ctx, tx, Request{Call: call, Via: ViaStep, ArgumentsFrom: argumentsFrom}, want)
}

// open stores a pending request, and announces it.
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
	// An agent that asks and cancels floods its approvers as well.
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
	r.Grounding, r.Doubted = want.Grounding, want.Doubted
	if err := s.assess(ctx, tx, &r); err != nil {
		return nil, err
	}
	if err := insertRequest(ctx, tx, &r); err != nil {
		return nil, err
	}
	return &r, s.announce(ctx, tx, r.OrgID, r.ID, EventOpened, r.KeyID)
}

// Repeat counts that a call found its pending request again.
func Repeat(ctx context.Context, tx *database.Tx, r *Request) error {
	now := tx.Now()
	r.Repeats, r.LastAskedAt = r.Repeats+1, &now
	_, err := tx.Exec(ctx, `
		UPDATE approval_request
		SET repeats = repeats + 1, last_asked_at = $3
		WHERE org_id = $1 AND id = $2`, r.OrgID, r.ID, database.Micros(now))
	return database.Wrap(err, "count request %s", r.ID)
}

// Consume uses the grant of a request for a decision, once, and reports whether it
// could: the grant may be used, expired, or for another call.
func (s *Service) Consume(ctx context.Context, tx *database.Tx, r *Request, decisionID string) (bool, error) {
	if err := requireLog(tx, "use an approval", r.OrgID); err != nil {
		return false, err
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

// VoidAll ends every grant, request and standing approval, after a restore: a backup
// must not bring back what was used, rejected or revoked since. It counts the requests
// that it ended.
func VoidAll(ctx context.Context, tx *database.Tx) (ended int64, err error) {
	for _, statement := range [...]string{
		`UPDATE approval_grant SET expires_at = $1 WHERE used_at IS NULL AND expires_at > $1`,
		`UPDATE temporary_allow SET expires_at = $1 WHERE expires_at > $1`,
		`UPDATE approval_request SET status = 'expired', expires_at = $1 WHERE status IN ('pending', 'approved')`,
	} {
		if ended, err = tx.Exec(ctx, statement, database.Micros(tx.Now())); err != nil {
			return 0, fmt.Errorf("end all approvals: %w", err)
		}
	}
	return ended, nil
}
