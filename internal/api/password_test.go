package api_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/secret"
)

const nextPassword = "another horse battery"

func TestChangePassword(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		here := s.person("ada")
		there, bob := s.signIn(here.Email), s.person("bob")
		wantField(t, "a wrong password", here.ChangePassword(ctx, "a wrong password", nextPassword), "currentPassword")
		wantAlive(t, s, "after a refusal", s.signIn(here.Email).Tokens)

		c, w := wired(here.Client)
		if err := c.ChangePassword(ctx, knownPassword, nextPassword); err != nil {
			t.Fatalf("change: %v", err)
		}
		if w.status != http.StatusNoContent || len(w.body) != 0 {
			t.Errorf("answer %d %q, want 204 and nothing", w.status, w.body)
		}
		wantEnded(t, s, "the other session", there.Tokens)
		wantAlive(t, s, "this session", here.Tokens)
		wantAlive(t, s, "another person", bob.Tokens)
		_, err := s.public.Login(ctx, here.Email, knownPassword)
		wantStatus(t, "sign in with the old password", err, http.StatusUnauthorized)
		if _, err := s.public.Login(ctx, here.Email, nextPassword); err != nil {
			t.Errorf("sign in with the new password: %v", err)
		}
		if n := s.times("password.changed"); n != 1 {
			t.Errorf("password.changed recorded %d times, want once", n)
		}
	})
}

func TestPasswordRoutesRefuseFields(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ada := s.person("ada")
		newPassword := []badField{
			{"newPassword", "absent", absent},
			{"newPassword", "too short", "123456789"},
			{"newPassword", "too long", strings.Repeat("p", 201)},
			{"newPassword", "a number", 7},
		}
		wantFields(t, ada.Client, "/auth/change-password",
			map[string]any{"currentPassword": knownPassword, "newPassword": nextPassword},
			append(slices.Clone(newPassword),
				badField{"newPassword", "that is the address", ada.Email},
				badField{"currentPassword", "absent", absent},
				badField{"currentPassword", "too long", strings.Repeat("p", 1001)}))
		wantFields(t, s.public, "/auth/reset-password", map[string]any{"token": "t", "newPassword": nextPassword},
			append(slices.Clone(newPassword),
				badField{"token", "absent", absent},
				badField{"token", "empty", ""},
				badField{"token", "too long", strings.Repeat("t", 201)},
				badField{"token", "that nobody made", secret.Token("rst_").Reveal()}))
		wantFields(t, s.public, "/auth/forgot-password", map[string]any{}, []badField{
			{"email", "absent", absent},
			{"email", "without a domain", "ada"},
			{"email", "too long", strings.Repeat("a", 250) + "@example.org"},
		})
		wantAlive(t, s, "after all of them", ada.Tokens)
		wantAlive(t, s, "with the same password", s.signIn(ada.Email).Tokens)
	})
}

// resetToken has a reset link mailed, the nth mail to the address.
func resetToken(s *server, email string, n int) string {
	s.t.Helper()
	if err := s.public.ForgotPassword(s.t.Context(), email); err != nil {
		s.t.Fatalf("forgot the password of %s: %v", email, err)
	}
	_, rest, found := strings.Cut(s.mails(email, n)[n-1].Text, "/ui/reset-password?token=")
	if !found {
		s.t.Fatalf("no link in mail %d to %s", n, email)
	}
	return strings.Fields(rest)[0]
}

func TestResetPassword(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		here := s.person("ada")
		there, bob := s.signIn(here.Email), s.person("bob")
		token := resetToken(s, here.Email, 1)
		wantAlive(t, s, "asking alone", there.Tokens)
		there = s.signIn(here.Email)

		wantField(t, "the address as password", s.public.ResetPassword(ctx, token, here.Email), "newPassword")
		if err := s.public.ResetPassword(ctx, token, nextPassword); err != nil {
			t.Fatalf("reset, after a refusal that must not use the token up: %v", err)
		}
		wantEnded(t, s, "one session", here.Tokens)
		wantEnded(t, s, "another session", there.Tokens)
		wantAlive(t, s, "another person", bob.Tokens)
		_, err := s.public.Login(ctx, here.Email, knownPassword)
		wantStatus(t, "sign in with the old password", err, http.StatusUnauthorized)
		if _, err := s.public.Login(ctx, here.Email, nextPassword); err != nil {
			t.Errorf("sign in with the new password: %v", err)
		}
		wantField(t, "the token again", s.public.ResetPassword(ctx, token, knownPassword), "token")
		for _, action := range []string{"password.reset_requested", "password.reset"} {
			if n := s.times(action); n != 1 {
				t.Errorf("%s recorded %d times, want once", action, n)
			}
		}
	})
}

