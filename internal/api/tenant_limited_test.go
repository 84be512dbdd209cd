package api_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/internal/api/route"
	"writ/internal/principal"
	"writ/internal/testserver"
)

// TestLimitedSessionsStayInTheirOrganization calls every route for people with a
// session that one organization's provider vouched for, about another organization
// of the same person.
func TestLimitedSessionsStayInTheirOrganization(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newTenant(s, "Secret Harbour")
		host := s.Person("host")
		corpOrg := s.Organization(host, "Corp")
		s.SetProvider(host, corpOrg, corp, "corp.example")
		s.MakeMember(corpOrg, w.owner.ID, principal.Admin)
		limited := s.Limited(w.owner, corpOrg, corp)
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
		before := s.Dump()
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
			got := s.Send(r.Method, path, testserver.WithBearer(limited.AccessToken), body)
			hidden.wantNothingLearned(t, what, path, got)
			if (r.OrganizationScoped() || r.Action != "") && got.Status != http.StatusForbidden &&
				got.Status != http.StatusNotFound {
				t.Errorf("%s: status %d: %s", what, got.Status, got.Body)
			}
		}
		if checked < 60 {
			t.Errorf("only %d routes were tried", checked)
		}
		testserver.WantSame(t, before, s.Dump())
	}, testserver.PermitLoopback...)
}
