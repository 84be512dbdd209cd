package auth_test

import (
	"strings"
	"testing"
	"time"

	"writ/internal/auth"
	"writ/internal/fault"
	"writ/internal/secret"
	"writ/internal/testenv"
)

// TestCodeLimits counts what is sent: five codes and five links an hour, each
// on its own, and again when the first of them is an hour old.
func TestCodeLimits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const email = "ada@example.org"
		e.account(email, false)
		ask := func(what string, send func() error, want int) {
			t.Helper()
			before := len(e.post.to(email))
			for range 7 {
				if err := send(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			if got := len(e.post.to(email)) - before; got != want {
				t.Errorf("%s: %d mails, want %d", what, got, want)
			}
		}
		codes := func() error { return e.service.ResendOTP(t.Context(), email) }
		links := func() error { return e.service.ForgotPassword(t.Context(), email) }
		ask("codes", codes, 5)
		ask("links after codes", links, 5)
		e.Pass(time.Hour - time.Microsecond)
		ask("codes within the hour", codes, 0)
		ask("links within the hour", links, 0)
		e.Pass(time.Microsecond)
		ask("codes after an hour", codes, 5)
		ask("links after an hour", links, 5)
		e.account("bob@example.org", false)
		e.code("bob@example.org") // fails without a mail
	})
}

// TestCodeLimitAtOnce asks two replicas for codes at the same time.
func TestCodeLimitAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const email = "ada@example.org"
		e.account(email, false)
		_, other := e.replica()
		var asks []func() error
		for range 6 {
			asks = append(asks,
				func() error { return e.service.ResendOTP(t.Context(), email) },
				func() error { return other.ResendOTP(t.Context(), email) })
		}
		for _, err := range testenv.AtOnce(asks...) {
			if err != nil {
				t.Errorf("ask: %v", err)
			}
		}
		if got := len(e.post.to(email)); got != 5 {
			t.Errorf("%d mails, want 5", got)
		}
		if live := e.Number(`SELECT count(*) FROM mail_code WHERE used_at IS NULL`); live != 1 {
			t.Errorf("%d codes are good, want only the last", live)
		}
	})
}

// TestGuessesAtOnce lets many guess at the same time on two replicas: each is
// counted, so the code is over and the right one comes too late.
func TestGuessesAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const email = "ada@example.org"
		e.account(email, false)
		right, wrong := e.code(email), "000000"
		if right == wrong {
			wrong = "111111"
		}
		_, other := e.replica()
		var guesses []func() error
		for range 4 {
			guesses = append(guesses,
				func() error { return e.service.VerifyOTP(t.Context(), email, wrong, secret.NewText(password)) },
				func() error { return other.VerifyOTP(t.Context(), email, wrong, secret.NewText(password)) })
		}
		for _, err := range testenv.AtOnce(guesses...) {
			testenv.WantFault(t, "a guess", err, fault.Invalid)
		}
		if n := e.Number(`SELECT attempts FROM mail_code`); n != 5 {
			t.Errorf("%d guesses counted, want the 5 that end a code", n)
		}
		testenv.WantFault(t, "the right code", other.VerifyOTP(t.Context(), email, right, secret.NewText(password)),
			fault.Invalid)
	})
}

// TestCodeAtOnce uses one code on two replicas at the same time.
func TestCodeAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const email = "ada@example.org"
		e.account(email, false)
		code := e.code(email)
		_, other := e.replica()
		errs := testenv.AtOnce(
			func() error { return e.service.VerifyOTP(t.Context(), email, code, secret.NewText(password)) },
			func() error { return other.VerifyOTP(t.Context(), email, code, secret.NewText(password)) },
		)
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("%v and %v, want one of them done", errs[0], errs[1])
		}
	})
}

// TestSecretsAreStoredAsHashes looks for what was mailed and handed out in every
// row: who reads the database can use none of it.
func TestSecretsAreStoredAsHashes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		e.account("bob@example.org", false)
		tokens := e.login("ada@example.org")
		secrets := map[string]string{
			"password": password, "code": e.code("bob@example.org"), "link": e.link("ada@example.org").Reveal(),
			"refresh token": tokens.Refresh.Reveal(), "access token": tokens.Access.Reveal(),
		}
		// A hash of six digits alone would be in every table of hashes.
		if n := e.Number(`SELECT count(*) FROM mail_code WHERE hash = $1`, secret.Hash(secrets["code"])); n != 0 {
			t.Error("the hash of the code is not bound to its account")
		}
		for table, rows := range e.rows() {
			for name, text := range secrets {
				if strings.Contains(strings.Join(rows, ""), "="+text+"\n") {
					t.Errorf("%s holds the %s itself", table, name)
				}
			}
		}
	})
}

func TestChangedPasswordEndsResetLinks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		e.account("ada@example.org", true)
		if err := e.service.ForgotPassword(ctx, "ada@example.org"); err != nil {
			t.Fatal(err)
		}
		link := e.link("ada@example.org")
		who := e.caller(e.login("ada@example.org"))
		if err := e.service.ChangePassword(ctx, who, secret.NewText(password),
			secret.NewText("another horse battery")); err != nil {
			t.Fatal(err)
		}
		testenv.WantFault(t, "the old link",
			e.service.ResetPassword(ctx, link, secret.NewText("a third horse battery")),
			fault.Invalid)
	})
}

// TestAStrangersRegistrationIsNotActivated: someone registers another's address;
// its owner, asked to verify, must not bring the stranger's password to life.
func TestAStrangersRegistrationIsNotActivated(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		const victim, theirs, strangers = "ada@example.org", "the owner's own password", "the stranger's password"
		if err := e.service.Register(ctx, auth.NewUser{
			Email: victim, Password: secret.NewText(strangers),
		}); err != nil {
			t.Fatal(err)
		}
		if err := e.service.Register(ctx, auth.NewUser{Email: victim, Password: secret.NewText(theirs)}); err != nil {
			t.Fatalf("the owner signs up: %v", err)
		}
		testenv.WantFault(t, "the owner verifies",
			e.service.VerifyOTP(ctx, victim, e.code(victim), secret.NewText(theirs)),
			fault.Invalid)
		_, _, err := e.service.Login(ctx, victim, secret.NewText(strangers), auth.Device{})
		testenv.WantFault(t, "the stranger signs in", err, fault.Unauthenticated)
		if err := e.service.ForgotPassword(ctx, victim); err != nil {
			t.Fatal(err)
		}
		if err := e.service.ResetPassword(ctx, e.link(victim), secret.NewText(theirs)); err != nil {
			t.Fatalf("the owner resets the password: %v", err)
		}
		if _, _, err := e.service.Login(ctx, victim, secret.NewText(theirs), auth.Device{}); err != nil {
			t.Errorf("the owner signs in: %v", err)
		}
	})
}
