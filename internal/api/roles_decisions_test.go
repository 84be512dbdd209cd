package api_test

import (
	"context"
	"net/http"

	"writ/client"
	"writ/internal/testserver"
)

// enforcementRoleCases are the calls about an organization's settings.
func enforcementRoleCases() []roleCase {
	const path = "/organization/{orgId}/enforcement"
	return []roleCase{
		{"GET " + path, "read settings", anyRole, 0,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				_, err := p.EnforcementSettings(ctx, org)
				return err
			}},
		{"PUT " + path, "change settings", managers, http.StatusForbidden,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				_, err := p.SetEnforcementSettings(ctx, org, client.EnforcementSettings{MaxPlanTTLSeconds: 60})
				return err
			}},
	}
}
