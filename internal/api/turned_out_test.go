package api_test

import (
	"net/http"
	"testing"
	"time"
)

// TestNewPasswordTurnsThievesOut: whoever had the password before is left with
// nothing, neither with a terminal of theirs nor with an identity they linked.
func TestNewPasswordTurnsThievesOut(t *testing.T) {
	t.Parallel()
	google := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Vault")
		agent := s.public.WithKey(s.agentKey(owner, org).APIKey)
		thief, identity := s.signIn(owner.Email), someone(freshAddress())
		s.link(thief, "", google, identity)
		if in, err := s.signInAt(google, "/auth/google", identity); err != nil || in.User.ID != owner.ID {
			t.Fatalf("the thief's way in: %+v, %v", in, err)
		}
		turnedOut := func(what string, setPassword func() error) {
			t.Helper()
			terminal := s.terminalKey(thief, org)
			if _, err := terminal.CurrentKey(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.advance(time.Second)
			if err := setPassword(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			_, err := terminal.CurrentKey(t.Context())
			wantStatus(t, what+", the thief's terminal", err, http.StatusUnauthorized)
			_, err = terminal.SwitchOrganization(t.Context(), org, "")
			wantStatus(t, what+", another key for it", err, http.StatusUnauthorized)
			if _, err := agent.CurrentKey(t.Context()); err != nil {
				t.Errorf("%s, an agent of the organization: %v", what, err)
			}
		}
		turnedOut("a change", func() error {
			return owner.ChangePassword(t.Context(), knownPassword, knownPassword+"2")
		})
		if err := owner.ChangePassword(t.Context(), knownPassword+"2", knownPassword); err != nil {
			t.Fatal(err)
		}
		thief = s.signIn(owner.Email)
		turnedOut("a reset", func() error {
			if err := s.public.ForgotPassword(t.Context(), owner.Email); err != nil {
				return err
			}
			return s.public.ResetPassword(t.Context(), s.tokenFor(owner.Email), knownPassword)
		})
		if in, err := s.signInAt(google, "/auth/google", identity); err != nil || in.User.ID == owner.ID {
			t.Errorf("the identity that the thief linked leads to %+v, %v", in.User, err)
		}
		if _, err := s.terminalKey(s.signIn(owner.Email), org).CurrentKey(t.Context()); err != nil {
			t.Errorf("a terminal of the owner, afterwards: %v", err)
		}
	}, google.asGoogle()...)
}

// TestRemovingGoogleEndsWhatItLetIn: sessions of the identity cannot be told from
// others of the account, so only the one that removes it goes on.
func TestRemovingGoogleEndsWhatItLetIn(t *testing.T) {
	t.Parallel()
	google := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		ada, identity := s.person("ada"), someone(freshAddress())
		s.link(ada, "", google, identity)
		in, err := s.signInAt(google, "/auth/google", identity)
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
		_, err = s.public.As(in.AccessToken).Me(t.Context())
		wantStatus(t, "a session of the identity", err, http.StatusUnauthorized)
		if _, err := ada.Me(t.Context()); err != nil {
			t.Errorf("the session that removed it: %v", err)
		}
	}, google.asGoogle()...)
}
