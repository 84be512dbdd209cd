package accounts_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/testserver"
)

// wantEnded checks that neither token of a session works any more.
func wantEnded(t *testing.T, s *testserver.Server, what string, tokens client.Tokens) {
	t.Helper()
	wantRefusedToken(t, s, what+": access token", tokens.AccessToken)
	_, err := s.Public.Refresh(t.Context(), tokens.RefreshToken)
	testserver.WantStatus(t, what+": refresh token", err, http.StatusUnauthorized)
}

// wantAlive checks that both tokens of a session work, and gives the next ones.
func wantAlive(t *testing.T, s *testserver.Server, what string, tokens client.Tokens) client.Tokens {
	t.Helper()
	if _, err := s.Public.As(tokens.AccessToken).Me(t.Context()); err != nil {
		t.Errorf("%s: access token: %v", what, err)
	}
	next, err := s.Public.Refresh(t.Context(), tokens.RefreshToken)
	if err != nil {
		t.Errorf("%s: refresh token: %v", what, err)
	}
	return next
}

// times is how often an action is in the system log.
func times(s *testserver.Server, action string) (n int) {
	s.T.Helper()
	for _, recorded := range s.Recorded(audit.System) {
		if recorded == action {
			n++
		}
	}
	return n
}

func TestRefreshRotates(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		seen := map[string]bool{ada.Tokens.RefreshToken: true}
		tokens := ada.Tokens
		for range 3 {
			s.Advance(time.Minute)
			next, err := s.Public.Refresh(t.Context(), tokens.RefreshToken)
			if err != nil {
				t.Fatalf("refresh: %v", err)
			}
			if seen[next.RefreshToken] || next.AccessToken == tokens.AccessToken || next.ExpiresIn != 900 {
				t.Errorf("tokens were not replaced by new ones of 900 seconds: %d", next.ExpiresIn)
			}
			seen[next.RefreshToken] = true
			tokens = next
		}
		sessions, err := s.Public.As(tokens.AccessToken).Sessions(t.Context())
		if err != nil || len(sessions) != 1 {
			t.Fatalf("sessions %+v, %v; want the one there was", sessions, err)
		}
		if used := sessions[0].LastUsedAt.Sub(sessions[0].CreatedAt); used < 3*time.Minute {
			t.Errorf("last used %v after it began, want three minutes", used)
		}
	})
}

func TestRefreshReuseEndsTheSession(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		elsewhere, bystander := s.SignIn(ada.Email), s.Person("bystander")
		second, err := s.Public.Refresh(t.Context(), ada.Tokens.RefreshToken)
		if err != nil {
			t.Fatal(err)
		}
		third, err := s.Public.Refresh(t.Context(), second.RefreshToken)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Public.Refresh(t.Context(), ada.Tokens.RefreshToken)
		testserver.WantStatus(t, "the first token again", err, http.StatusUnauthorized)
		for _, tokens := range []client.Tokens{ada.Tokens, second, third} {
			wantEnded(t, s, "after the reuse", tokens)
		}
		wantAlive(t, s, "another session of the same person", elsewhere.Tokens)
		wantAlive(t, s, "another person", bystander.Tokens)
		if n := times(s, "session.reuse_detected"); n != 1 {
			t.Errorf("session.reuse_detected recorded %d times, want once", n)
		}
	})
}

// TestRefreshTwiceAtOnce presents one token twice at the same moment. Whoever is
// second reuses it, so at most one gets tokens and the session is over.
func TestRefreshTwiceAtOnce(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		for round := range 4 {
			before := ada.Tokens
			if round > 0 {
				before = s.SignIn(ada.Email).Tokens
			}
			var answers [2]client.Tokens
			var errs [2]error
			var both sync.WaitGroup
			begin := make(chan struct{})
			for i := range answers {
				both.Go(func() {
					<-begin
					answers[i], errs[i] = s.Public.Refresh(t.Context(), before.RefreshToken)
				})
			}
			close(begin)
			both.Wait()
			if errs[0] == nil && errs[1] == nil {
				t.Error("both got tokens")
			}
			for i, err := range errs {
				if err != nil {
					testserver.WantStatus(t, "the one who lost", err, http.StatusUnauthorized)
					continue
				}
				wantEnded(t, s, "the one who won", answers[i])
			}
			wantEnded(t, s, "the tokens before", before)
			if n := times(s, "session.reuse_detected"); n != round+1 {
				t.Errorf("session.reuse_detected recorded %d times, want %d", n, round+1)
			}
		}
	})
}

func TestRefreshRefusals(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		ada := s.Person("ada")
		for name, token := range map[string]string{
			"garbage":             "garbage",
			"an access token cut": ada.Tokens.AccessToken[:100],
			"with a space":        ada.Tokens.RefreshToken + " ",
			"in other case":       strings.ToUpper(ada.Tokens.RefreshToken),
			"with a NUL":          "rt_\x00",
		} {
			c, w := testserver.Watch(s.Public)
			_, err := c.Refresh(ctx, token)
			testserver.WantStatus(t, name, err, http.StatusUnauthorized)
			if w.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", name)
			}
		}
		wantFields(t, s.Public, "/auth/refresh", map[string]any{}, []badField{
			{"refreshToken", "absent", absent},
			{"refreshToken", "empty", ""},
			{"refreshToken", "too long", strings.Repeat("t", 201)},
			{"refreshToken", "a number", 7},
		})
		wantAlive(t, s, "after all of them", ada.Tokens)
	})
}

