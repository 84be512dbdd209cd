package accounts_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/secret"
	"writ/internal/testserver"
)

func TestChangePassword(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		here := s.Person("ada")
		there, bob := s.SignIn(here.Email), s.Person("bob")
		wantField(t, "a wrong password", here.ChangePassword(ctx, "a wrong password", testserver.NextPassword),
			"currentPassword")
		wantAlive(t, s, "after a refusal", s.SignIn(here.Email).Tokens)

		c, w := testserver.Watch(here.Client)
		if err := c.ChangePassword(ctx, testserver.Password, testserver.NextPassword); err != nil {
			t.Fatalf("change: %v", err)
		}
		if w.Status != http.StatusNoContent || len(w.Body) != 0 {
			t.Errorf("answer %d %q, want 204 and nothing", w.Status, w.Body)
		}
		wantEnded(t, s, "the other session", there.Tokens)
		wantAlive(t, s, "this session", here.Tokens)
		wantAlive(t, s, "another person", bob.Tokens)
		_, err := s.Public.Login(ctx, here.Email, testserver.Password)
		testserver.WantStatus(t, "sign in with the old password", err, http.StatusUnauthorized)
		if _, err := s.Public.Login(ctx, here.Email, testserver.NextPassword); err != nil {
			t.Errorf("sign in with the new password: %v", err)
		}
		if n := times(s, "password.changed"); n != 1 {
			t.Errorf("password.changed recorded %d times, want once", n)
		}
	})
}

func TestPasswordRoutesRefuseFields(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		newPassword := []badField{
			{"newPassword", "absent", absent},
			{"newPassword", "too short", "123456789"},
			{"newPassword", "too long", strings.Repeat("p", 201)},
			{"newPassword", "a number", 7},
		}
		wantFields(t, ada.Client, "/auth/change-password",
			map[string]any{"currentPassword": testserver.Password, "newPassword": testserver.NextPassword},
			append(slices.Clone(newPassword),
				badField{"newPassword", "that is the address", ada.Email},
				badField{"currentPassword", "absent", absent},
				badField{"currentPassword", "too long", strings.Repeat("p", 1001)}))
		wantFields(t, s.Public, "/auth/reset-password",
			map[string]any{"token": "t", "newPassword": testserver.NextPassword},
			append(slices.Clone(newPassword),
				badField{"token", "absent", absent},
				badField{"token", "empty", ""},
				badField{"token", "too long", strings.Repeat("t", 201)},
				badField{"token", "that nobody made", secret.Token("rst_").Reveal()}))
		wantFields(t, s.Public, "/auth/forgot-password", map[string]any{}, []badField{
			{"email", "absent", absent},
			{"email", "without a domain", "ada"},
			{"email", "too long", strings.Repeat("a", 250) + "@example.org"},
		})
		wantAlive(t, s, "after all of them", ada.Tokens)
		wantAlive(t, s, "with the same password", s.SignIn(ada.Email).Tokens)
	})
}

// resetToken has a reset link mailed, the nth mail to the address.
func resetToken(s *testserver.Server, email string, n int) string {
	s.T.Helper()
	if err := s.Public.ForgotPassword(s.T.Context(), email); err != nil {
		s.T.Fatalf("forgot the password of %s: %v", email, err)
	}
	_, rest, found := strings.Cut(s.Mails(email, n)[n-1].Text, "/ui/reset-password?token=")
	if !found {
		s.T.Fatalf("no link in mail %d to %s", n, email)
	}
	return strings.Fields(rest)[0]
}

func TestResetPassword(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		here := s.Person("ada")
		there, bob := s.SignIn(here.Email), s.Person("bob")
		token := resetToken(s, here.Email, 1)
		wantAlive(t, s, "asking alone", there.Tokens)
		there = s.SignIn(here.Email)

		wantField(t, "the address as password", s.Public.ResetPassword(ctx, token, here.Email), "newPassword")
		if err := s.Public.ResetPassword(ctx, token, testserver.NextPassword); err != nil {
			t.Fatalf("reset, after a refusal that must not use the token up: %v", err)
		}
		wantEnded(t, s, "one session", here.Tokens)
		wantEnded(t, s, "another session", there.Tokens)
		wantAlive(t, s, "another person", bob.Tokens)
		_, err := s.Public.Login(ctx, here.Email, testserver.Password)
		testserver.WantStatus(t, "sign in with the old password", err, http.StatusUnauthorized)
		if _, err := s.Public.Login(ctx, here.Email, testserver.NextPassword); err != nil {
			t.Errorf("sign in with the new password: %v", err)
		}
		wantField(t, "the token again", s.Public.ResetPassword(ctx, token, testserver.Password), "token")
		for _, action := range []string{"password.reset_requested", "password.reset"} {
			if n := times(s, action); n != 1 {
				t.Errorf("%s recorded %d times, want once", action, n)
			}
		}
	})
}

