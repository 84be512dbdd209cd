package api_test

import (
	"context"
	"net/http"
)

// identityProviderRoleCases set a provider up, read and test it, and remove it: in
// this order, so that the owner's last step leaves the organization as it was.
func identityProviderRoleCases(e *idp) []roleCase {
	const path = "/organization/{orgId}/identity-provider"
	return []roleCase{
		{"PUT " + path, "set up", ownerOnly, http.StatusForbidden,
			func(ctx context.Context, _ *server, org string, p *person) error {
				return second(p.SetIdentityProvider(ctx, org, e.settings("roles.example")))
			}},
		{"GET " + path, "read", ownerOnly, http.StatusForbidden,
			func(ctx context.Context, _ *server, org string, p *person) error {
				return second(p.IdentityProvider(ctx, org))
			}},
		{"POST " + path + "/test", "test", ownerOnly, http.StatusForbidden,
			func(ctx context.Context, _ *server, org string, p *person) error {
				return second(p.TestIdentityProvider(ctx, org))
			}},
		{"DELETE " + path, "remove", ownerOnly, http.StatusForbidden,
			func(ctx context.Context, _ *server, org string, p *person) error {
				return p.DeleteIdentityProvider(ctx, org)
			}},
	}
}
