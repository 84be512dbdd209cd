package accounts_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"writ/client"
	"writ/internal/auth"
	"writ/internal/testserver"
)

// signedInTerminal is a terminal that got a key beside its session.
func signedInTerminal(t *testing.T, s *testserver.Server, p *testserver.Person, org string) client.DeviceGrant {
	t.Helper()
	got, err := s.Public.PollDevice(t.Context(), s.ApprovedDevice(p, org).DeviceCode, client.WritClient)
	if err != nil || got.APIKey == "" || got.AccessToken == "" {
		t.Fatalf("the terminal gets %+v, %v", got, err)
	}
	return got
}

func wantKey(t *testing.T, s *testserver.Server, what, key string, works bool) {
	t.Helper()
	if _, err := s.Public.WithKey(key).CurrentKey(t.Context()); works != (err == nil) {
		t.Errorf("the key of %s: %v, want that it works: %t", what, err, works)
	} else if !works {
		testserver.WantStatus(t, what, err, http.StatusUnauthorized)
	}
}

// withKeys is the session of a terminal: the only one that has keys.
func withKeys(t *testing.T, s *testserver.Server, p *testserver.Person) client.Session {
	t.Helper()
	sessions, err := p.Sessions(t.Context())
	i := slices.IndexFunc(sessions, func(in client.Session) bool { return len(in.Keys) > 0 })
	if err != nil || i < 0 {
		t.Fatalf("no session of a terminal among %+v, %v", sessions, err)
	}
	return sessions[i]
}

// TestSessionEndsWithItsKey: whoever ends the session of a terminal that they do not recognize shuts it out, with the
// keys for other organizations that it switched to. Keys that it made for agents go on, as after a new password.
func TestSessionEndsWithItsKey(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org, second := s.Organization(ada, "Acme"), s.Organization(ada, "Beta")
		got, other := signedInTerminal(t, s, ada, org), s.AgentKey(ada, org)
		terminal := s.Public.WithKey(got.APIKey)
		switched, err := terminal.SwitchOrganization(t.Context(), second, "")
		if err != nil {
			t.Fatal(err)
		}
		made, err := terminal.ProvisionKey(t.Context(), client.NewKey{Name: "agent", Product: "p", OrganizationID: org})
		if err != nil {
			t.Fatal(err)
		}
		session := withKeys(t, s, ada)
		if len(session.Keys) != 2 || session.Keys[0].OrganizationID != org || session.Keys[1].OrganizationID != second {
			t.Errorf("keys of the session: %+v", session.Keys)
		}
		if err := ada.RevokeSession(t.Context(), session.ID); err != nil {
			t.Fatal(err)
		}
		wantEnded(t, s, "the terminal", client.Tokens{AccessToken: got.AccessToken, RefreshToken: got.RefreshToken})
		wantKey(t, s, "the terminal", got.APIKey, false)
		wantKey(t, s, "the terminal in the other organization", switched.APIKey, false)
		wantKey(t, s, "the agent", made.APIKey, true)
		wantKey(t, s, "another agent", other.APIKey, true)
		for _, log := range []string{org, second} {
			if !slices.Contains(s.Recorded(log), "key.revoked") {
				t.Errorf("log of %s: %q", log, s.Recorded(log))
			}
		}
	})
}

// TestEveryEndOfASessionEndsItsKey: signing out, a copied refresh token, and what ends all sessions.
func TestEveryEndOfASessionEndsItsKey(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Acme")
		signOut := signedInTerminal(t, s, ada, org)
		if err := s.Public.As(signOut.AccessToken).Logout(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantKey(t, s, "a terminal that signed out", signOut.APIKey, false)

		copied := signedInTerminal(t, s, ada, org)
		if _, err := s.Public.Refresh(t.Context(), copied.RefreshToken); err != nil {
			t.Fatal(err)
		}
		wantKey(t, s, "a terminal that goes on", copied.APIKey, true)
		_, err := s.Public.Refresh(t.Context(), copied.RefreshToken)
		testserver.WantStatus(t, "a refresh token again", err, http.StatusUnauthorized)
		wantKey(t, s, "a terminal whose token was copied", copied.APIKey, false)

		aged := signedInTerminal(t, s, ada, org)
		s.Advance(auth.SessionLife + time.Second)
		wantKey(t, s, "a terminal whose session ended by age", aged.APIKey, true)

		ada = s.SignIn(ada.Email)
		before := signedInTerminal(t, s, ada, org)
		s.Advance(time.Second)
		if err := ada.ChangePassword(t.Context(), testserver.Password, "another horse battery"); err != nil {
			t.Fatal(err)
		}
		wantKey(t, s, "a terminal from before a new password", before.APIKey, false)
	})
}
