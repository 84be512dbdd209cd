package app

import (
	"context"
	"fmt"
	"time"

	"writ/internal/policy/document"
	"writ/internal/telemetry"
)

// spending answers for the limits of policies out of telemetry.
type spending struct{ telemetry *telemetry.Service }

// spenders are the subjects of limits as telemetry knows them.
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
		return 0, 0, fmt.Errorf("a limit by %q, which telemetry does not know", string(by))
	}
	u, err := s.telemetry.Spent(ctx, orgID, spender, id, since)
	return u.CostNanos, u.Tokens(), err
}
