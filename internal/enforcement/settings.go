package enforcement

import (
	"context"
	"time"

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

// Defaults are those of an organization that has set none.
func Defaults() Settings { return Settings{MaxPlanTTL: intent.DefaultMaxLife} }

// Settings are those of an organization, never older than its last change.
func (s *Service) Settings(ctx context.Context, orgID string) (Settings, error) {
	return Defaults(), nil
}

// SetSettings changes those of the caller's organization.
func (s *Service) SetSettings(ctx context.Context, p principal.Principal, to Settings) (Settings, error) {
	return Settings{}, fault.New(fault.Unavailable, "settings are not built yet")
}
