package api_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/oauth2-proxy/mockoidc"
)

// TestRemovedDomainEndsItsPeople: they cannot sign in any more, so what they have
// must not go on either.
func TestRemovedDomainEndsItsPeople(t *testing.T) {
	t.Parallel()
	corp := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		s.provider(owner, org, corp, "corp.example", "contractor.example")
		g := s.guest(t, org, corp, someone(freshIn("contractor.example")))
		s.provider(owner, org, corp, "contractor.example", "corp.example", "new.example")
		g.wantEnded(t, s, false)
		s.provider(owner, org, corp, "corp.example", "new.example")
		g.wantEnded(t, s, true)
	}, permitLoopback...)
}

// TestProviderChangedDuringASignIn: the provider is asked, and while it answers an
// owner registers another client with it, which ends what came from the one before.
func TestProviderChangedDuringASignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		var meanwhile sync.Once
		var change func()
		corp := newIDPWith(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == mockoidc.TokenEndpoint {
					meanwhile.Do(change)
				}
				next.ServeHTTP(w, r)
			})
		})
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		s.provider(owner, org, corp, "corp.example")
		change = func() {
			other := corp.settings("corp.example")
			other.ClientID = "another-client"
			if _, err := owner.SetIdentityProvider(t.Context(), org, other); err != nil {
				t.Errorf("set another client: %v", err)
			}
		}
		in, err := s.signInAt(corp, "/auth/oidc/"+org, someone(freshIn("corp.example")))
		wantStatus(t, "a sign-in of the client before", err, http.StatusConflict)
		if in.AccessToken != "" {
			t.Error("it has a session")
		}
	}, permitLoopback...)
}
