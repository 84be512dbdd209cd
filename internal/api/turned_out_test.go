package api_test

import (
	"net/http"
	"testing"
	"time"

	"writ/internal/testserver"
)

// TestNewPasswordTurnsThievesOut: whoever had the password before is left with
// nothing, neither with a terminal of theirs nor with an identity they linked.
func TestNewPasswordTurnsThievesOut(t *testing.T) {
	t.Parallel()
	google := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Vault")
		agent := s.Public.WithKey(s.AgentKey(owner, org).APIKey)
		thief, identity := s.SignIn(owner.Email), testserver.Someone(testserver.FreshAddress())
		s.Link(thief, "", google, identity)
		if in, err := s.SignInAt(google, "/auth/google", identity); err != nil || in.User.ID != owner.ID {
			t.Fatalf("the thief's way in: %+v, %v", in, err)
		}
		turnedOut := func(what string, setPassword func() error) {
			t.Helper()
			terminal := s.TerminalKey(thief, org)
			if _, err := terminal.CurrentKey(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.Advance(time.Second)
			if err := setPassword(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			_, err := terminal.CurrentKey(t.Context())
			testserver.WantStatus(t, what+", the thief's terminal", err, http.StatusUnauthorized)
			_, err = terminal.SwitchOrganization(t.Context(), org, "")
			testserver.WantStatus(t, what+", another key for it", err, http.StatusUnauthorized)
			if _, err := agent.CurrentKey(t.Context()); err != nil {
				t.Errorf("%s, an agent of the organization: %v", what, err)
			}
		}
		turnedOut("a change", func() error {
			return owner.ChangePassword(t.Context(), testserver.Password, testserver.Password+"2")
		})
		if err := owner.ChangePassword(t.Context(), testserver.Password+"2", testserver.Password); err != nil {
			t.Fatal(err)
		}
		thief = s.SignIn(owner.Email)
		turnedOut("a reset", func() error {
			if err := s.Public.ForgotPassword(t.Context(), owner.Email); err != nil {
				return err
			}
			return s.Public.ResetPassword(t.Context(), s.TokenFor(owner.Email), testserver.Password)
		})
		if in, err := s.SignInAt(google, "/auth/google", identity); err != nil || in.User.ID == owner.ID {
			t.Errorf("the identity that the thief linked leads to %+v, %v", in.User, err)
		}
		if _, err := s.TerminalKey(s.SignIn(owner.Email), org).CurrentKey(t.Context()); err != nil {
			t.Errorf("a terminal of the owner, afterwards: %v", err)
		}
	}, google.AsGoogle()...)
}

// TestRemovingGoogleEndsWhatItLetIn: sessions of the identity cannot be told from
// others of the account, so only the one that removes it goes on.
func TestRemovingGoogleEndsWhatItLetIn(t *testing.T) {
	t.Parallel()
	google := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, identity := s.Person("ada"), testserver.Someone(testserver.FreshAddress())
		s.Link(ada, "", google, identity)
		in, err := s.SignInAt(google, "/auth/google", identity)
		if err != nil {
			t.Fatal(err)
		}
		list, err := ada.Identities(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("identities %+v, %v", list, err)
		}
		if err := ada.UnlinkIdentity(t.Context(), list[0].ID); err != nil {
			t.Fatal(err)
		}
		_, err = s.Public.As(in.AccessToken).Me(t.Context())
		testserver.WantStatus(t, "a session of the identity", err, http.StatusUnauthorized)
		if _, err := ada.Me(t.Context()); err != nil {
			t.Errorf("the session that removed it: %v", err)
		}
	}, google.AsGoogle()...)
}
