package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
)

func TestSignInWithGoogle(t *testing.T) {
	t.Parallel()
	google := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		user := someone("Ada.G@example.com")
		first, err := s.signInAt(google, "/auth/google", user)
		if err != nil {
			t.Fatal(err)
		}
		if first.User.Email != "ada.g@example.com" || !first.User.Verified || first.LimitedTo != nil ||
			len(first.Organizations) != 0 {
			t.Errorf("signed in as %+v", first)
		}
		ada := s.public.As(first.AccessToken)
		if _, err := ada.CreateOrganization(t.Context(), "Hers"); err != nil {
			t.Errorf("her account is her own: %v", err)
		}
		user.Email = "moved@example.com" // an identity is a subject, not an address
		again, err := s.signInAt(google, "/auth/google", user)
		if err != nil || again.User.ID != first.User.ID || len(again.Organizations) != 1 {
			t.Errorf("again: %+v, %v", again, err)
		}
		tokens, err := s.public.Refresh(t.Context(), again.RefreshToken)
		if err != nil {
			t.Fatal(err)
		}
		if me, err := s.public.As(tokens.AccessToken).Me(t.Context()); err != nil || me.User.ID != first.User.ID {
			t.Errorf("after a refresh: %+v, %v", me, err)
		}
	}, google.asGoogle()...)
}

func TestGoogleThatIsNotSetUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		s.wire(t, "GET", "/auth/google", "").errorFields(t, http.StatusNotFound)
		s.wire(t, "GET", "/auth/google/callback?state=x&code=y", "").errorFields(t, http.StatusUnauthorized)
	})
}

func TestGoogleWhereSignUpIsClosed(t *testing.T) {
	t.Parallel()
	google := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		_, err := s.signInAt(google, "/auth/google", someone("new@example.com"))
		wantStatus(t, "somebody new", err, http.StatusForbidden)
		ada, user := s.person("ada"), someone("ada@example.com")
		s.link(ada, "", google, user)
		if in, err := s.signInAt(google, "/auth/google", user); err != nil || in.User.ID != ada.ID {
			t.Errorf("who has an account: %+v, %v", in, err)
		}
	}, append(google.asGoogle(), "WRIT_SIGNUP", "closed")...)
}

// TestSignInWithAPage exchanges the code that a browser finds in its address.
func TestSignInWithAPage(t *testing.T) {
	t.Parallel()
	google := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		code := func(b *browser) string {
			t.Helper()
			answer, err := b.open("GET", google.signInThere(t, b.depart("/auth/google"), someone(freshAddress())), "",
				"Accept", "text/html")
			page, fragment, _ := strings.Cut(answer.header.Get("Location"), "#")
			values, _ := url.ParseQuery(fragment)
			if err != nil || answer.status != http.StatusSeeOther || page != "/ui/" || values.Get("code") == "" {
				t.Fatalf("came back to %d %q, %v", answer.status, answer.header.Get("Location"), err)
			}
			for _, cookie := range answer.header.Values("Set-Cookie") {
				if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=") ||
					!strings.Contains(cookie, "Path=/auth") {
					t.Errorf("a cookie of the sign-in: %s", cookie)
				}
			}
			return `{"code":"` + values.Get("code") + `"}`
		}
		mine, thief := s.browser(), s.browser()
		body := code(mine)
		if answer, err := thief.open("POST", "/auth/sign-in-code", body); err != nil ||
			answer.status != http.StatusUnauthorized {
			t.Errorf("in another browser: %d %s %v", answer.status, answer.body, err)
		}
		half := mine.cookies["writ_sign_in_code"]
		answer, err := mine.open("POST", "/auth/sign-in-code", body)
		var in signedIn
		if err != nil || answer.status != http.StatusOK || json.Unmarshal(answer.body, &in) != nil {
			t.Fatalf("exchange: %d %s %v", answer.status, answer.body, err)
		}
		if me, err := s.public.As(in.AccessToken).Me(t.Context()); err != nil || me.User.ID != in.User.ID {
			t.Errorf("signed in as %+v, %v", me, err)
		}
		mine.cookies["writ_sign_in_code"] = half
		if answer, _ := mine.open("POST", "/auth/sign-in-code", body); answer.status != http.StatusUnauthorized {
			t.Errorf("a second time: %d %s", answer.status, answer.body)
		}
		late := s.browser()
		body = code(late)
		s.advance(time.Minute)
		if answer, _ := late.open("POST", "/auth/sign-in-code", body); answer.status != http.StatusUnauthorized {
			t.Errorf("after a minute: %d %s", answer.status, answer.body)
		}
	}, google.asGoogle()...)
}

