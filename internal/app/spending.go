package app

import (
	"context"
	"fmt"
	"time"

	"writ/internal/policy/document"
	"writ/internal/telemetry"
)

// spending reads what policies limit from telemetry.
type spending struct{ telemetry *telemetry.Service }

// spenders maps the subjects of limits to those of telemetry.
var spenders = map[document.Subject]telemetry.Spender{
	document.Agent:        telemetry.SpentByAgent,
	document.Session:      telemetry.SpentBySession,
	document.User:         telemetry.SpentByUser,
	document.Organization: telemetry.SpentByOrganization,
}

// Spent is what a subject has spent since an instant.
func (s spending) Spent(
	ctx context.Context, orgID string, by document.Subject, id string, since time.Time,
) (nanos, tokens int64, err error) {
	spender, ok := spenders[by]
	if !ok {
		return 0, 0, fmt.Errorf("telemetry does not know limits by %q", string(by))
	}
	u, err := s.telemetry.Spent(ctx, orgID, spender, id, since)
	return u.CostNanos, u.Tokens(), err
}

// Ping checks that telemetry answers.
func (s spending) Ping(ctx context.Context) error { return s.telemetry.Ping(ctx) }
