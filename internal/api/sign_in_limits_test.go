package api_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/api/route"
	"writ/internal/principal"
)

// TestProvidersThatMayNotBeCalled are addresses only this server can reach.
func TestProvidersThatMayNotBeCalled(t *testing.T) {
	t.Parallel()
	corp := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		for _, issuer := range []string{
			corp.Issuer(), "http://login.example.com", "https://169.254.169.254/latest", "https://localhost",
			"ftp://example.com",
			"https://user:secret@example.com", "https://example.com/?a=b", "https://example.com:5432", "x",
		} {
			settings := corp.settings("corp.example")
			settings.Issuer = issuer
			_, err := owner.SetIdentityProvider(t.Context(), org, settings)
			wantStatus(t, issuer, err, http.StatusBadRequest)
		}
		for _, change := range []func(*client.ProviderSettings){
			func(p *client.ProviderSettings) { p.Domains = []string{"no domain"} },
			func(p *client.ProviderSettings) { p.Domains = []string{"com"} },
			func(p *client.ProviderSettings) { p.Slug = "a/b" },
			func(p *client.ProviderSettings) { p.DefaultRole = "owner" },
			func(p *client.ProviderSettings) { p.DefaultRole = "admin" },
			func(p *client.ProviderSettings) { p.ClientID = "a b" },
		} {
			settings := corp.settings("corp.example")
			settings.Issuer = "https://login.example.com"
			change(&settings)
			_, err := owner.SetIdentityProvider(t.Context(), org, settings)
			wantStatus(t, "bad settings", err, http.StatusBadRequest)
		}
	})
}

// TestLimitedSessionsStayInTheirOrganization calls every route for people with a
// session that one organization's provider vouched for, about another organization
// of the same person.
func TestLimitedSessionsStayInTheirOrganization(t *testing.T) {
	t.Parallel()
	corp := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		w := s.tenant("Secret Harbour")
		host := s.person("host")
		corpOrg := s.organization(host, "Corp")
		s.provider(host, corpOrg, corp, "corp.example")
		s.makeMember(corpOrg, w.owner.ID, principal.Admin)
		limited := s.limited(w.owner, corpOrg, corp)
		if list, err := limited.Organizations(t.Context()); err != nil || len(list) != 1 || list[0].ID != corpOrg {
			t.Errorf("organizations %+v, %v", list, err)
		}
		// Who the person is and where they signed in from is no secret to them.
		hidden := *w
		hidden.private = nil
		for _, private := range w.private {
			if private != w.owner.ID && private != w.owner.Email {
				hidden.private = append(hidden.private, private)
			}
		}
		before := s.dump()
		checked := 0
		for _, r := range s.API.Routes() {
			if r.Mode != route.Person && r.Mode != route.PersonOrKey || r.Path == "/auth/logout" ||
				strings.HasSuffix(r.Path, "/stream") {
				continue
			}
			checked++
			what := r.Method + " " + r.Path
			path := w.pathIn(r, w.org)
			if !r.OrganizationScoped() {
				path += "?organizationId=" + w.org
			}
			body := strings.Replace(plausibleBody, "{", `{"organizationId":"`+w.org+`","document":"x",`, 1)
			got := s.tenancyCall(r.Method, path, withBearer(limited.AccessToken), body)
			hidden.wantNothingLearned(t, what, path, got)
			if (r.OrganizationScoped() || r.Action != "") && got.status != http.StatusForbidden &&
				got.status != http.StatusNotFound {
				t.Errorf("%s: status %d: %s", what, got.status, got.body)
			}
		}
		if checked < 60 {
			t.Errorf("only %d routes were tried", checked)
		}
		wantSame(t, before, s.dump())
	}, permitLoopback...)
}
