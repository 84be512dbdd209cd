package accounts_test

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
	"writ/internal/testserver"
)

func TestSignInWithGoogle(t *testing.T) {
	t.Parallel()
	google := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		user := testserver.Someone("Ada.G@example.com")
		first, err := s.SignInAt(google, "/auth/google", user)
		if err != nil {
			t.Fatal(err)
		}
		if first.User.Email != "ada.g@example.com" || !first.User.Verified || first.LimitedTo != nil ||
			len(first.Organizations) != 0 {
			t.Errorf("signed in as %+v", first)
		}
		ada := s.Public.As(first.AccessToken)
		if _, err := ada.CreateOrganization(t.Context(), "Hers"); err != nil {
			t.Errorf("her account is her own: %v", err)
		}
		user.Email = "moved@example.com" // an identity is a subject, not an address
		again, err := s.SignInAt(google, "/auth/google", user)
		if err != nil || again.User.ID != first.User.ID || len(again.Organizations) != 1 {
			t.Errorf("again: %+v, %v", again, err)
		}
		tokens, err := s.Public.Refresh(t.Context(), again.RefreshToken)
		if err != nil {
			t.Fatal(err)
		}
		if me, err := s.Public.As(tokens.AccessToken).Me(t.Context()); err != nil || me.User.ID != first.User.ID {
			t.Errorf("after a refresh: %+v, %v", me, err)
		}
	}, google.AsGoogle()...)
}

func TestGoogleThatIsNotSetUp(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		s.Request(t, "GET", "/auth/google", "").ErrorFields(t, http.StatusNotFound)
		s.Request(t, "GET", "/auth/google/callback?state=x&code=y", "").ErrorFields(t, http.StatusUnauthorized)
	})
}

func TestGoogleWhereSignUpIsClosed(t *testing.T) {
	t.Parallel()
	google := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		_, err := s.SignInAt(google, "/auth/google", testserver.Someone("new@example.com"))
		testserver.WantStatus(t, "somebody new", err, http.StatusForbidden)
		ada, user := s.Person("ada"), testserver.Someone("ada@example.com")
		s.Link(ada, "", google, user)
		if in, err := s.SignInAt(google, "/auth/google", user); err != nil || in.User.ID != ada.ID {
			t.Errorf("who has an account: %+v, %v", in, err)
		}
	}, append(google.AsGoogle(), "WRIT_SIGNUP", "closed")...)
}

// TestSignInWithAPage exchanges the code that a browser finds in its address.
func TestSignInWithAPage(t *testing.T) {
	t.Parallel()
	google := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		code := func(b *testserver.Browser) string {
			t.Helper()
			answer, err := b.Open("GET",
				google.SignInThere(t, b.StartSignIn("/auth/google"), testserver.Someone(testserver.FreshAddress())), "",
				"Accept", "text/html")
			page, fragment, _ := strings.Cut(answer.Header.Get("Location"), "#")
			values, _ := url.ParseQuery(fragment)
			if err != nil || answer.Status != http.StatusSeeOther || page != "/ui/" || values.Get("code") == "" {
				t.Fatalf("came back to %d %q, %v", answer.Status, answer.Header.Get("Location"), err)
			}
			for _, cookie := range answer.Header.Values("Set-Cookie") {
				if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=") ||
					!strings.Contains(cookie, "Path=/auth") {
					t.Errorf("a cookie of the sign-in: %s", cookie)
				}
			}
			return `{"code":"` + values.Get("code") + `"}`
		}
		mine, thief := s.Browser(), s.Browser()
		body := code(mine)
		if answer, err := thief.Open("POST", "/auth/sign-in-code", body); err != nil ||
			answer.Status != http.StatusUnauthorized {
			t.Errorf("in another browser: %d %s %v", answer.Status, answer.Body, err)
		}
		half := mine.Cookies["writ_sign_in_code"]
		answer, err := mine.Open("POST", "/auth/sign-in-code", body)
		var in testserver.SignedIn
		if err != nil || answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &in) != nil {
			t.Fatalf("exchange: %d %s %v", answer.Status, answer.Body, err)
		}
		if me, err := s.Public.As(in.AccessToken).Me(t.Context()); err != nil || me.User.ID != in.User.ID {
			t.Errorf("signed in as %+v, %v", me, err)
		}
		mine.Cookies["writ_sign_in_code"] = half
		if answer, _ := mine.Open("POST", "/auth/sign-in-code", body); answer.Status != http.StatusUnauthorized {
			t.Errorf("a second time: %d %s", answer.Status, answer.Body)
		}
		late := s.Browser()
		body = code(late)
		s.Advance(time.Minute)
		if answer, _ := late.Open("POST", "/auth/sign-in-code", body); answer.Status != http.StatusUnauthorized {
			t.Errorf("after a minute: %d %s", answer.Status, answer.Body)
		}
	}, google.AsGoogle()...)
}

func TestSignInWithAnOrganizationsProvider(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		settings := corp.Settings("corp.example", "CORP.example ")
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
		user := testserver.Someone("Bob@Corp.example")
		for _, path := range []string{"/auth/oidc/" + org, "/auth/oidc/corp", "/auth/oidc/CORP"} {
			in, err := s.SignInAt(corp, path, user)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if in.User.Email != "bob@corp.example" || in.User.Verified || in.LimitedTo == nil || *in.LimitedTo != org ||
				len(in.Organizations) != 1 || in.Organizations[0].Role != "viewer" {
				t.Errorf("%s: signed in as %+v", path, in)
			}
			if _, err := s.Public.As(in.AccessToken).Organization(t.Context(), org); err != nil {
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
	}, testserver.PermitLoopback...)
}

