package auth_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/auth"
	"writ/internal/fault"
	"writ/internal/secret"
)

// recorded is a change that must leave an entry in the log.
type recorded struct {
	name, action string
	// prepare sets the scene and gives the change, which can be tried again.
	prepare func(w *world) func() error
	// answer is the kind of fault the change ends with when it works.
	answer fault.Kind
}

const next = "another horse battery"

var recordedChanges = []recorded{
	{name: "register", action: "user.registered", prepare: func(w *world) func() error {
		return func() error {
			_, err := w.service.Register(w.t.Context(), auth.NewUser{
				Email: "new@example.org", Password: secret.NewText(password),
			})
			return err
		}
	}},
	{name: "verify", action: "user.verified", prepare: func(w *world) func() error {
		w.account("ada@example.org", false)
		code := w.code("ada@example.org")
		return func() error {
			return w.service.VerifyOTP(w.t.Context(), "ada@example.org", code, secret.NewText(password))
		}
	}},
	{name: "sign in", action: "session.created", prepare: func(w *world) func() error {
		w.account("ada@example.org", true)
		return func() error {
			_, _, err := w.service.Login(w.t.Context(), "ada@example.org", secret.NewText(password), auth.Device{})
			return err
		}
	}},
	{name: "reuse a refresh token", action: "session.reuse_detected", answer: fault.Unauthenticated,
		prepare: func(w *world) func() error {
			w.account("ada@example.org", true)
			tokens := w.login("ada@example.org")
			refresh := func() error {
				_, err := w.service.Refresh(w.t.Context(), tokens.Refresh)
				return err
			}
			if err := refresh(); err != nil {
				w.t.Fatal(err)
			}
			return refresh
		}},
	{name: "end a session", action: "session.revoked", prepare: func(w *world) func() error {
		w.account("ada@example.org", true)
		caller := w.caller(w.login("ada@example.org"))
		return func() error { return w.service.RevokeSession(w.t.Context(), caller, caller.SessionID) }
	}},
	{name: "change a password", action: "password.changed", prepare: func(w *world) func() error {
		w.account("ada@example.org", true)
		w.login("ada@example.org") // which the change ends
		caller := w.caller(w.login("ada@example.org"))
		return func() error {
			return w.service.ChangePassword(w.t.Context(), caller, secret.NewText(password), secret.NewText(next))
		}
	}},
	{name: "ask for a link", action: "password.reset_requested", prepare: func(w *world) func() error {
		w.account("ada@example.org", true)
		return func() error { return w.service.ForgotPassword(w.t.Context(), "ada@example.org") }
	}},
	{name: "reset a password", action: "password.reset", prepare: func(w *world) func() error {
		w.account("ada@example.org", false)
		token := w.link("ada@example.org")
		return func() error { return w.service.ResetPassword(w.t.Context(), token, secret.NewText(next)) }
	}},
	{name: "let a terminal in", action: "device.approved", prepare: func(w *world) func() error {
		w.account("ada@example.org", true)
		ada, program := w.organizationOf("ada@example.org"), w.terminal(auth.NewDevice{WantsSession: true})
		return func() error { return w.service.ApproveDevice(w.t.Context(), ada, program.codes.User, true) }
	}},
	{name: "turn a terminal away", action: "device.denied", prepare: func(w *world) func() error {
		w.account("ada@example.org", true)
		ada, program := w.organizationOf("ada@example.org"), w.terminal(auth.NewDevice{WantsSession: true})
		return func() error { return w.service.DenyDevice(w.t.Context(), ada, program.codes.User) }
	}},
	{name: "sign in from a terminal", action: "session.created", prepare: func(w *world) func() error {
		w.account("ada@example.org", true)
		ada, program := w.organizationOf("ada@example.org"), w.terminal(auth.NewDevice{WantsSession: true})
		w.approve(ada, program, true)
		return func() error {
			_, err := program.pollAt(w.service, true)
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
			each(t, func(t *testing.T, w *world) {
				do := change.prepare(w)
				before, log, mails := w.rows(), w.actions(), len(w.post.sent)
				w.exec(`ALTER TABLE audit_entry RENAME TO audit_entry_away`)
				if err := do(); err == nil || change.answer != "" && fault.Is(err, change.answer) {
					t.Errorf("without a log: %v, want a failure", err)
				}
				w.exec(`ALTER TABLE audit_entry_away RENAME TO audit_entry`)
				if diff := cmp.Diff(before, w.rows()); diff != "" {
					t.Errorf("something changed that is not recorded:\n%s", diff)
				}
				if got := len(w.post.sent); got != mails {
					t.Errorf("%d mails were sent", got-mails)
				}

				if err := do(); fault.KindOf(err) != change.answer {
					t.Fatalf("with a log: %v, want %q", err, change.answer)
				}
				if got, want := w.actions(), append(slices.Clone(log), change.action); !slices.Equal(got, want) {
					t.Errorf("log %v, want %v", got, want)
				}
				if cmp.Equal(before, w.rows()) {
					t.Error("nothing changed")
				}
			})
		})
	}
}

// TestRefusalsAreNotRecorded keeps the log to what happened.
func TestRefusalsAreNotRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.account("ada@example.org", true)
		caller := w.caller(w.login("ada@example.org"))
		log := w.actions()
		_, _, err := w.service.Login(ctx, "ada@example.org", secret.NewText("wrong"), auth.Device{})
		wantKind(t, "a wrong password", err, fault.Unauthenticated)
		_, err = w.service.Refresh(ctx, secret.NewText("rt_wrong"))
		wantKind(t, "a wrong refresh token", err, fault.Unauthenticated)
		wantKind(t, "a wrong code", w.service.VerifyOTP(ctx, "ada@example.org", "000000", secret.NewText(password)),
			fault.Invalid)
		wantKind(t, "a wrong link", w.service.ResetPassword(ctx, secret.NewText("rst_wrong"), secret.NewText(next)),
			fault.Invalid)
		wantKind(t, "a wrong current password",
			w.service.ChangePassword(ctx, caller, secret.NewText("wrong"), secret.NewText(next)), fault.Invalid)
		wantKind(t, "no such session", w.service.RevokeSession(ctx, caller, caller.UserID), fault.NotFound)
		if err := w.service.ForgotPassword(ctx, "unknown@example.org"); err != nil {
			t.Errorf("a link for nobody: %v", err)
		}
		if got := w.actions(); !slices.Equal(got, log) {
			t.Errorf("log %v, want still %v", got, log)
		}
	})
}
