package approval

import (
	"context"
	"fmt"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

const (
	expireSlice = 50 // requests a change
	expireOrgs  = 50 // organizations a round
)

// Expire marks the requests that nobody answered in time, a slice at a time, and records
// it. Nobody can approve an expired request, marked or not. Replicas may run it at the
// same time; one of them marks each request.
func (s *Service) Expire(ctx context.Context) error {
	for {
		orgs, err := s.overdue(ctx)
		if err != nil {
			return fmt.Errorf("find expired requests for approval: %w", err)
		}
		for _, orgID := range orgs {
			if err := s.expireIn(ctx, orgID); err != nil {
				return fmt.Errorf("expire requests for approval of organization %s: %w", orgID, err)
			}
		}
		if len(orgs) < expireOrgs {
			return nil
		}
	}
}

// overdue are organizations with requests to expire.
func (s *Service) overdue(ctx context.Context) ([]string, error) {
	return database.Collect(ctx, s.db,
		func(s database.Scanner) (id string, err error) { err = s.Scan(&id); return id, err }, `
		SELECT DISTINCT org_id
		FROM approval_request
		WHERE status = 'pending' AND expires_at <= $1
		LIMIT $2`, database.Micros(s.db.Now()), expireOrgs)
}

func (s *Service) expireIn(ctx context.Context, orgID string) error {
	for more := true; more; {
		err := s.write(ctx, orgID, func(ctx context.Context, tx *database.Tx) error {
			over, err := selectOverdue(ctx, tx, orgID, expireSlice)
			if err != nil {
				return err
			}
			more = len(over) == expireSlice
			for i := range over {
				if err := s.expire(ctx, tx, &over[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// expire ends one request, under its log's lock.
func (s *Service) expire(ctx context.Context, tx *database.Tx, r *Request) error {
	changed, err := tx.Exec(ctx,
		`UPDATE approval_request SET status = 'expired' WHERE org_id = $1 AND id = $2 AND status = 'pending'`, r.OrgID,
		r.ID)
	if err != nil || changed != 1 {
		return database.Wrap(err, "expire request %s", r.ID)
	}
	if err := s.announce(ctx, tx, r.OrgID, r.ID, EventExpired, ""); err != nil {
		return err
	}
	_, err = s.log.Append(ctx, tx, audit.Entry{
		Log:         audit.LogOf(r.OrgID),
		Action:      "approval.expired",
		Actor:       principal.Operator(),
		Subject:     audit.Subject{Type: "approval", ID: r.ID},
		Observation: true,
		Payload:     recorded{Tool: r.Server + "." + r.Tool, Kind: r.Kind, Needed: r.Needed},
	})
	return err
}
