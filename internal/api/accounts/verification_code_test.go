package accounts_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/testserver"
)

// nthCode is the code in the nth mail to an address.
func nthCode(s *testserver.Server, email string, n int) string {
	s.T.Helper()
	_, rest, found := strings.Cut(s.Mails(email, n)[n-1].Text, "code is ")
	if !found {
		s.T.Fatalf("no code in mail %d to %s", n, email)
	}
	return rest[:6]
}

// sendCode has the nth code mailed to an address and gives it.
func sendCode(s *testserver.Server, email string, n int) string {
	s.T.Helper()
	if err := s.Public.ResendOTP(s.T.Context(), email); err != nil {
		s.T.Fatalf("send code %d to %s: %v", n, email, err)
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		s.NextMinute()
		ada, bob := unverified(s, "ada"), unverified(s, "bob")
		adas, bobs := sendCode(s, ada, 1), sendCode(s, bob, 1)
		if adas == bobs { // one time in a million; another is needed to tell them apart
			bobs = sendCode(s, bob, 2)
		}
		c, w := testserver.Watch(s.Public)
		wantField(t, "a wrong code", c.VerifyOTP(ctx, ada, otherThan(adas), testserver.Password), "code")
		want := w.Answer(t)
		for name, attempt := range map[string]func() error{
			"the code of another account": func() error { return c.VerifyOTP(ctx, ada, bobs, testserver.Password) },
			"an unknown account": func() error {
				return c.VerifyOTP(ctx, "unknown@example.org", adas, testserver.Password)
			},
			"half a code": func() error { return c.VerifyOTP(ctx, ada, adas[:3], testserver.Password) },
		} {
			wantField(t, name, attempt(), "code")
			if diff := cmp.Diff(want, w.Answer(t)); diff != "" {
				t.Errorf("%s can be told from a wrong code:\n%s", name, diff)
			}
		}
		if err := c.VerifyOTP(ctx, ada, adas, testserver.Password); err != nil {
			t.Errorf("the right code: %v", err)
		}
		s.NextMinute()
		wantField(t, "the same code again", c.VerifyOTP(ctx, ada, adas, testserver.Password), "code")
		if diff := cmp.Diff(want, w.Answer(t)); diff != "" {
			t.Errorf("a used code can be told from a wrong one:\n%s", diff)
		}
		if me, err := s.SignIn(ada).Me(ctx); err != nil || !me.User.Verified {
			t.Errorf("after verifying: %+v, %v", me.User, err)
		}
		_, err := c.Login(ctx, bob, testserver.Password)
		testserver.WantStatus(t, "sign in as the other", err, http.StatusUnauthorized)
		if n := times(s, "user.verified"); n != 1 {
			t.Errorf("user.verified recorded %d times, want once", n)
		}
	})
}

func TestVerifyOTPRefusesFields(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		wantFields(t, s.Public, "/auth/verify-otp",
			map[string]any{"email": "ada@example.org", "code": "123456", "password": testserver.Password}, []badField{
				{"email", "absent", absent},
				{"email", "without a domain", "ada"},
				{"email", "too long", strings.Repeat("a", 250) + "@example.org"},
				{"code", "absent", absent},
				{"code", "empty", ""},
				{"code", "too long", strings.Repeat("1", 21)},
				{"code", "a number", 123456},
				{"password", "absent", absent},
			})
		wantFields(t, s.Public, "/auth/resend-otp", map[string]any{}, []badField{
			{"email", "absent", absent},
			{"email", "without a domain", "ada"},
			{"email", "too long", strings.Repeat("a", 250) + "@example.org"},
		})
	})
}

func TestCodeExpires(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		soon, late := unverified(s, "soon"), unverified(s, "late")
		inTime, tooLate := sendCode(s, soon, 1), sendCode(s, late, 1)
		s.Advance(9*time.Minute + 30*time.Second)
		if err := s.Public.VerifyOTP(t.Context(), soon, inTime, testserver.Password); err != nil {
			t.Errorf("before ten minutes: %v", err)
		}
		s.Advance(31 * time.Second)
		wantField(t, "after ten minutes", s.Public.VerifyOTP(t.Context(), late, tooLate, testserver.Password), "code")
		if err := s.Public.VerifyOTP(t.Context(), late, sendCode(s, late, 2), testserver.Password); err != nil {
			t.Errorf("a new code: %v", err)
		}
	})
}

