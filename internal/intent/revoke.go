package intent

import (
	"context"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/intent/trust"
	"writ/internal/principal"
	"writ/internal/redaction"
)

const (
	maxReason        = 500  // bytes
	recordedCascaded = 50   // ids that the log names
	maxCascaded      = 1000 // ids that an answer names
)

// RevokeRequest names a plan or delegation to revoke: by its token, or by its id.
type RevokeRequest struct {
	Token   plan.Presented
	ID      string // of a delegation or plan; empty: the token's
	Reason  string
	Cascade bool // what was delegated from it is revoked too, and not only of no use
}

// Revoked is a plan or delegation that was revoked.
type Revoked struct {
	ID       string
	At       time.Time
	Cascaded []string // delegations that were revoked with it
	Signed   string   // the statement about it
}

// Revoke ends a plan or delegation for ever. Whatever was delegated from it authorizes nothing from then on, on every
// replica; with Cascade it is marked as revoked too. A key may revoke what it declared or delegated, and what came of
// that. Revoking again gives the same answer, and marks what is below if that was not asked before.
func (s *Service) Revoke(ctx context.Context, p principal.Principal, r RevokeRequest) (Revoked, error) {
	if err := requireReader(p); err != nil {
		return Revoked{}, err
	}
	if len(r.Reason) > maxReason {
		return Revoked{}, fault.Field("reason", "must be at most %d bytes", maxReason)
	}
	id, err := s.revokedID(ctx, p, r)
	if err != nil {
		return Revoked{}, err
	}
	done := Revoked{ID: id}
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		row, err := selectPlan(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		if err := s.mayRevoke(ctx, tx, p, row); err != nil {
			return err
		}
		if done.At = tx.Now(); row.RevokedAt != nil {
			done.At = *row.RevokedAt
		}
		done.Cascaded, err = s.revoke(ctx, tx, p, row, r, done.At)
		return err
	}})
	if err != nil {
		return Revoked{}, err
	}
	done.Signed, err = s.signRevocation(ctx, p.OrgID, r, done)
	return done, err
}

// revokedID is the plan or delegation that a request means. A token must be genuine.
func (s *Service) revokedID(ctx context.Context, p principal.Principal, r RevokeRequest) (string, error) {
	if r.Token.IsZero() {
		if !database.IsID(r.ID) {
			return "", fault.Field("token", "must be the token of a plan or delegation, as it was issued")
		}
		return r.ID, nil
	}
	found, err := s.FindByToken(ctx, r.Token)
	if err != nil {
		return "", err
	}
	if found == nil || found.Binding.OrgID != p.OrgID {
		return "", noSuchPlan()
	}
	if shown := r.Token; shown.Signature == "" && shown.JWT == "" || !found.IsIssued(shown) {
		return "", fault.New(fault.Forbidden, "the token is not the one that was issued: send it as it was issued")
	}
	if r.ID == "" || r.ID == found.ID {
		return found.ID, nil
	}
	return s.belowToken(ctx, r.ID, found.ID)
}

// belowToken is the id of a delegation, if it came from the plan of the token.
func (s *Service) belowToken(ctx context.Context, id, planID string) (string, error) {
	d, err := s.read(ctx, s.db, anyOrg, id, s.plans.get(id))
	if err != nil {
		return "", err
	}
	if d != nil {
		for _, link := range d.Chain {
			if link.ID == planID {
				return id, nil
			}
		}
	}
	return "", noSuchPlan()
}

// mayRevoke refuses callers who may not revoke. To a key a plan that is not its own does not exist.
func (s *Service) mayRevoke(ctx context.Context, tx *database.Tx, p principal.Principal, row planRow) error {
	if p.Kind != principal.Key {
		return mayChange(p, row, plan.Failed)
	}
	for range plan.MaxDelegations + 1 {
		if row.Binding.KeyID == p.KeyID {
			return nil
		}
		if row.ParentID == "" {
			break
		}
		above, err := selectPlan(ctx, tx, p.OrgID, row.ParentID)
		if err != nil {
			return err
		}
		row = above
	}
	return noSuchPlan()
}

// revoke ends a plan, and with Cascade all that was delegated from it, as of a time, and records it. It lists what was
// revoked with the plan, now or before.
func (s *Service) revoke(
	ctx context.Context, tx *database.Tx, p principal.Principal, row planRow, r RevokeRequest, at time.Time,
) (cascaded []string, err error) {
	changed, err := markRevoked(ctx, tx, row.ID, `id = $1`, at)
	if err != nil {
		return nil, err
	}
	with := int64(0)
	if r.Cascade {
		if with, err = markRevoked(ctx, tx, row.ID, `id IN (`+below+`)`, at); err != nil {
			return nil, err
		}
	}
	ended, err := endAccepted(ctx, tx, row.ID, plan.Failed)
	if err != nil {
		return nil, err
	}
	cascaded, err = selectRevokedBelow(ctx, tx, row.ID, at)
	if err != nil || changed+with+ended.Count == 0 {
		return cascaded, err
	}
	_, err = s.log.Append(ctx, tx, audit.Entry{
		Log:     p.OrgID,
		Action:  revokedAction,
		Actor:   p,
		Subject: audit.Subject{Type: "plan", ID: row.ID},
		Payload: recordedRevocation{
			Reason:        redaction.Text(plainText(r.Reason)),
			Cascade:       r.Cascade,
			Count:         with,
			Cascaded:      cascaded[:min(len(cascaded), recordedCascaded)],
			endedAccepted: ended,
		},
	})
	return cascaded, err
}

// markRevoked marks those plans as revoked at a time that are not yet, and says how many there were.
func markRevoked(ctx context.Context, tx *database.Tx, id, which string, at time.Time) (int64, error) {
	n, err := tx.Exec(ctx, `
		UPDATE plan
		SET status = 'failed', ended_at = COALESCE(ended_at, $3), revoked_at = $2
		WHERE revoked_at IS NULL AND `+which, id, database.Micros(at), database.Micros(tx.Now()))
	return n, database.Wrap(err, "revoke plan %s", id)
}

const revokedAction = "plan.revoked"

// recordedRevocation is what the audit log says about a revocation.
type recordedRevocation struct {
	Reason   string   `json:"reason"`
	Cascade  bool     `json:"cascade"`
	Count    int64    `json:"cascadedCount"`
	Cascaded []string `json:"cascaded"` // the first of them

	endedAccepted
}

// selectRevokedBelow lists what was revoked at a time and came from a plan.
func selectRevokedBelow(ctx context.Context, tx *database.Tx, id string, at time.Time) ([]string, error) {
	ids, err := database.Collect(ctx, tx, database.Column[string], `
		SELECT id
		FROM plan
		WHERE revoked_at = $2 AND id IN (`+below+`)
		ORDER BY created_at, id
		LIMIT $3`, id, database.Micros(at), maxCascaded)
	return ids, database.Wrap(err, "list what was revoked with plan %s", id)
}

func (s *Service) signRevocation(ctx context.Context, orgID string, r RevokeRequest, done Revoked) (string, error) {
	key, err := s.trustKey(ctx, orgID)
	if err != nil {
		return "", nil // it is revoked all the same, and the log is the proof
	}
	return trust.Revocation{
		ID:       done.ID,
		OrgID:    orgID,
		PlanID:   done.ID,
		Cascade:  r.Cascade,
		Cascaded: done.Cascaded,
		Issued:   done.At.Unix(),
	}.Sign(key.id, key.private)
}