func TestResetVerifiesTheAddress(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		email := s.unverified("ada")
		if err := s.public.ResetPassword(t.Context(), resetToken(s, email, 1), nextPassword); err != nil {
			t.Fatalf("reset: %v", err)
		}
		if in, err := s.public.Login(t.Context(), email, nextPassword); err != nil || !in.User.Verified {
			t.Errorf("sign in: %+v, %v; want a verified account", in.User, err)
		}
	})
}

func TestResetTokenExpires(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		soon, late := s.person("soon"), s.person("late")
		inTime, tooLate := resetToken(s, soon.Email, 1), resetToken(s, late.Email, 1)
		s.advance(time.Hour - time.Minute)
		if err := s.public.ResetPassword(ctx, inTime, nextPassword); err != nil {
			t.Errorf("within the hour: %v", err)
		}
		s.advance(time.Minute)
		wantField(t, "after an hour", s.public.ResetPassword(ctx, tooLate, nextPassword), "token")
		if _, err := s.public.Login(ctx, late.Email, knownPassword); err != nil {
			t.Errorf("the password must still be the old one: %v", err)
		}
	})
}

func TestNewLinkReplacesTheOld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ada := s.person("ada")
		old, next := resetToken(s, ada.Email, 1), resetToken(s, ada.Email, 2)
		wantField(t, "the link before", s.public.ResetPassword(t.Context(), old, nextPassword), "token")
		if err := s.public.ResetPassword(t.Context(), next, nextPassword); err != nil {
			t.Errorf("the new link: %v", err)
		}
	})
}

// TestCodesAreForOnePurpose tries a code where a link is wanted, and the reverse.
func TestCodesAreForOnePurpose(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		email := s.unverified("ada")
		code := sendCode(s, email, 1)
		token := resetToken(s, email, 2)
		wantField(t, "six digits as a reset token", s.public.ResetPassword(t.Context(), code, nextPassword), "token")
		wantField(t, "the start of a token as a code",
			s.public.VerifyOTP(t.Context(), email, token[:20], knownPassword), "code")
		if err := s.public.VerifyOTP(t.Context(), email, code, knownPassword); err != nil {
			t.Errorf("a link must not end the code: %v", err)
		}
	})
}

// TestForgotTellsNothing asks for links of an account, of nobody, and of an
// account that had its five of the hour.
func TestForgotTellsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		flooded, ada := s.person("flooded"), s.person("ada")
		s.nextMinute()
		var last string
		for n := range 5 {
			last = resetToken(s, flooded.Email, n+1)
		}
		s.nextMinute()
		c, w := wired(s.public)
		var answers []map[string]any
		for _, email := range []string{"unknown@example.org", flooded.Email, ada.Email} {
			if err := c.ForgotPassword(t.Context(), email); err != nil {
				t.Fatalf("forgot the password of %s: %v", email, err)
			}
			answers = append(answers, map[string]any{"status": w.status, "body": string(w.body)})
		}
		for _, answer := range answers {
			if diff := cmp.Diff(map[string]any{"status": http.StatusAccepted, "body": answers[0]["body"]},
				answer); diff != "" {
				t.Errorf("answers differ:\n%s", diff)
			}
		}
		s.mails(ada.Email, 1) // mails go out in order: one to the others would have come before it
		if n := len(s.mails("unknown@example.org", 0)); n != 0 {
			t.Errorf("%d mails to nobody", n)
		}
		if n := len(s.mails(flooded.Email, 5)); n != 5 {
			t.Errorf("%d mails within the hour, want 5", n)
		}
		if n := s.times("password.reset_requested"); n != 6 {
			t.Errorf("password.reset_requested recorded %d times, want 6", n)
		}
		if err := s.public.ResetPassword(t.Context(), last, nextPassword); err != nil {
			t.Errorf("the last link of the hour: %v", err)
		}
	})
}

// TestResetTwiceAtOnce uses one link twice at the same moment.
func TestResetTwiceAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ada := s.person("ada")
		token := resetToken(s, ada.Email, 1)
		passwords := [2]string{nextPassword, "a third horse battery"}
		var errs [2]error
		var both sync.WaitGroup
		for i, password := range passwords {
			both.Go(func() { errs[i] = s.public.ResetPassword(t.Context(), token, password) })
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%v and %v, want one of them done", errs[0], errs[1])
		}
		for i, err := range errs {
			_, signIn := s.public.Login(t.Context(), ada.Email, passwords[i])
			if err == nil && signIn != nil {
				t.Errorf("the password that was set: %v", signIn)
			}
			if err != nil {
				wantField(t, "the second reset", err, "token")
				wantStatus(t, "the password that was not set", signIn, http.StatusUnauthorized)
			}
		}
	})
}