func TestSignInWithAnOrganizationsProvider(t *testing.T) {
	t.Parallel()
	corp := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		settings := corp.settings("corp.example", "CORP.example ")
		settings.Slug, settings.DefaultRole = "corp", "viewer"
		set, err := owner.SetIdentityProvider(t.Context(), org, settings)
		if err != nil || len(set.Domains) != 1 || set.TestedAt != nil ||
			!strings.HasSuffix(set.CallbackURL, "/auth/oidc/"+org+"/callback") {
			t.Fatalf("set up: %+v, %v", set, err)
		}
		if tested, err := owner.TestIdentityProvider(t.Context(), org); err != nil || tested.TestedAt == nil ||
			tested.Domains[0].ProvenAt != nil {
			t.Errorf("test: %+v, %v", tested, err)
		}
		user := someone("Bob@Corp.example")
		for _, path := range []string{"/auth/oidc/" + org, "/auth/oidc/corp", "/auth/oidc/CORP"} {
			in, err := s.signInAt(corp, path, user)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if in.User.Email != "bob@corp.example" || in.User.Verified || in.LimitedTo == nil || *in.LimitedTo != org ||
				len(in.Organizations) != 1 || in.Organizations[0].Role != "viewer" {
				t.Errorf("%s: signed in as %+v", path, in)
			}
			if _, err := s.public.As(in.AccessToken).Organization(t.Context(), org); err != nil {
				t.Errorf("in the organization: %v", err)
			}
		}
		wantRecorded(t, s, org, "identity_provider.set", "identity_provider.tested", "member.joined")
		wantRecorded(t, s, audit.System, "user.registered", "identity.linked", "session.created")
		var stored []byte
		if err := s.Database.QueryRow(t.Context(), `SELECT sealed_secret FROM identity_provider WHERE org_id = $1`,
			org).Scan(&stored); err != nil ||
			strings.Contains(string(stored), corp.ClientSecret) {
			t.Errorf("the secret is stored as %q, %v", stored, err)
		}
	}, permitLoopback...)
}

func wantRecorded(t *testing.T, s *server, log string, actions ...string) {
	t.Helper()
	all := " " + strings.Join(s.recorded(log), " ") + " "
	for _, action := range actions {
		if !strings.Contains(all, " "+action+" ") {
			t.Errorf("%s is not in log %s: %s", action, log, all)
		}
	}
}

