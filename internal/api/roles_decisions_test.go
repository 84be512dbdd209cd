package api_test

import (
	"context"
	"encoding/json"
	"net/http"

	"writ/client"
	"writ/internal/testserver"
)

// enforcementRoleCases are the calls about an organization's settings.
func enforcementRoleCases() []roleCase {
	const path, classes = "/organization/{orgId}/enforcement", "/organization/{orgId}/tool-classes"
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
		{"GET " + classes, "read tool classes", anyRole, 0,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				return p.Call(ctx, http.MethodGet, "/organization/"+org+"/tool-classes", nil, nil, nil)
			}},
		{"PUT " + classes, "say what tools do", managers, http.StatusForbidden,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				return p.Call(ctx, http.MethodPut, "/organization/"+org+"/tool-classes", nil, toolClasses, nil)
			}},
	}
}

// toolClasses is the body that says what some tools do.
var toolClasses = json.RawMessage(`{"classes":[{"class":"read","tools":["bank.get_*"]}]}`)
