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

// Spent counts every token that a model read or wrote, cached ones too.
func (s spending) Spent(
	ctx context.Context, orgID string, by document.Subject, id string, since time.Time,
) (nanos, tokens int64, err error) {
	spender, ok := spenders[by]
	if !ok {
		return 0, 0, fmt.Errorf("a limit by %q, which telemetry does not know", string(by))
	}
	if spender == telemetry.SpentByOrganization {
		id = "" // there is only the one
	}
	u, err := s.telemetry.Spent(ctx, orgID, spender, id, since)
	if err != nil {
		return 0, 0, err
	}
	all := u.Add(telemetry.Usage{Input: u.Output}).Add(telemetry.Usage{
		Input: u.CacheRead,
	}).Add(telemetry.Usage{Input: u.CacheWrite})
	return u.CostNanos, all.Input, nil
}
