package auth_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/auth"
	"writ/internal/fault"
	"writ/internal/secret"
	"writ/internal/testenv"
)

// recorded is a change that must leave an entry in the log.
type recorded struct {
	name, action string
	// prepare sets the scene and gives the change, which can be tried again.
	prepare func(e *env) func() error
	// answer is the kind of fault the change ends with when it works.
	answer fault.Kind
}

const next = "another horse battery"

var recordedChanges = []recorded{
	{name: "register", action: "user.registered", prepare: func(e *env) func() error {
		return func() error {
			err := e.service.Register(e.T.Context(), auth.NewUser{
				Email: "new@example.org", Password: secret.NewText(password),
			})
			return err
		}
	}},
	{name: "register again", action: "user.registered_again", prepare: func(e *env) func() error {
		e.account("ada@example.org", true)
		return func() error {
			return e.service.Register(e.T.Context(), auth.NewUser{
				Email: "ada@example.org", Password: secret.NewText(password),
			})
		}
	}},
	{name: "verify", action: "user.verified", prepare: func(e *env) func() error {
		e.account("ada@example.org", false)
		code := e.code("ada@example.org")
		return func() error {
			return e.service.VerifyOTP(e.T.Context(), "ada@example.org", code, secret.NewText(password))
		}
	}},
	{name: "sign in", action: "session.created", prepare: func(e *env) func() error {
		e.account("ada@example.org", true)
		return func() error {
			_, _, err := e.service.Login(e.T.Context(), "ada@example.org", secret.NewText(password), auth.Device{})
			return err
		}
	}},
	{name: "reuse a refresh token", action: "session.reuse_detected", answer: fault.Unauthenticated,
		prepare: func(e *env) func() error {
			e.account("ada@example.org", true)
			tokens := e.login("ada@example.org")
			refresh := func() error {
				_, err := e.service.Refresh(e.T.Context(), tokens.Refresh, false)
				return err
			}
			if err := refresh(); err != nil {
				e.T.Fatal(err)
			}
			return refresh
		}},
	{name: "end a session", action: "session.revoked", prepare: func(e *env) func() error {
		e.account("ada@example.org", true)
		caller := e.caller(e.login("ada@example.org"))
		return func() error { return e.service.RevokeSession(e.T.Context(), caller, caller.SessionID) }
	}},
	{name: "change a password", action: "password.changed", prepare: func(e *env) func() error {
		e.account("ada@example.org", true)
		e.login("ada@example.org") // which the change ends
		caller := e.caller(e.login("ada@example.org"))
		return func() error {
			return e.service.ChangePassword(e.T.Context(), caller, secret.NewText(password), secret.NewText(next))
		}
	}},
	{name: "ask for a link", action: "password.reset_requested", prepare: func(e *env) func() error {
		e.account("ada@example.org", true)
		return func() error { return e.service.ForgotPassword(e.T.Context(), "ada@example.org") }
	}},
	{name: "reset a password", action: "password.reset", prepare: func(e *env) func() error {
		e.account("ada@example.org", false)
		token := e.link("ada@example.org")
		return func() error { return e.service.ResetPassword(e.T.Context(), token, secret.NewText(next)) }
	}},
	{name: "let a terminal in", action: "device.approved", prepare: func(e *env) func() error {
		e.account("ada@example.org", true)
		ada, program := e.organizationOf("ada@example.org"), e.terminal(auth.NewDevice{WantsSession: true})
		return func() error { return e.service.ApproveDevice(e.T.Context(), ada, program.codes.User, true) }
	}},
	{name: "turn a terminal away", action: "device.denied", prepare: func(e *env) func() error {
		e.account("ada@example.org", true)
		ada, program := e.organizationOf("ada@example.org"), e.terminal(auth.NewDevice{WantsSession: true})
		return func() error { return e.service.DenyDevice(e.T.Context(), ada, program.codes.User) }
	}},
	{name: "sign in from a terminal", action: "session.created", prepare: func(e *env) func() error {
		e.account("ada@example.org", true)
		ada, program := e.organizationOf("ada@example.org"), e.terminal(auth.NewDevice{WantsSession: true})
		e.approve(ada, program, true)
		return func() error {
			_, err := program.pollAt(e.service, true)
			return err
		}
	}},
}

// TestUnrecordedDoesNotHappen takes the log away: then nothing changes and no
// mail is sent. When it is back the same change works and is recorded.
func TestUnrecordedDoesNotHappen(t *testing.T) {
	t.Parallel()
	for _, change := range recordedChanges {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				do := change.prepare(e)
				before, log, mails := e.rows(), e.actions(), len(e.post.sent)
				e.Exec(`ALTER TABLE audit_entry RENAME TO audit_entry_away`)
				if err := do(); err == nil || change.answer != "" && fault.Is(err, change.answer) {
					t.Errorf("without a log: %v, want a failure", err)
				}
				e.Exec(`ALTER TABLE audit_entry_away RENAME TO audit_entry`)
				if diff := cmp.Diff(before, e.rows()); diff != "" {
					t.Errorf("something changed that is not recorded:\n%s", diff)
				}
				if got := len(e.post.sent); got != mails {
					t.Errorf("%d mails were sent", got-mails)
				}

				if err := do(); fault.KindOf(err) != change.answer {
					t.Fatalf("with a log: %v, want %q", err, change.answer)
				}
				if got, want := e.actions(), append(slices.Clone(log), change.action); !slices.Equal(got, want) {
					t.Errorf("log %v, want %v", got, want)
				}
				if cmp.Equal(before, e.rows()) {
					t.Error("nothing changed")
				}
			})
		})
	}
}

// TestRefusalsAreNotRecorded keeps the log to what happened.
func TestRefusalsAreNotRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		e.account("ada@example.org", true)
		caller := e.caller(e.login("ada@example.org"))
		log := e.actions()
		_, _, err := e.service.Login(ctx, "ada@example.org", secret.NewText("wrong"), auth.Device{})
		testenv.WantFault(t, "a wrong password", err, fault.Unauthenticated)
		_, err = e.service.Refresh(ctx, secret.NewText("rt_wrong"), false)
		testenv.WantFault(t, "a wrong refresh token", err, fault.Unauthenticated)
		testenv.WantFault(t, "a wrong code",
			e.service.VerifyOTP(ctx, "ada@example.org", "000000", secret.NewText(password)),
			fault.Invalid)
		testenv.WantFault(t, "a wrong link",
			e.service.ResetPassword(ctx, secret.NewText("rst_wrong"), secret.NewText(next)),
			fault.Invalid)
		testenv.WantFault(t, "a wrong current password",
			e.service.ChangePassword(ctx, caller, secret.NewText("wrong"), secret.NewText(next)), fault.Invalid)
		testenv.WantFault(t, "no such session", e.service.RevokeSession(ctx, caller, caller.UserID), fault.NotFound)
		if err := e.service.ForgotPassword(ctx, "unknown@example.org"); err != nil {
			t.Errorf("a link for nobody: %v", err)
		}
		if got := e.actions(); !slices.Equal(got, log) {
			t.Errorf("log %v, want still %v", got, log)
		}
	})
}
