package approval

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Settings say how an organization answers requests.
type Settings struct {
	// SelfApproval lets requesters approve their own requests, which are then marked. It
	// is off unless an organization turns it on: duties are separated.
	SelfApproval bool
	// PendingLife is how long a request waits, GrantLife how long a grant lasts; whole
	// seconds.
	PendingLife time.Duration
	GrantLife   time.Duration
}

// Limits of both lives.
const (
	MinLife = time.Minute
	MaxLife = 24 * time.Hour
)

// DefaultSettings are those of an organization that has set none.
func DefaultSettings() Settings { return Settings{PendingLife: PendingLife, GrantLife: GrantLife} }

func (s Settings) check() error {
	for _, life := range [...]struct {
		field string
		value time.Duration
	}{{"pendingSeconds", s.PendingLife}, {"grantSeconds", s.GrantLife}} {
		if life.value < MinLife || life.value > MaxLife || life.value%time.Second != 0 {
			return fault.Field(life.field, "must be from %.0f to %.0f", MinLife.Seconds(), MaxLife.Seconds())
		}
	}
	return nil
}

// Settings are those of an organization. It checks no right: the edge has.
func (s *Service) Settings(ctx context.Context, orgID string) (Settings, error) {
	return readSettings(ctx, s.db, orgID)
}

// SetSettings changes those of the caller's organization, for requests that are opened
// from now on. Self-approval changes at once.
func (s *Service) SetSettings(ctx context.Context, p principal.Principal, to Settings) (Settings, error) {
	if p.Kind != principal.User || p.OrgID == "" {
		return Settings{}, fault.New(fault.Forbidden, "only a person may say how requests for approval are answered")
	}
	if err := p.Require(principal.ManagePolicies); err != nil {
		return Settings{}, err
	}
	if err := to.check(); err != nil {
		return Settings{}, err
	}
	err := s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		if err := writeSettings(ctx, tx, p.OrgID, to); err != nil {
			return err
		}
		_, err := s.log.Append(ctx, tx, audit.Entry{
			Log: audit.LogOf(p.OrgID), Action: "approval.settings_changed", Actor: p,
			Subject: audit.Subject{Type: "organization", ID: p.OrgID},
			Payload: map[string]any{
				"selfApproval": to.SelfApproval, "pendingSeconds": int64(to.PendingLife / time.Second),
				"grantSeconds": int64(to.GrantLife / time.Second),
			},
		})
		return err
	})
	if err != nil {
		return Settings{}, err
	}
	return to, nil
}

func readSettings(ctx context.Context, r database.Reader, orgID string) (Settings, error) {
	var self, pending, granted int64
	err := r.QueryRow(ctx, `
		SELECT self_approval, pending_seconds, grant_seconds
		FROM approval_settings
		WHERE org_id = $1`, orgID).Scan(&self, &pending, &granted)
	if errors.Is(err, sql.ErrNoRows) {
		return DefaultSettings(), nil
	}
	if err != nil {
		return Settings{}, fmt.Errorf("read how organization %s answers requests: %w", orgID, err)
	}
	return Settings{
		SelfApproval: self != 0,
		PendingLife:  time.Duration(pending) * time.Second,
		GrantLife:    time.Duration(granted) * time.Second,
	}, nil
}

func writeSettings(ctx context.Context, tx *database.Tx, orgID string, to Settings) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO approval_settings (org_id, self_approval, pending_seconds, grant_seconds, updated_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (org_id) DO UPDATE
		SET self_approval = excluded.self_approval, pending_seconds = excluded.pending_seconds,
			grant_seconds = excluded.grant_seconds, updated_at = excluded.updated_at`,
		orgID, database.Bit(to.SelfApproval), int64(to.PendingLife/time.Second), int64(to.GrantLife/time.Second),
		database.Micros(tx.Now()))
	return database.Wrap(err, "store how organization %s answers requests", orgID)
}
