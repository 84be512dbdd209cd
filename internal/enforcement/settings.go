package enforcement

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/principal"
)

// Settings say how calls of an organization are judged, beside its policies.
type Settings struct {
	// IntentRequired: a call without a plan is denied on every surface.
	IntentRequired bool
	// MaxPlanTTL is the longest life of a plan, in whole seconds.
	MaxPlanTTL time.Duration
}

// Limits of MaxPlanTTL.
const (
	MinPlanTTL     = time.Second
	LongestPlanTTL = 30 * 24 * time.Hour
)

// Defaults are those of an organization that has set none.
func Defaults() Settings { return Settings{MaxPlanTTL: intent.DefaultMaxLife} }

func (s Settings) check() error {
	if s.MaxPlanTTL < MinPlanTTL || s.MaxPlanTTL > LongestPlanTTL || s.MaxPlanTTL%time.Second != 0 {
		return fault.Field("maxPlanTtlSeconds", "must be from %.0f to %.0f", MinPlanTTL.Seconds(),
			LongestPlanTTL.Seconds())
	}
	return nil
}

// Settings are those of an organization. It asks nobody's leave: the edge has
// found that the caller acts in it.
func (s *Service) Settings(ctx context.Context, orgID string) (Settings, error) {
	return readSettings(ctx, s.db, orgID)
}

// settingsAt is Settings cached, as of a version or later.
func (s *Service) settingsAt(ctx context.Context, orgID string, at audit.Version) (Settings, error) {
	if known, ok := s.settings.get(orgID, at); ok {
		return known, nil
	}
	settings, err := readSettings(ctx, s.db, orgID)
	if err == nil {
		s.settings.put(orgID, at, settings)
	}
	return settings, err
}

// SetSettings changes those of the caller's organization. It takes effect with
// the next decision, on every replica.
func (s *Service) SetSettings(ctx context.Context, p principal.Principal, to Settings) (Settings, error) {
	if p.Kind != principal.User || p.OrgID == "" {
		return Settings{}, fault.New(fault.Forbidden, "only a person may say how calls are judged")
	}
	if err := p.Require(principal.ManagePolicies); err != nil {
		return Settings{}, err
	}
	if err := to.check(); err != nil {
		return Settings{}, err
	}
	err := s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		if err := writeSettings(ctx, tx, p.OrgID, to); err != nil {
			return err
		}
		_, err := s.log.Append(ctx, tx, audit.Entry{
			Log: audit.LogOf(p.OrgID), Action: "enforcement.settings_changed", Actor: p,
			Subject: audit.Subject{Type: "organization", ID: p.OrgID},
			Payload: map[string]any{
				"intentRequired": to.IntentRequired, "maxPlanTtlSeconds": int64(to.MaxPlanTTL / time.Second),
			},
		})
		return err
	}})
	if err != nil {
		return Settings{}, err
	}
	return to, nil
}

func readSettings(ctx context.Context, r database.Reader, orgID string) (Settings, error) {
	var required, seconds int64
	err := r.QueryRow(ctx, `
		SELECT intent_required, max_plan_ttl_seconds
		FROM enforcement_settings
		WHERE org_id = $1`, orgID).Scan(&required, &seconds)
	if errors.Is(err, sql.ErrNoRows) {
		return Defaults(), nil
	}
	if err != nil {
		return Settings{}, fmt.Errorf("read how calls of organization %s are judged: %w", orgID, err)
	}
	return Settings{IntentRequired: required != 0, MaxPlanTTL: time.Duration(seconds) * time.Second}, nil
}

func writeSettings(ctx context.Context, tx *database.Tx, orgID string, to Settings) error {
	required := 0
	if to.IntentRequired {
		required = 1
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO enforcement_settings (org_id, intent_required, max_plan_ttl_seconds, updated_at)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT (org_id) DO UPDATE
		SET intent_required = excluded.intent_required, max_plan_ttl_seconds = excluded.max_plan_ttl_seconds, updated_at = excluded.updated_at`,
		orgID, required, int64(to.MaxPlanTTL/time.Second), database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("store how calls of organization %s are judged: %w", orgID, err)
	}
	return nil
}
