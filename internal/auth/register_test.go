package auth_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/keyring"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

func TestAddUserTwice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		first := e.account("ada@example.org", true)
		before, log := e.rows(), e.actions()
		_, err := e.add("ada@example.org", false)
		testenv.WantFault(t, "the same address", err, fault.Conflict)
		if diff := cmp.Diff(before, e.rows()); diff != "" {
			t.Errorf("something was stored:\n%s", diff)
		}
		if got := e.actions(); !slices.Equal(got, log) {
			t.Errorf("log %v, want still %v", got, log)
		}
		if id, err := e.service.FindID(t.Context(), "ada@example.org"); err != nil || id != first.ID {
			t.Errorf("found %s, %v; want %s", id, err, first.ID)
		}
	})
}

// TestAddUserAtOnce has two replicas make the same account.
func TestAddUserAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		other := *e
		other.DB, other.service = e.replica()
		errs := testenv.AtOnce(
			func() error { _, err := e.add("ada@example.org", true); return err },
			func() error { _, err := other.add("ada@example.org", true); return err },
		)
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("%v and %v, want one of them done", errs[0], errs[1])
		}
		for _, err := range errs {
			if err != nil {
				testenv.WantFault(t, "the second", err, fault.Conflict)
			}
		}
		if log := e.actions(); !slices.Equal(log, []string{"signing_key.created", "user.registered"}) {
			t.Errorf("log %v, want that one was registered", log)
		}
	})
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		if empty, err := e.service.Empty(t.Context(), e.DB); err != nil || !empty {
			t.Errorf("a new database: %t, %v; want empty", empty, err)
		}
		err := e.DB.Write(t.Context(), database.Change{Logs: []string{"system"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			user := auth.User{ID: database.NewID(), Email: "ada@example.org"}
			if err := e.service.AddUser(ctx, tx, principal.Operator(), &user, "hash"); err != nil {
				return err
			}
			if empty, err := e.service.Empty(ctx, tx); err != nil || empty {
				t.Errorf("within the change that adds one: %t, %v; want not empty", empty, err)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if empty, err := e.service.Empty(t.Context(), e.DB); err != nil || empty {
			t.Errorf("with an account: %t, %v; want not empty", empty, err)
		}
	})
}

func TestFindID(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user := e.account("ada@example.org", false)
		if id, err := e.service.FindID(t.Context(), " ADA@example.org"); err != nil || id != user.ID {
			t.Errorf("found %q, %v; want %s", id, err, user.ID)
		}
		_, err := e.service.FindID(t.Context(), "bob@example.org")
		testenv.WantFault(t, "an unknown address", err, fault.NotFound)
		_, err = e.service.FindID(t.Context(), "bob")
		testenv.WantFault(t, "no address", err, fault.Invalid)
	})
}

func TestPrepareStoresNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user, hash, err := e.service.Prepare(t.Context(), auth.NewUser{
			Email: "Ada@example.org", Password: secret.NewText(password), Name: " Ada ",
		})
		if err != nil {
			t.Fatal(err)
		}
		if user.Email != "ada@example.org" || user.Name != "Ada" || !database.IsID(user.ID) || user.VerifiedAt != nil {
			t.Errorf("prepared %+v", user)
		}
		if matches, err := auth.NewPasswords().Matches(t.Context(), password, hash); err != nil || !matches {
			t.Errorf("the hash is not the password's: %t, %v", matches, err)
		}
		if n := e.Number(`SELECT count(*) FROM user_account`); n != 0 {
			t.Errorf("%d accounts, want none", n)
		}
	})
}

var errPost = fault.New(fault.Unavailable, "mail could not be sent")

// TestMailFails shows that an account whose mail was lost is not stuck: asking
// again sends another.
func TestMailFails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		e.post.breakDown(errPost)
		if err := e.service.Register(ctx, auth.NewUser{
			Email: "ada@example.org", Password: secret.NewText(password),
		}); err != nil {
			t.Errorf("register: %v, want an answer that does not depend on the mail", err)
		}
		// These must not tell who has an account: not even by failing.
		for _, email := range []string{"ada@example.org", "nobody@example.org"} {
			if err := e.service.ResendOTP(ctx, email); err != nil {
				t.Errorf("resend to %s: %v", email, err)
			}
			if err := e.service.ForgotPassword(ctx, email); err != nil {
				t.Errorf("forgot %s: %v", email, err)
			}
		}
		e.post.breakDown(nil)
		if err := e.service.VerifyOTP(ctx, "ada@example.org", e.code("ada@example.org"),
			secret.NewText(password)); err != nil {
			t.Errorf("a new code, when mail works again: %v", err)
		}
		e.login("ada@example.org")
		if err := e.service.ResetPassword(ctx, e.link("ada@example.org"),
			secret.NewText("another horse battery")); err != nil {
			t.Errorf("a new link, when mail works again: %v", err)
		}
	})
}

// TestNoMail refuses before it looks anything up: whoever has no account is
// refused as well, and nothing is written.
func TestNoMail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		e.account("ada@example.org", false)
		before := e.rows()
		mute := auth.New(e.DB, e.Log, keyring.New(e.DB, e.Log, nil), nil, mail.None{},
			"https://writ.example.org", noTerminals{})
		for _, email := range []string{"ada@example.org", "unknown@example.org"} {
			register := mute.Register(ctx, auth.NewUser{Email: email, Password: secret.NewText(password)})
			testenv.WantFault(t, "register "+email, register, fault.Unavailable)
			testenv.WantFault(t, "resend to "+email, mute.ResendOTP(ctx, email), fault.Unavailable)
			testenv.WantFault(t, "forgot "+email, mute.ForgotPassword(ctx, email), fault.Unavailable)
		}
		if diff := cmp.Diff(before, e.rows()); diff != "" {
			t.Errorf("something was stored:\n%s", diff)
		}
	})
}