func TestResetVerifiesTheAddress(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		email := unverified(s, "ada")
		if err := s.Public.ResetPassword(t.Context(), resetToken(s, email, 1), testserver.NextPassword); err != nil {
			t.Fatalf("reset: %v", err)
		}
		if in, err := s.Public.Login(t.Context(), email, testserver.NextPassword); err != nil || !in.User.Verified {
			t.Errorf("sign in: %+v, %v; want a verified account", in.User, err)
		}
	})
}

func TestResetTokenExpires(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		soon, late := s.Person("soon"), s.Person("late")
		inTime, tooLate := resetToken(s, soon.Email, 1), resetToken(s, late.Email, 1)
		s.Advance(time.Hour - time.Minute)
		if err := s.Public.ResetPassword(ctx, inTime, testserver.NextPassword); err != nil {
			t.Errorf("within the hour: %v", err)
		}
		s.Advance(time.Minute)
		wantField(t, "after an hour", s.Public.ResetPassword(ctx, tooLate, testserver.NextPassword), "token")
		if _, err := s.Public.Login(ctx, late.Email, testserver.Password); err != nil {
			t.Errorf("the password must still be the old one: %v", err)
		}
	})
}

func TestNewLinkReplacesTheOld(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		old, next := resetToken(s, ada.Email, 1), resetToken(s, ada.Email, 2)
		wantField(t, "the link before", s.Public.ResetPassword(t.Context(), old, testserver.NextPassword), "token")
		if err := s.Public.ResetPassword(t.Context(), next, testserver.NextPassword); err != nil {
			t.Errorf("the new link: %v", err)
		}
	})
}

// TestCodesAreForOnePurpose tries a code where a link is wanted, and the reverse.
func TestCodesAreForOnePurpose(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		email := unverified(s, "ada")
		code := sendCode(s, email, 1)
		token := resetToken(s, email, 2)
		wantField(t, "six digits as a reset token", s.Public.ResetPassword(t.Context(), code, testserver.NextPassword),
			"token")
		wantField(t, "the start of a token as a code",
			s.Public.VerifyOTP(t.Context(), email, token[:20], testserver.Password), "code")
		if err := s.Public.VerifyOTP(t.Context(), email, code, testserver.Password); err != nil {
			t.Errorf("a link must not end the code: %v", err)
		}
	})
}

// TestForgotTellsNothing asks for links of an account, of nobody, and of an
// account that had its five of the hour.
func TestForgotTellsNothing(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		flooded, ada := s.Person("flooded"), s.Person("ada")
		s.NextMinute()
		var last string
		for n := range 5 {
			last = resetToken(s, flooded.Email, n+1)
		}
		s.NextMinute()
		c, w := testserver.Watch(s.Public)
		var answers []map[string]any
		for _, email := range []string{"unknown@example.org", flooded.Email, ada.Email} {
			if err := c.ForgotPassword(t.Context(), email); err != nil {
				t.Fatalf("forgot the password of %s: %v", email, err)
			}
			answers = append(answers, map[string]any{"status": w.Status, "body": string(w.Body)})
		}
		for _, answer := range answers {
			if diff := cmp.Diff(map[string]any{"status": http.StatusAccepted, "body": answers[0]["body"]},
				answer); diff != "" {
				t.Errorf("answers differ:\n%s", diff)
			}
		}
		s.Mails(ada.Email, 1) // mails go out in order: one to the others would have come before it
		if n := len(s.Mails("unknown@example.org", 0)); n != 0 {
			t.Errorf("%d mails to nobody", n)
		}
		if n := len(s.Mails(flooded.Email, 5)); n != 5 {
			t.Errorf("%d mails within the hour, want 5", n)
		}
		if n := times(s, "password.reset_requested"); n != 6 {
			t.Errorf("password.reset_requested recorded %d times, want 6", n)
		}
		if err := s.Public.ResetPassword(t.Context(), last, testserver.NextPassword); err != nil {
			t.Errorf("the last link of the hour: %v", err)
		}
	})
}

// TestResetTwiceAtOnce uses one link twice at the same moment.
func TestResetTwiceAtOnce(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		token := resetToken(s, ada.Email, 1)
		passwords := [2]string{testserver.NextPassword, "a third horse battery"}
		var errs [2]error
		var both sync.WaitGroup
		for i, password := range passwords {
			both.Go(func() { errs[i] = s.Public.ResetPassword(t.Context(), token, password) })
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%v and %v, want one of them done", errs[0], errs[1])
		}
		for i, err := range errs {
			_, signIn := s.Public.Login(t.Context(), ada.Email, passwords[i])
			if err == nil && signIn != nil {
				t.Errorf("the password that was set: %v", signIn)
			}
			if err != nil {
				wantField(t, "the second reset", err, "token")
				testserver.WantStatus(t, "the password that was not set", signIn, http.StatusUnauthorized)
			}
		}
	})
}
