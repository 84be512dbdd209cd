package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// nthCode is the code in the nth mail to an address.
func nthCode(s *server, email string, n int) string {
	s.t.Helper()
	_, rest, found := strings.Cut(s.mails(email, n)[n-1].Text, "code is ")
	if !found {
		s.t.Fatalf("no code in mail %d to %s", n, email)
	}
	return rest[:6]
}

// sendCode has the nth code mailed to an address and gives it.
func sendCode(s *server, email string, n int) string {
	s.t.Helper()
	if err := s.public.ResendOTP(s.t.Context(), email); err != nil {
		s.t.Fatalf("send code %d to %s: %v", n, email, err)
	}
	return nthCode(s, email, n)
}

// otherThan is a code with the same form as none of these.
func otherThan(codes ...string) string {
	for _, candidate := range []string{"000000", "111111", "222222", "333333", "444444", "555555", "666666"} {
		free := true
		for _, code := range codes {
			free = free && code != candidate
		}
		if free {
			return candidate
		}
	}
	panic("too many codes")
}

func TestVerifyOTP(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		s.nextMinute()
		ada, bob := s.unverified("ada"), s.unverified("bob")
		adas, bobs := sendCode(s, ada, 1), sendCode(s, bob, 1)
		if adas == bobs { // one time in a million; another is needed to tell them apart
			bobs = sendCode(s, bob, 2)
		}
		c, w := wired(s.public)
		wantField(t, "a wrong code", c.VerifyOTP(ctx, ada, otherThan(adas), knownPassword), "code")
		want := w.answer(t)
		for name, attempt := range map[string]func() error{
			"the code of another account": func() error { return c.VerifyOTP(ctx, ada, bobs, knownPassword) },
			"an unknown account": func() error {
				return c.VerifyOTP(ctx, "unknown@example.org", adas, knownPassword)
			},
			"half a code": func() error { return c.VerifyOTP(ctx, ada, adas[:3], knownPassword) },
		} {
			wantField(t, name, attempt(), "code")
			if diff := cmp.Diff(want, w.answer(t)); diff != "" {
				t.Errorf("%s can be told from a wrong code:\n%s", name, diff)
			}
		}
		if err := c.VerifyOTP(ctx, ada, adas, knownPassword); err != nil {
			t.Errorf("the right code: %v", err)
		}
		s.nextMinute()
		wantField(t, "the same code again", c.VerifyOTP(ctx, ada, adas, knownPassword), "code")
		if diff := cmp.Diff(want, w.answer(t)); diff != "" {
			t.Errorf("a used code can be told from a wrong one:\n%s", diff)
		}
		if me, err := s.signIn(ada).Me(ctx); err != nil || !me.User.Verified {
			t.Errorf("after verifying: %+v, %v", me.User, err)
		}
		_, err := c.Login(ctx, bob, knownPassword)
		wantStatus(t, "sign in as the other", err, http.StatusUnauthorized)
		if n := s.times("user.verified"); n != 1 {
			t.Errorf("user.verified recorded %d times, want once", n)
		}
	})
}

func TestVerifyOTPRefusesFields(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		wantFields(t, s.public, "/auth/verify-otp",
			map[string]any{"email": "ada@example.org", "code": "123456", "password": knownPassword}, []badField{
				{"email", "absent", absent},
				{"email", "without a domain", "ada"},
				{"email", "too long", strings.Repeat("a", 250) + "@example.org"},
				{"code", "absent", absent},
				{"code", "empty", ""},
				{"code", "too long", strings.Repeat("1", 21)},
				{"code", "a number", 123456},
				{"password", "absent", absent},
			})
		wantFields(t, s.public, "/auth/resend-otp", map[string]any{}, []badField{
			{"email", "absent", absent},
			{"email", "without a domain", "ada"},
			{"email", "too long", strings.Repeat("a", 250) + "@example.org"},
		})
	})
}

func TestCodeExpires(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		soon, late := s.unverified("soon"), s.unverified("late")
		inTime, tooLate := sendCode(s, soon, 1), sendCode(s, late, 1)
		s.advance(9*time.Minute + 30*time.Second)
		if err := s.public.VerifyOTP(t.Context(), soon, inTime, knownPassword); err != nil {
			t.Errorf("before ten minutes: %v", err)
		}
		s.advance(31 * time.Second)
		wantField(t, "after ten minutes", s.public.VerifyOTP(t.Context(), late, tooLate, knownPassword), "code")
		if err := s.public.VerifyOTP(t.Context(), late, sendCode(s, late, 2), knownPassword); err != nil {
			t.Errorf("a new code: %v", err)
		}
	})
}

