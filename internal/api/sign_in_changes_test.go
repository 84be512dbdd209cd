package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// signInScenarios are the changes of signing in elsewhere.
func (w *changes) signInScenarios() map[string]scenario {
	return map[string]scenario{
		"GET /auth/google/callback":              w.arriveFromGoogle,
		"GET /auth/oidc/{organization}/callback": w.arriveFromProvider,
		"POST /auth/sign-in-code":                w.exchangeCode,
		"POST /auth/identities":                  w.beginToLink,
		"DELETE /auth/identities/{id}":           w.unlink,

		"PUT /organization/{orgId}/identity-provider":       w.setProvider,
		"DELETE /organization/{orgId}/identity-provider":    w.deleteProvider,
		"POST /organization/{orgId}/identity-provider/test": w.testProvider,
	}
}

// withProvider is an organization that has one.
func (w *changes) withProvider() (orgID string, e *testserver.Provider) {
	w.T.Helper()
	orgID, e = w.Organization(w.owner, "Vouched"), testserver.NewProvider(w.T)
	w.SetProvider(w.owner, orgID, e, "corp.example")
	return orgID, e
}

func (w *changes) arriveFromGoogle() func(context.Context) (string, error) {
	return inLog(audit.System, func(context.Context) error {
		return second(w.SignInAt(w.google, "/auth/google", testserver.Someone(testserver.FreshAddress())))
	})
}

func (w *changes) arriveFromProvider() func(context.Context) (string, error) {
	org, e := w.withProvider()
	return inLog(audit.System, func(context.Context) error {
		return second(w.SignInAt(e, "/auth/oidc/"+org, testserver.Someone(testserver.FreshIn("corp.example"))))
	})
}

func (w *changes) exchangeCode() func(context.Context) (string, error) {
	b := w.Browser()
	answer, err := b.Open("GET",
		w.google.SignInThere(w.T, b.StartSignIn("/auth/google"), testserver.Someone(testserver.FreshAddress())), "")
	_, fragment, _ := strings.Cut(answer.Header.Get("Location"), "#")
	values, _ := url.ParseQuery(fragment)
	if err != nil || values.Get("code") == "" {
		w.T.Fatalf("no code: %d %s %v", answer.Status, answer.Body, err)
	}
	return inLog(audit.System, func(context.Context) error {
		return try(b, "POST", "/auth/sign-in-code", `{"code":"`+values.Get("code")+`"}`, http.StatusOK)
	})
}

// try is open that must be answered with a status.
func try(b *testserver.Browser, method, path, body string, status int, headers ...string) error {
	answer, err := b.Open(method, path, body, headers...)
	if err != nil || answer.Status == status {
		return err
	}
	refused := &client.Error{}
	if err := json.Unmarshal(answer.Body, refused); err != nil {
		return err
	}
	return refused
}

func (w *changes) beginToLink() func(context.Context) (string, error) {
	org, _ := w.withProvider()
	return inLog("", func(context.Context) error {
		return try(w.Browser(), "POST", "/auth/identities", `{"organizationId":"`+org+`"}`, http.StatusOK,
			testserver.Credentials(w.owner.Client)...)
	})
}

func (w *changes) unlink() func(context.Context) (string, error) {
	org, e := w.withProvider()
	w.Link(w.owner, org, e, testserver.Someone(testserver.FreshIn("corp.example")))
	list, err := w.owner.Identities(w.T.Context())
	if err != nil || len(list) == 0 {
		w.T.Fatalf("identities: %+v, %v", list, err)
	}
	return inLog(audit.System, func(ctx context.Context) error { return w.owner.UnlinkIdentity(ctx, list[0].ID) })
}

func (w *changes) setProvider() func(context.Context) (string, error) {
	org, e := w.withProvider()
	settings := e.Settings("corp.example", "corp.test")
	return inLog(org, func(ctx context.Context) error {
		return second(w.owner.SetIdentityProvider(ctx, org, settings))
	})
}

func (w *changes) deleteProvider() func(context.Context) (string, error) {
	org, _ := w.withProvider()
	return inLog(org, func(ctx context.Context) error { return w.owner.DeleteIdentityProvider(ctx, org) })
}

func (w *changes) testProvider() func(context.Context) (string, error) {
	org, _ := w.withProvider()
	return inLog(org, func(ctx context.Context) error { return second(w.owner.TestIdentityProvider(ctx, org)) })
}

// identify gives a tenant's owner an identity, and names it where routes ask.
func identify(s *testserver.Server, w *tenant) map[string]map[string]string {
	s.T.Helper()
	id := someIdentity(s, w.owner.ID)
	w.private = append(w.private, id)
	nowhere := map[string]string{"organization": "nowhere"}
	return map[string]map[string]string{
		"DELETE /auth/identities/{id}":           {"id": id},
		"GET /auth/oidc/{organization}":          nowhere, // anyone may ask
		"GET /auth/oidc/{organization}/callback": nowhere,
	}
}

// someIdentity stores an identity of a person.
func someIdentity(s *testserver.Server, userID string) string {
	s.T.Helper()
	id := database.NewID()
	err := s.Database.Write(s.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO external_identity (id, org_id, issuer, subject, user_id, email, linked, created_at)
			VALUES ($1, '', 'https://id.example.org', $1, $2, 'x@example.org', 1, 1)`, id, userID)
		return err
	}})
	if err != nil {
		s.T.Fatal(err)
	}
	return id
}

// TestIdentityProviderThrottle counts by who tests.
func TestIdentityProviderThrottle(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		s.NextMinute()
		testserver.WantThrottled(t,
			testserver.Throttled{Rule: throttle.TestIdentityProvider,
				Call: func(t *testing.T, c *client.Client, _ string) error {
					return second(c.TestIdentityProvider(t.Context(), org)) // there is none, and that counts too
				}}, owner.Client, "")
		s.NextMinute()
		testserver.WantFree(t, "a minute later", second(owner.TestIdentityProvider(t.Context(), org)))
	})
}
