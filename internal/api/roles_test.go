package api_test

import (
	"context"
	"slices"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// roleCase is a call and the roles that may make it.
type roleCase struct {
	route     string // method and path as declared
	what      string
	may       []string
	otherwise int
	call      func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error
}

var (
	anyRole    = []string{"viewer", "member", "approver", "admin", "owner"}
	managers   = []string{"admin", "owner"}
	ownerOnly  = []string{"owner"}
	keyHolders = []string{"member", "approver", "admin", "owner"}
)

// TestWhatEachRoleMayDo has its own table of rights, so that a change of the
// real one has to be made twice.
func TestWhatEachRoleMayDo(t *testing.T) {
	t.Parallel()
	provider := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		founder := s.Person("founder")
		org := s.Organization(founder, "Roles")
		people := map[string]*testserver.Person{}
		for _, role := range anyRole {
			people[role] = s.Join(founder, org, role)
		}
		cases := slices.Concat(organizationRoleCases(), memberRoleCases(), keyRoleCases(), telemetryRoleCases(),
			pageRoleCases(), tailRoleCases(), enforcementRoleCases(), agentRoleCases(), webhookRoleCases(),
			forwardingRoleCases(), oauthRoleCases(), connectionRoleCases(), identityProviderRoleCases(provider),
			secondFactorRoleCases(), closingRoleCases())
		for _, r := range s.API.Routes() {
			declared := r.Method + " " + r.Path
			if r.OrganizationScoped() &&
				!slices.ContainsFunc(cases, func(c roleCase) bool { return c.route == declared }) {
				t.Errorf("%s: no case says which roles may call it", declared)
			}
		}
		for _, c := range cases {
			for _, role := range anyRole { // the owner last: one of the cases closes the organization
				err := c.call(t.Context(), s, org, people[role])
				want := c.otherwise
				if slices.Contains(c.may, role) {
					want = 0
				}
				if got := client.StatusOf(err); got != want || want == 0 && err != nil {
					t.Errorf("%s (%s) as %s: %v, want status %d", c.route, c.what, role, err, want)
				}
			}
		}
	}, testserver.PermitLoopback...)
}