func wantRecorded(t *testing.T, s *testserver.Server, log string, actions ...string) {
	t.Helper()
	all := " " + strings.Join(s.Recorded(log), " ") + " "
	for _, action := range actions {
		if !strings.Contains(all, " "+action+" ") {
			t.Errorf("%s is not in log %s: %s", action, log, all)
		}
	}
}

// prove marks a domain as one that the record was found for: tests have no name
// server of their own.
func prove(s *testserver.Server, orgID, domain string) {
	s.T.Helper()
	err := s.Database.Write(s.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE identity_provider_domain SET proven_at = 1 WHERE org_id = $1 AND domain = $2`,
			orgID, domain)
		return err
	}})
	if err != nil {
		s.T.Fatal(err)
	}
}

// TestSignInByDomain leads people to a provider only where its organization has
// proven the domain, alone.
func TestSignInByDomain(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner, rival := s.Person("owner"), s.Person("rival")
		org, other := s.Organization(owner, "Corp"), s.Organization(rival, "Rival")
		s.SetProvider(owner, org, corp, "corp.example")
		s.SetProvider(rival, other, corp, "corp.example")
		const path = "/auth/oidc?email=bob@corp.example"
		s.Request(t, "GET", path, "").ErrorFields(t, http.StatusNotFound)
		prove(s, org, "corp.example")
		for _, query := range []string{"bob@corp.example", "%20Bob@CORP.example", "corp.example"} {
			in, err := s.SignInAt(corp, "/auth/oidc?email="+query,
				testserver.Someone(testserver.FreshIn("corp.example")))
			if err != nil || in.LimitedTo == nil || *in.LimitedTo != org {
				t.Errorf("%s: %+v, %v", query, in, err)
			}
		}
		for _, query := range []string{
			"bob@sub.corp.example", "bob@notcorp.example", "example", "a@b@corp.example", "%00",
		} {
			if answer := s.Request(t, "GET", "/auth/oidc?email="+query, ""); answer.Status != http.StatusNotFound &&
				answer.Status != http.StatusBadRequest {
				t.Errorf("%s leads to %d %s", query, answer.Status, answer.Header.Get("Location"))
			}
		}
		prove(s, other, "corp.example")
		s.Request(t, "GET", path, "").ErrorFields(t, http.StatusNotFound)
		s.Request(t, "GET", "/auth/oidc", "").ErrorFields(t, http.StatusBadRequest)
	}, testserver.PermitLoopback...)
}

// TestEnforcedProvider keeps members without it out, but not owners.
func TestEnforcedProvider(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		admin := s.Join(owner, org, "admin")
		settings := corp.Settings("corp.example")
		settings.Enforced = true
		_, err := owner.SetIdentityProvider(t.Context(), org, settings)
		testserver.WantStatus(t, "to enforce what was never tested", err, http.StatusBadRequest)
		s.SetProvider(owner, org, corp, "corp.example")
		_, err = admin.IdentityProvider(t.Context(), org)
		testserver.WantStatus(t, "an admin", err, http.StatusForbidden)
		if _, err := owner.TestIdentityProvider(t.Context(), org); err != nil {
			t.Fatal(err)
		}
		settings.ClientSecret = ""
		if _, err := owner.SetIdentityProvider(t.Context(), org, settings); err != nil {
			t.Fatalf("enforce: %v", err)
		}
		_, err = admin.Organization(t.Context(), org)
		testserver.WantStatus(t, "a member with a password", err, http.StatusForbidden)
		if _, err := owner.Organization(t.Context(), org); err != nil {
			t.Errorf("an owner with a password: %v", err)
		}
		if _, err := s.Limited(admin, org, corp).Organization(t.Context(), org); err != nil {
			t.Errorf("the member, vouched for: %v", err)
		}
	}, testserver.PermitLoopback...)
}

// TestProviderIsRemoved ends what came from it, and what comes from another
// client.
func TestProviderIsRemoved(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		s.SetProvider(owner, org, corp, "corp.example")
		user := testserver.Someone(testserver.FreshIn("corp.example"))
		in, err := s.SignInAt(corp, "/auth/oidc/"+org, user)
		if err != nil {
			t.Fatal(err)
		}
		if err := owner.DeleteIdentityProvider(t.Context(), org); err != nil {
			t.Fatal(err)
		}
		_, err = s.Public.As(in.AccessToken).Me(t.Context())
		testserver.WantStatus(t, "a session that came from it", err, http.StatusUnauthorized)
		_, err = s.Public.Refresh(t.Context(), in.RefreshToken)
		testserver.WantStatus(t, "its refresh token", err, http.StatusUnauthorized)
		s.Request(t, "GET", "/auth/oidc/"+org, "").ErrorFields(t, http.StatusNotFound)
		_, err = owner.IdentityProvider(t.Context(), org)
		testserver.WantStatus(t, "the provider", err, http.StatusNotFound)

		settings := corp.Settings("corp.example")
		settings.ClientSecret = ""
		_, err = owner.SetIdentityProvider(t.Context(), org, settings)
		testserver.WantStatus(t, "anew without a secret", err, http.StatusBadRequest)
	}, testserver.PermitLoopback...)
}
