package app

import (
	"context"
	"fmt"
	"time"

	"writ/internal/observability"
	"writ/internal/policy/document"
)

// spending answers for the limits of policies out of telemetry.
type spending struct{ telemetry *observability.Service }

// spenders are the subjects of limits as telemetry knows them.
var spenders = map[document.Subject]observability.Spender{
	document.Agent:        observability.SpentByAgent,
	document.Session:      observability.SpentBySession,
	document.User:         observability.SpentByUser,
	document.Organization: observability.SpentByOrganization,
}

// Spent counts every token that a model read or wrote, cached ones too.
func (s spending) Spent(
	ctx context.Context, orgID string, by document.Subject, id string, since time.Time,
) (nanos, tokens int64, err error) {
	spender, ok := spenders[by]
	if !ok {
		return 0, 0, fmt.Errorf("a limit by %q, which telemetry does not know", string(by))
	}
	if spender == observability.SpentByOrganization {
		id = "" // there is only the one
	}
	u, err := s.telemetry.Spent(ctx, orgID, spender, id, since)
	if err != nil {
		return 0, 0, err
	}
	all := u.Add(observability.Usage{Input: u.Output}).Add(observability.Usage{
		Input: u.CacheRead,
	}).Add(observability.Usage{Input: u.CacheWrite})
	return u.CostNanos, all.Input, nil
}