// TestGuessesEndACode shows that a code dies of five wrong guesses, however
// slowly they come, and that four leave it alive.
func TestGuessesEndACode(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		guess := func(email string, times int, code string) {
			t.Helper()
			for range times {
				wantField(t, "a guess", s.Public.VerifyOTP(ctx, email, code, testserver.Password), "code")
			}
		}
		four, five := unverified(s, "four"), unverified(s, "five")
		s.NextMinute()
		right := sendCode(s, four, 1)
		guess(four, 4, otherThan(right))
		if err := s.Public.VerifyOTP(ctx, four, right, testserver.Password); err != nil {
			t.Errorf("the right code after four guesses: %v", err)
		}
		right = sendCode(s, five, 1)
		guess(five, 5, otherThan(right))
		s.NextMinute()
		guess(five, 1, right)
		if err := s.Public.VerifyOTP(ctx, five, sendCode(s, five, 2), testserver.Password); err != nil {
			t.Errorf("a new code after five guesses: %v", err)
		}
	})
}

func TestResendReplacesTheCode(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		email := unverified(s, "ada")
		old := sendCode(s, email, 1)
		next := sendCode(s, email, 2)
		if old == next {
			next = sendCode(s, email, 3)
		}
		wantField(t, "the code before", s.Public.VerifyOTP(ctx, email, old, testserver.Password), "code")
		if err := s.Public.VerifyOTP(ctx, email, next, testserver.Password); err != nil {
			t.Errorf("the new code: %v", err)
		}
	})
}

// TestResendTellsNothing asks for codes of accounts that get none, and of one
// that does. The mails are sent in order, so when the last has arrived, those
// before it would have too.
func TestResendTellsNothing(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		verified, pending := s.Person("verified"), unverified(s, "pending")
		c, w := testserver.Watch(s.Public)
		var answers []map[string]any
		for _, email := range []string{"unknown@example.org", verified.Email, pending} {
			if err := c.ResendOTP(t.Context(), email); err != nil {
				t.Fatalf("resend to %s: %v", email, err)
			}
			if w.Status != http.StatusAccepted {
				t.Errorf("resend to %s: status %d, want 202", email, w.Status)
			}
			answers = append(answers, map[string]any{"status": w.Status, "body": string(w.Body)})
		}
		for _, answer := range answers[1:] {
			if diff := cmp.Diff(answers[0], answer); diff != "" {
				t.Errorf("answers differ:\n%s", diff)
			}
		}
		s.Mails(pending, 1)
		for _, email := range []string{"unknown@example.org", verified.Email} {
			if mails := s.Mails(email, 0); len(mails) != 0 {
				t.Errorf("%s got %d mails, want none", email, len(mails))
			}
		}
	})
}

// TestCodesPerHour shows that an account gets five codes an hour, that nobody is
// told of the limit, and that the last of them stays good.
func TestCodesPerHour(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		flooded, other := unverified(s, "flooded"), unverified(s, "other")
		for n := range 5 {
			s.NextMinute()
			sendCode(s, flooded, n+1)
		}
		s.NextMinute()
		for range 3 {
			if err := s.Public.ResendOTP(ctx, flooded); err != nil {
				t.Errorf("beyond the limit: %v", err)
			}
		}
		sendCode(s, other, 1) // mails go out in order: a sixth would have come before it
		if mails := s.Mails(flooded, 5); len(mails) != 5 {
			t.Errorf("%d mails within the hour, want 5", len(mails))
		}
		s.Advance(time.Hour)
		if err := s.Public.VerifyOTP(ctx, flooded, sendCode(s, flooded, 6), testserver.Password); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
}

func TestLastCodeOfTheHourStaysGood(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		s.NextMinute()
		email := unverified(s, "flooded")
		var last string
		for n := range 5 {
			last = sendCode(s, email, n+1)
		}
		s.NextMinute()
		if err := s.Public.ResendOTP(t.Context(), email); err != nil {
			t.Fatalf("beyond the limit: %v", err)
		}
		if err := s.Public.VerifyOTP(t.Context(), email, last, testserver.Password); err != nil {
			t.Errorf("the last code: %v", err)
		}
	})
}
