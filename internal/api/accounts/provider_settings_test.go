package accounts_test

import (
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestProvidersThatMayNotBeCalled are addresses only this server can reach.
func TestProvidersThatMayNotBeCalled(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		for _, issuer := range []string{
			corp.Issuer(), "http://login.example.com", "https://169.254.169.254/latest", "https://localhost",
			"ftp://example.com",
			"https://user:secret@example.com", "https://example.com/?a=b", "https://example.com:5432", "x",
		} {
			settings := corp.Settings("corp.example")
			settings.Issuer = issuer
			_, err := owner.SetIdentityProvider(t.Context(), org, settings)
			testserver.WantStatus(t, issuer, err, http.StatusBadRequest)
		}
		for _, change := range []func(*client.ProviderSettings){
			func(p *client.ProviderSettings) { p.Domains = []string{"no domain"} },
			func(p *client.ProviderSettings) { p.Domains = []string{"com"} },
			func(p *client.ProviderSettings) { p.Slug = "a/b" },
			func(p *client.ProviderSettings) { p.DefaultRole = "owner" },
			func(p *client.ProviderSettings) { p.DefaultRole = "admin" },
			func(p *client.ProviderSettings) { p.ClientID = "a b" },
		} {
			settings := corp.Settings("corp.example")
			settings.Issuer = "https://login.example.com"
			change(&settings)
			_, err := owner.SetIdentityProvider(t.Context(), org, settings)
			testserver.WantStatus(t, "bad settings", err, http.StatusBadRequest)
		}
	})
}
