package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/throttle"
)

func wantSame(t *testing.T, before, after []string) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
}

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
func (w *changes) withProvider() (orgID string, e *idp) {
	w.t.Helper()
	orgID, e = w.organization(w.owner, "Vouched"), newIDP(w.t)
	w.provider(w.owner, orgID, e, "corp.example")
	return orgID, e
}

func (w *changes) arriveFromGoogle() func(context.Context) (string, error) {
	return inLog(audit.System, func(context.Context) error {
		return second(w.signInAt(w.google, "/auth/google", someone(freshAddress())))
	})
}

func (w *changes) arriveFromProvider() func(context.Context) (string, error) {
	org, e := w.withProvider()
	return inLog(audit.System, func(context.Context) error {
		return second(w.signInAt(e, "/auth/oidc/"+org, someone(freshIn("corp.example"))))
	})
}

func (w *changes) exchangeCode() func(context.Context) (string, error) {
	b := w.browser()
	answer, err := b.open("GET", w.google.signInThere(w.t, b.depart("/auth/google"), someone(freshAddress())), "")
	_, fragment, _ := strings.Cut(answer.header.Get("Location"), "#")
	values, _ := url.ParseQuery(fragment)
	if err != nil || values.Get("code") == "" {
		w.t.Fatalf("no code: %d %s %v", answer.status, answer.body, err)
	}
	return inLog(audit.System, func(context.Context) error {
		return b.try("POST", "/auth/sign-in-code", `{"code":"`+values.Get("code")+`"}`, http.StatusOK)
	})
}

// try is open that must be answered with a status.
func (b *browser) try(method, path, body string, status int, headers ...string) error {
	answer, err := b.open(method, path, body, headers...)
	if err != nil || answer.status == status {
		return err
	}
	refused := &client.Error{}
	if err := json.Unmarshal(answer.body, refused); err != nil {
		return err
	}
	return refused
}

func (w *changes) beginToLink() func(context.Context) (string, error) {
	org, _ := w.withProvider()
	return inLog("", func(context.Context) error {
		return w.browser().try("POST", "/auth/identities", `{"organizationId":"`+org+`"}`, http.StatusOK,
			credentials(w.owner.Client)...)
	})
}

func (w *changes) unlink() func(context.Context) (string, error) {
	org, e := w.withProvider()
	w.link(w.owner, org, e, someone(freshIn("corp.example")))
	list, err := w.owner.Identities(w.t.Context())
	if err != nil || len(list) == 0 {
		w.t.Fatalf("identities: %+v, %v", list, err)
	}
	return inLog(audit.System, func(ctx context.Context) error { return w.owner.UnlinkIdentity(ctx, list[0].ID) })
}

func (w *changes) setProvider() func(context.Context) (string, error) {
	org, e := w.withProvider()
	settings := e.settings("corp.example", "corp.test")
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
func (s *server) identify(w *tenant) map[string]map[string]string {
	s.t.Helper()
	id := s.someIdentity(w.owner.ID)
	w.private = append(w.private, id)
	nowhere := map[string]string{"organization": "nowhere"}
	return map[string]map[string]string{
		"DELETE /auth/identities/{id}":           {"id": id},
		"GET /auth/oidc/{organization}":          nowhere, // anyone may ask
		"GET /auth/oidc/{organization}/callback": nowhere,
	}
}

// someIdentity stores an identity of a person.
func (s *server) someIdentity(userID string) string {
	s.t.Helper()
	id := database.NewID()
	err := s.Database.Write(s.t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO external_identity (id, org_id, issuer, subject, user_id, email, linked, created_at)
			VALUES ($1, '', 'https://id.example.org', $1, $2, 'x@example.org', 1, 1)`, id, userID)
		return err
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// TestIdentityProviderThrottle counts by who tests.
func TestIdentityProviderThrottle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		s.nextMinute()
		wantThrottled(t, throttled{throttle.TestIdentityProvider, func(t *testing.T, c *client.Client, _ string) error {
			return second(c.TestIdentityProvider(t.Context(), org)) // there is none, and that counts too
		}}, owner.Client, "")
		s.nextMinute()
		wantFree(t, "a minute later", second(owner.TestIdentityProvider(t.Context(), org)))
	})
}