// TestGuessesEndACode shows that a code dies of five wrong guesses, however
// slowly they come, and that four leave it alive.
func TestGuessesEndACode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		guess := func(email string, times int, code string) {
			t.Helper()
			for range times {
				wantField(t, "a guess", s.public.VerifyOTP(ctx, email, code, knownPassword), "code")
			}
		}
		four, five := s.unverified("four"), s.unverified("five")
		s.nextMinute()
		right := sendCode(s, four, 1)
		guess(four, 4, otherThan(right))
		if err := s.public.VerifyOTP(ctx, four, right, knownPassword); err != nil {
			t.Errorf("the right code after four guesses: %v", err)
		}
		right = sendCode(s, five, 1)
		guess(five, 5, otherThan(right))
		s.nextMinute()
		guess(five, 1, right)
		if err := s.public.VerifyOTP(ctx, five, sendCode(s, five, 2), knownPassword); err != nil {
			t.Errorf("a new code after five guesses: %v", err)
		}
	})
}

func TestResendReplacesTheCode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		email := s.unverified("ada")
		old := sendCode(s, email, 1)
		next := sendCode(s, email, 2)
		if old == next {
			next = sendCode(s, email, 3)
		}
		wantField(t, "the code before", s.public.VerifyOTP(ctx, email, old, knownPassword), "code")
		if err := s.public.VerifyOTP(ctx, email, next, knownPassword); err != nil {
			t.Errorf("the new code: %v", err)
		}
	})
}

// TestResendTellsNothing asks for codes of accounts that get none, and of one
// that does. The mails are sent in order, so when the last has arrived, those
// before it would have too.
func TestResendTellsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		verified, pending := s.person("verified"), s.unverified("pending")
		c, w := wired(s.public)
		var answers []map[string]any
		for _, email := range []string{"unknown@example.org", verified.Email, pending} {
			if err := c.ResendOTP(t.Context(), email); err != nil {
				t.Fatalf("resend to %s: %v", email, err)
			}
			if w.status != http.StatusAccepted {
				t.Errorf("resend to %s: status %d, want 202", email, w.status)
			}
			answers = append(answers, map[string]any{"status": w.status, "body": string(w.body)})
		}
		for _, answer := range answers[1:] {
			if diff := cmp.Diff(answers[0], answer); diff != "" {
				t.Errorf("answers differ:\n%s", diff)
			}
		}
		s.mails(pending, 1)
		for _, email := range []string{"unknown@example.org", verified.Email} {
			if mails := s.mails(email, 0); len(mails) != 0 {
				t.Errorf("%s got %d mails, want none", email, len(mails))
			}
		}
	})
}

// TestCodesPerHour shows that an account gets five codes an hour, that nobody is
// told of the limit, and that the last of them stays good.
func TestCodesPerHour(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		flooded, other := s.unverified("flooded"), s.unverified("other")
		for n := range 5 {
			s.nextMinute()
			sendCode(s, flooded, n+1)
		}
		s.nextMinute()
		for range 3 {
			if err := s.public.ResendOTP(ctx, flooded); err != nil {
				t.Errorf("beyond the limit: %v", err)
			}
		}
		sendCode(s, other, 1) // mails go out in order: a sixth would have come before it
		if mails := s.mails(flooded, 5); len(mails) != 5 {
			t.Errorf("%d mails within the hour, want 5", len(mails))
		}
		s.advance(time.Hour)
		if err := s.public.VerifyOTP(ctx, flooded, sendCode(s, flooded, 6), knownPassword); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
}

func TestLastCodeOfTheHourStaysGood(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		s.nextMinute()
		email := s.unverified("flooded")
		var last string
		for n := range 5 {
			last = sendCode(s, email, n+1)
		}
		s.nextMinute()
		if err := s.public.ResendOTP(t.Context(), email); err != nil {
			t.Fatalf("beyond the limit: %v", err)
		}
		if err := s.public.VerifyOTP(t.Context(), email, last, knownPassword); err != nil {
			t.Errorf("the last code: %v", err)
		}
	})
}