func TestSessionExpires(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		s.Advance(30*24*time.Hour - time.Minute)
		tokens, err := s.Public.Refresh(t.Context(), ada.Tokens.RefreshToken)
		if err != nil {
			t.Fatalf("a minute before the end: %v", err)
		}
		s.Advance(time.Minute)
		wantEnded(t, s, "after 30 days, with an access token that is not old", tokens)
		if sessions, err := s.SignIn(ada.Email).Sessions(t.Context()); err != nil || len(sessions) != 1 {
			t.Errorf("sessions %+v, %v; want only the new one", sessions, err)
		}
	})
}

func TestLogout(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		here := s.Person("ada")
		there := s.SignIn(here.Email)
		c, w := testserver.Watch(here.Client)
		if err := c.Logout(t.Context()); err != nil {
			t.Fatalf("log out: %v", err)
		}
		if w.Status != http.StatusNoContent || len(w.Body) != 0 {
			t.Errorf("answer %d %q, want 204 and nothing", w.Status, w.Body)
		}
		wantEnded(t, s, "after logging out", here.Tokens)
		testserver.WantStatus(t, "log out again", c.Logout(t.Context()), http.StatusUnauthorized)
		wantAlive(t, s, "the other session", there.Tokens)
		if n := times(s, "session.revoked"); n != 1 {
			t.Errorf("session.revoked recorded %d times, want once", n)
		}
	})
}

func TestListSessions(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		first := s.Person("ada")
		s.Person("bob")
		s.Advance(time.Minute)
		agent := "terminal/1.0 \u00e9 " + strings.Repeat("x", 400)
		c, _ := testserver.Watch(s.Public, "User-Agent", "\xff"+agent) // no text, and not stored
		in, err := c.Login(t.Context(), first.Email, testserver.Password)
		if err != nil {
			t.Fatal(err)
		}
		sessions, err := first.Sessions(t.Context())
		if err != nil || len(sessions) != 2 {
			t.Fatalf("sessions %+v, %v; want ada's two", sessions, err)
		}
		newest, oldest := sessions[0], sessions[1]
		if newest.Current || !oldest.Current {
			t.Errorf("current: newest %t, oldest %t; want only the one that asks", newest.Current, oldest.Current)
		}
		if newest.UserAgent != agent[:300] || newest.Address != "127.0.0.1" {
			t.Errorf("newest from %q with %q, want 127.0.0.1 and the first 300 bytes of the agent", newest.Address,
				newest.UserAgent)
		}
		if life := newest.ExpiresAt.Sub(newest.CreatedAt); life != 30*24*time.Hour {
			t.Errorf("lives %v, want 30 days", life)
		}
		if sessions, err = s.Public.As(in.AccessToken).Sessions(t.Context()); err != nil || !sessions[0].Current ||
			sessions[1].Current {
			t.Errorf("asked by the newest: %+v, %v", sessions, err)
		}
	})
}

func TestRevokeSession(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		here := s.Person("ada")
		there, bob := s.SignIn(here.Email), s.Person("bob")
		sessionOf := func(p *testserver.Person) string {
			t.Helper()
			me, err := p.Me(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return me.SessionID
		}
		thereID, bobID := sessionOf(there), sessionOf(bob)
		for name, id := range map[string]string{
			"another person's": bobID, "none": database.NewID(), "no id": "x",
			"in other case": strings.ToUpper(thereID),
			"with a NUL":    "\x00", "not UTF-8": "\xff", "a wildcard": "%",
		} {
			testserver.WantStatus(t, name, here.RevokeSession(ctx, id), http.StatusNotFound)
		}
		wantAlive(t, s, "another person's session", bob.Tokens)

		if err := here.RevokeSession(ctx, thereID); err != nil {
			t.Fatalf("revoke: %v", err)
		}
		wantEnded(t, s, "the revoked session", there.Tokens)
		testserver.WantStatus(t, "revoke it again", here.RevokeSession(ctx, thereID), http.StatusNotFound)
		sessions, err := here.Sessions(ctx)
		if err != nil || slices.ContainsFunc(sessions, func(s client.Session) bool { return s.ID == thereID }) ||
			len(sessions) != 1 {
			t.Errorf("sessions %+v, %v; want only the one that asks", sessions, err)
		}
		if err := here.RevokeSession(ctx, sessions[0].ID); err != nil {
			t.Errorf("revoke the present one: %v", err)
		}
		wantEnded(t, s, "the present session", here.Tokens)
		if n := times(s, "session.revoked"); n != 2 {
			t.Errorf("session.revoked recorded %d times, want 2", n)
		}
	})
}

// TestRefusedSessionsLookAlike keeps a stranger from learning which ids exist.
func TestRefusedSessionsLookAlike(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		me, err := bob.Me(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		theirs, _ := errors.AsType[*client.Error](ada.RevokeSession(t.Context(), me.SessionID))
		nobodys, _ := errors.AsType[*client.Error](ada.RevokeSession(t.Context(), database.NewID()))
		if theirs == nil || nobodys == nil || theirs.Message != nobodys.Message ||
			theirs.StatusCode != nobodys.StatusCode {
			t.Errorf("another's: %v, nobody's: %v; want the same", theirs, nobodys)
		}
	})
}
