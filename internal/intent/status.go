package intent

import (
	"context"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/principal"
)

// SetStatus ends a plan, or makes an ended one active again. A key may end the
// plans it declared. Only a person may make one active: the owner of the key, or a
// member who manages keys. Plans that were accepted under an ended one end with it.
func (s *Service) SetStatus(ctx context.Context, p principal.Principal, id string, status plan.Status) (View, error) {
	if err := requireReader(p); err != nil {
		return View{}, err
	}
	if !status.Valid() {
		return View{}, fault.Field("status", "must be active, completed, failed or expired")
	}
	err := s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		row, err := findVisible(ctx, tx, p, id)
		if err != nil {
			return err
		}
		if row.stored == status {
			return nil
		}
		if err := mayChange(p, row, status); err != nil {
			return err
		}
		if status == plan.Active {
			if err := mayRevive(ctx, tx, row); err != nil {
				return err
			}
		}
		return s.changeStatus(ctx, tx, p, row, status, "")
	}})
	if err != nil {
		return View{}, err
	}
	return s.Get(ctx, p, id)
}

// mayRevive refuses to make a plan active again that was ended for good. One that was accepted under another is among
// them: nobody compares it with that again.
func mayRevive(ctx context.Context, tx *database.Tx, row planRow) error {
	switch {
	case row.RevokedAt != nil:
		return fault.New(fault.Conflict, "the plan was revoked: declare a new one")
	case !row.ExpiresAt.After(tx.Now()):
		return fault.New(fault.Conflict, "the plan's time is over: declare a new one")
	case row.ParentID == "":
		return nil
	}
	var delegated bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM delegation WHERE plan_id = $1)`, row.ID).Scan(&delegated)
	if err == nil && !delegated {
		return fault.New(fault.Conflict, "the plan was accepted under another one: the plugin makes a new one")
	}
	return database.Wrap(err, "read whether plan %s was delegated", row.ID)
}

// changeStatus sets another status, and records it with its cause, if there is one to tell.
func (s *Service) changeStatus(
	ctx context.Context, tx *database.Tx, p principal.Principal, row planRow, to plan.Status, cause string,
) error {
	if err := updateStatus(ctx, tx, row, to); err != nil {
		return err
	}
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log:     p.OrgID,
		Action:  "plan.status_changed",
		Actor:   p,
		Subject: audit.Subject{Type: "plan", ID: row.ID},
		Payload: statusChange{cause, row.stored, to},
	})
	return err
}

// statusChange is the payload of the audit entry.
type statusChange struct {
	Cause string      `json:"cause,omitzero"`
	From  plan.Status `json:"from"`
	To    plan.Status `json:"to"`
}

// mayChange refuses callers who may not set this status.
func mayChange(p principal.Principal, row planRow, status plan.Status) error {
	if p.Kind == principal.Key {
		if status == plan.Active {
			return fault.New(fault.Forbidden, "only a person may make a plan active again; declare a new one instead")
		}
		return nil
	}
	if row.ownerID == p.UserID {
		return p.Require(principal.OwnKeys)
	}
	return p.Require(principal.ManageKeys)
}

// EndAll ends every plan, after a restore: a backup must not bring back plans that
// have ended since, or uses of steps that have been claimed since.
func EndAll(ctx context.Context, tx *database.Tx) (ended int64, err error) {
	ended, err = tx.Exec(ctx, `
		UPDATE plan
		SET status = 'expired', ended_at = $1
		WHERE status = 'active'`, database.Micros(tx.Now()))
	return ended, database.Wrap(err, "end all plans")
}
