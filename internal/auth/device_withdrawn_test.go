package auth_test

import (
	"context"
	"testing"

	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/secret"
	"writ/internal/testenv"
)

// TestDeviceKeepsALimit: what a session may that is good for one organization
// alone, it cannot widen by letting a terminal in.
func TestDeviceKeepsALimit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		ada := e.organizationOf("ada@example.org")
		ada.LimitedTo = ada.OrgID
		program := e.terminal(auth.NewDevice{WantsSession: true})
		e.approve(ada, program, true)
		limited := false
		answer, err := e.service.PollDevice(t.Context(),
			auth.DeviceQuestion{Code: program.codes.Device, WantsSession: true},
			func(_ context.Context, _ *database.Tx, login auth.DeviceLogin) error {
				limited = login.Limited
				return nil
			})
		if err != nil || !limited {
			t.Fatalf("the key is limited: %t, %v", limited, err)
		}
		if caller := e.caller(answer.Tokens); caller.LimitedTo != ada.OrgID {
			t.Errorf("the session is limited to %q, want %q", caller.LimitedTo, ada.OrgID)
		}
	})
}

// TestEndedLimitTakesAYesBack: when a provider vouches for nobody any more, neither
// does what it let in and nobody has collected.
func TestEndedLimitTakesAYesBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		bob := e.account("bob@example.org", true)
		free := e.organizationOf("ada@example.org")
		limited := free
		limited.LimitedTo = free.OrgID
		mine, theirs, later := e.terminal(auth.NewDevice{}), e.terminal(auth.NewDevice{}), e.terminal(auth.NewDevice{})
		e.approve(free, mine, true)
		e.approve(limited, theirs, true)
		e.approve(limited, later, true)
		e.Exec(`INSERT INTO sign_in_code (hash, user_id, org_id, expires_at) VALUES ($1, $3, $4, 1), ($2, $3, '', 1)`,
			[]byte{1}, []byte{2}, free.UserID, free.OrgID)
		end := func(orgID, userID string, codes int64) {
			t.Helper()
			err := e.DB.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
				return auth.EndLimited(ctx, tx, orgID, userID)
			}})
			if n := e.Number(`SELECT count(*) FROM sign_in_code`); err != nil || n != codes {
				t.Errorf("%d codes are left, want %d: %v", n, codes, err)
			}
		}
		end(free.OrgID, bob.ID, 2)
		end(database.NewID(), free.UserID, 2)
		end("", "", 2) // those without a limit are nobody's to end
		theirs.want("while others' ended", auth.DeviceGranted)
		end(free.OrgID, free.UserID, 1)
		later.want("what a limited session let in", auth.DeviceDenied)
		mine.want("what another let in", auth.DeviceGranted)
	})
}

// TestNewPasswordTakesAYesBack: whoever used a stolen password to let a terminal
// in loses it with the password.
func TestNewPasswordTakesAYesBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user := e.account("ada@example.org", true)
		ada := e.organizationOf(user.Email)
		program := e.terminal(auth.NewDevice{WantsSession: true})
		e.approve(ada, program, true)
		if err := e.service.ChangePassword(t.Context(), ada, secret.NewText(password),
			secret.NewText(next)); err != nil {
			t.Fatal(err)
		}
		program.want("after the password was changed", auth.DeviceDenied)

		again := e.terminal(auth.NewDevice{WantsSession: true})
		e.approve(ada, again, true)
		if err := e.service.ResetPassword(t.Context(), e.link(user.Email), secret.NewText(password)); err != nil {
			t.Fatal(err)
		}
		again.want("after the password was reset", auth.DeviceDenied)
	})
}

// TestEndedSessionsAnswerNobody: who was turned out between the check at the edge
// and the change does not come back through a terminal.
func TestEndedSessionsAnswerNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user := e.account("ada@example.org", true)
		thief, program := e.organizationOf(user.Email), e.terminal(auth.NewDevice{WantsSession: true})
		if err := e.service.ResetPassword(t.Context(), e.link(user.Email), secret.NewText(next)); err != nil {
			t.Fatal(err)
		}
		testenv.WantFault(t, "a yes", e.service.ApproveDevice(t.Context(), thief, program.codes.User, true),
			fault.Unauthenticated)
		testenv.WantFault(t, "a no", e.service.DenyDevice(t.Context(), thief, program.codes.User),
			fault.Unauthenticated)
		program.want("after both", auth.DevicePending)
	})
}
