package accounts_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"writ/internal/testserver"
)

// TestRemovedDomainEndsItsPeople: they cannot sign in any more, so what they have
// must not go on either.
func TestRemovedDomainEndsItsPeople(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		s.SetProvider(owner, org, corp, "corp.example", "contractor.example")
		g := newGuest(t, s, org, corp, testserver.Someone(testserver.FreshIn("contractor.example")))
		s.SetProvider(owner, org, corp, "contractor.example", "corp.example", "new.example")
		g.wantEnded(t, s, false)
		s.SetProvider(owner, org, corp, "corp.example", "new.example")
		g.wantEnded(t, s, true)
	}, testserver.PermitLoopback...)
}

// TestProviderChangedDuringASignIn: the provider is asked, and while it answers an
// owner registers another client with it, which ends what came from the one before.
func TestProviderChangedDuringASignIn(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		var meanwhile sync.Once
		var change func()
		corp := testserver.NewProviderWith(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == mockoidc.TokenEndpoint {
					meanwhile.Do(change)
				}
				next.ServeHTTP(w, r)
			})
		})
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		s.SetProvider(owner, org, corp, "corp.example")
		change = func() {
			other := corp.Settings("corp.example")
			other.ClientID = "another-client"
			if _, err := owner.SetIdentityProvider(t.Context(), org, other); err != nil {
				t.Errorf("set another client: %v", err)
			}
		}
		in, err := s.SignInAt(corp, "/auth/oidc/"+org, testserver.Someone(testserver.FreshIn("corp.example")))
		testserver.WantStatus(t, "a sign-in of the client before", err, http.StatusConflict)
		if in.AccessToken != "" {
			t.Error("it has a session")
		}
	}, testserver.PermitLoopback...)
}
