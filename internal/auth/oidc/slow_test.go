package oidc_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"writ/internal/auth/oidc"
	"writ/internal/fault"
	"writ/internal/secret"
)

// stuck is a provider that takes a request and never answers.
type stuck struct{}

func (stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestSlowProviders are given up on, with a client that would wait for ever. The
// clock is the test's own.
func TestSlowProviders(t *testing.T) {
	t.Parallel()
	p := oidc.Provider{
		Issuer:      "https://login.example",
		ClientID:    "c",
		Secret:      secret.NewText("hidden"),
		RedirectURL: "https://writ.example/callback",
	}
	for name, call := range map[string]func(*testing.T, *oidc.RelyingParty) error{
		"begin": func(t *testing.T, r *oidc.RelyingParty) error {
			_, err := r.Address(t.Context(), p, oidc.NewAttempt())
			return err
		},
		"redeem": func(t *testing.T, r *oidc.RelyingParty) error {
			_, err := r.Redeem(t.Context(), p, oidc.NewAttempt(), "code")
			return err
		},
		"check": func(t *testing.T, r *oidc.RelyingParty) error { return r.Check(t.Context(), p) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				err := call(t, oidc.New(&http.Client{Transport: stuck{}}, time.Now))
				if waited := time.Since(begun); !fault.Is(err, fault.Unavailable) || waited > 20*time.Second {
					t.Errorf("after %s: %v; want it unavailable within 20 s", waited, err)
				}
			})
		})
	}
}