// prove marks a domain as one that the record was found for: tests have no name
// server of their own.
func (s *server) prove(orgID, domain string) {
	s.t.Helper()
	err := s.Database.Write(s.t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE identity_provider_domain SET proven_at = 1 WHERE org_id = $1 AND domain = $2`,
			orgID, domain)
		return err
	}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestSignInByDomain leads people to a provider only where its organization has
// proven the domain, alone.
func TestSignInByDomain(t *testing.T) {
	t.Parallel()
	corp := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner, rival := s.person("owner"), s.person("rival")
		org, other := s.organization(owner, "Corp"), s.organization(rival, "Rival")
		s.provider(owner, org, corp, "corp.example")
		s.provider(rival, other, corp, "corp.example")
		const path = "/auth/oidc?email=bob@corp.example"
		s.wire(t, "GET", path, "").errorFields(t, http.StatusNotFound)
		s.prove(org, "corp.example")
		for _, query := range []string{"bob@corp.example", "%20Bob@CORP.example", "corp.example"} {
			in, err := s.signInAt(corp, "/auth/oidc?email="+query, someone(freshIn("corp.example")))
			if err != nil || in.LimitedTo == nil || *in.LimitedTo != org {
				t.Errorf("%s: %+v, %v", query, in, err)
			}
		}
		for _, query := range []string{
			"bob@sub.corp.example", "bob@notcorp.example", "example", "a@b@corp.example", "%00",
		} {
			if answer := s.wire(t, "GET", "/auth/oidc?email="+query, ""); answer.status != http.StatusNotFound &&
				answer.status != http.StatusBadRequest {
				t.Errorf("%s leads to %d %s", query, answer.status, answer.header.Get("Location"))
			}
		}
		s.prove(other, "corp.example")
		s.wire(t, "GET", path, "").errorFields(t, http.StatusNotFound)
		s.wire(t, "GET", "/auth/oidc", "").errorFields(t, http.StatusBadRequest)
	}, permitLoopback...)
}

// freshIn is an address in a domain that nobody has.
func freshIn(domain string) string {
	name, _, _ := strings.Cut(freshAddress(), "@")
	return name + "@" + domain
}

// TestEnforcedProvider keeps members without it out, but not owners.
func TestEnforcedProvider(t *testing.T) {
	t.Parallel()
	corp := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		admin := s.join(owner, org, "admin")
		settings := corp.settings("corp.example")
		settings.Enforced = true
		_, err := owner.SetIdentityProvider(t.Context(), org, settings)
		wantStatus(t, "to enforce what was never tested", err, http.StatusBadRequest)
		s.provider(owner, org, corp, "corp.example")
		_, err = admin.IdentityProvider(t.Context(), org)
		wantStatus(t, "an admin", err, http.StatusForbidden)
		if _, err := owner.TestIdentityProvider(t.Context(), org); err != nil {
			t.Fatal(err)
		}
		settings.ClientSecret = ""
		if _, err := owner.SetIdentityProvider(t.Context(), org, settings); err != nil {
			t.Fatalf("enforce: %v", err)
		}
		_, err = admin.Organization(t.Context(), org)
		wantStatus(t, "a member with a password", err, http.StatusForbidden)
		if _, err := owner.Organization(t.Context(), org); err != nil {
			t.Errorf("an owner with a password: %v", err)
		}
		if _, err := s.limited(admin, org, corp).Organization(t.Context(), org); err != nil {
			t.Errorf("the member, vouched for: %v", err)
		}
	}, permitLoopback...)
}

// TestProviderIsRemoved ends what came from it, and what comes from another
// client.
func TestProviderIsRemoved(t *testing.T) {
	t.Parallel()
	corp := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		s.provider(owner, org, corp, "corp.example")
		user := someone(freshIn("corp.example"))
		in, err := s.signInAt(corp, "/auth/oidc/"+org, user)
		if err != nil {
			t.Fatal(err)
		}
		if err := owner.DeleteIdentityProvider(t.Context(), org); err != nil {
			t.Fatal(err)
		}
		_, err = s.public.As(in.AccessToken).Me(t.Context())
		wantStatus(t, "a session that came from it", err, http.StatusUnauthorized)
		_, err = s.public.Refresh(t.Context(), in.RefreshToken)
		wantStatus(t, "its refresh token", err, http.StatusUnauthorized)
		s.wire(t, "GET", "/auth/oidc/"+org, "").errorFields(t, http.StatusNotFound)
		_, err = owner.IdentityProvider(t.Context(), org)
		wantStatus(t, "the provider", err, http.StatusNotFound)

		settings := corp.settings("corp.example")
		settings.ClientSecret = ""
		_, err = owner.SetIdentityProvider(t.Context(), org, settings)
		wantStatus(t, "anew without a secret", err, http.StatusBadRequest)
	}, permitLoopback...)
}
