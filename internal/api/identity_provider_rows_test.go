package api_test

import (
	"context"
	"net/http"

	"writ/internal/testserver"
)

// identityProviderRoleCases set a provider up, read and test it, and remove it: in
// this order, so that the owner's last step leaves the organization as it was.
func identityProviderRoleCases(e *testserver.Provider) []roleCase {
	const path = "/organization/{orgId}/identity-provider"
	return []roleCase{
		{"PUT " + path, "set up", ownerOnly, http.StatusForbidden,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				return second(p.SetIdentityProvider(ctx, org, e.Settings("roles.example")))
			}},
		{"GET " + path, "read", ownerOnly, http.StatusForbidden,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				return second(p.IdentityProvider(ctx, org))
			}},
		{"POST " + path + "/test", "test", ownerOnly, http.StatusForbidden,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				return second(p.TestIdentityProvider(ctx, org))
			}},
		{"DELETE " + path, "remove", ownerOnly, http.StatusForbidden,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				return p.DeleteIdentityProvider(ctx, org)
			}},
	}
}
