package auth_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

// TestPasswordChangedDuringSignIn has the password replaced after it was checked
// and before the session begins: the sign-in is refused, else a reset would
// leave behind a session it should have ended.
func TestPasswordChangedDuringSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user := e.account("ada@example.org", true)
		checked, err := knownHash()
		if err != nil {
			t.Fatal(err)
		}
		if err := e.service.ResetPassword(t.Context(), e.link(user.Email), secret.NewText(next)); err != nil {
			t.Fatal(err)
		}
		_, err = e.service.Begin(t.Context(), user.ID, checked, auth.Device{})
		testenv.WantFault(t, "begin", err, fault.Unauthenticated)
		if n := e.Number(`SELECT count(*) FROM user_session`); n != 0 {
			t.Errorf("%d sessions, want none", n)
		}
	})
}

// TestRefreshAtOnce presents one token to two replicas. Whoever is second reuses
// it: at most one gets tokens, and the session is over for both.
func TestRefreshAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		user := e.account("ada@example.org", true)
		hash, err := knownHash()
		if err != nil {
			t.Fatal(err)
		}
		_, other := e.replica()
		for range 8 {
			before, err := e.service.Begin(ctx, user.ID, hash, auth.Device{})
			if err != nil {
				t.Fatal(err)
			}
			var answers [2]auth.Tokens
			errs := testenv.AtOnce(
				func() (err error) { answers[0], err = e.service.Refresh(ctx, before.Refresh, false); return err },
				func() (err error) { answers[1], err = other.Refresh(ctx, before.Refresh, false); return err },
			)
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Errorf("%v and %v, want one of them done", errs[0], errs[1])
			}
			for _, tokens := range []auth.Tokens{before, answers[0], answers[1]} {
				_, err := other.Authenticate(ctx, tokens.Access.Reveal())
				testenv.WantFault(t, "an access token", err, fault.Unauthenticated)
				_, err = e.service.Refresh(ctx, tokens.Refresh, false)
				testenv.WantFault(t, "a refresh token", err, fault.Unauthenticated)
			}
		}
	})
}

// TestRevokedEverywhere ends a session on one replica and uses it on another.
func TestRevokedEverywhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		tokens := e.login("ada@example.org")
		_, other := e.replica()
		caller, err := other.Authenticate(t.Context(), tokens.Access.Reveal())
		if err != nil {
			t.Fatalf("a token of another replica: %v", err)
		}
		if caller.Kind != principal.User || caller.OrgID != "" || caller.Role != "" || len(caller.Scopes) != 0 {
			t.Errorf("caller %+v, want a person without rights in any organization", caller)
		}
		if err := e.service.RevokeSession(t.Context(), caller, caller.SessionID); err != nil {
			t.Fatal(err)
		}
		_, err = other.Authenticate(t.Context(), tokens.Access.Reveal())
		testenv.WantFault(t, "after it was revoked elsewhere", err, fault.Unauthenticated)
	})
}

// TestChangePasswordAtOnce changes a password to two others at the same time.
func TestChangePasswordAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		caller := e.caller(e.login("ada@example.org"))
		_, other := e.replica()
		wanted := []string{"the first new one", "the second new one"}
		errs := testenv.AtOnce(
			func() error {
				return e.service.ChangePassword(t.Context(), caller, secret.NewText(password),
					secret.NewText(wanted[0]))
			},
			func() error {
				return other.ChangePassword(t.Context(), caller, secret.NewText(password), secret.NewText(wanted[1]))
			},
		)
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%v and %v, want one of them done", errs[0], errs[1])
		}
		for i, err := range errs {
			// Too late, or so late that the old password was wrong already.
			if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid) {
				t.Errorf("the second: %v", err)
			}
			_, _, signIn := e.service.Login(t.Context(), "ada@example.org", secret.NewText(wanted[i]), auth.Device{})
			if (signIn == nil) != (err == nil) {
				t.Errorf("change said %v, signing in with it %v", err, signIn)
			}
		}
	})
}

// sessionRow stores a session with a refresh token, as it would be after a
// sign-in long ago. Instants are relative to now; zero means not revoked.
func (e *env) sessionRow(userID string, expires, revoked time.Duration) string {
	e.T.Helper()
	id := database.NewID()
	now := e.DB.Now()
	var revokedAt *time.Time
	if revoked != 0 {
		at := now.Add(revoked)
		revokedAt = &at
	}
	e.Exec(`INSERT INTO user_session (id, user_id, address, user_agent, created_at, last_used_at, expires_at, revoked_at)
		VALUES ($1, $2, '', '', 1, 1, $3, $4)`, id, userID, database.Micros(now.Add(expires)),
		database.OptionalMicros(revokedAt))
	e.Exec(`INSERT INTO refresh_token (hash, session_id, created_at) VALUES ($1, $2, 1)`, secret.Hash(id), id)
	return id
}

func TestSweep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const day = 24 * time.Hour
		user := e.account("ada@example.org", true)
		kept := []string{
			e.sessionRow(user.ID, day, 0),               // live
			e.sessionRow(user.ID, -29*day, 0),           // expired
			e.sessionRow(user.ID, -29*day, -29*day),     // both
			e.sessionRow(user.ID, day, -29*day),         // revoked
			e.sessionRow(user.ID, -auth.SessionLife, 0), // at the very edge
		}
		e.sessionRow(user.ID, -31*day, 0)
		e.sessionRow(user.ID, day, -31*day)
		e.codeRow(user.ID, -29*day)
		e.codeRow(user.ID, -31*day)
		entries := len(e.actions())
		if err := e.service.Sweep(t.Context()); err != nil {
			t.Fatalf("sweep: %v", err)
		}
		ids, err := database.Collect(t.Context(), e.DB, func(s database.Scanner) (id string, err error) {
			err = s.Scan(&id)
			return id, err
		}, `SELECT id FROM user_session ORDER BY id`)
		slices.Sort(kept)
		if err != nil || !slices.Equal(ids, kept) {
			t.Errorf("left %v, %v; want %v", ids, err, kept)
		}
		if n := e.Number(`SELECT count(*) FROM refresh_token`); n != int64(len(kept)) {
			t.Errorf("%d refresh tokens are left, want those of the %d sessions", n, len(kept))
		}
		if n := e.Number(`SELECT count(*) FROM mail_code`); n != 1 {
			t.Errorf("%d codes are left, want the younger one", n)
		}
		if n := e.Number(`SELECT count(*) FROM user_account`); n != 1 {
			t.Errorf("%d accounts are left, want 1", n)
		}
		if n := len(e.actions()); n != entries {
			t.Errorf("%d audit entries, want still %d", n, entries)
		}
	})
}

// codeRow stores a code as it would be long after it was mailed.
func (e *env) codeRow(userID string, expires time.Duration) {
	e.T.Helper()
	e.Exec(`INSERT INTO mail_code (id, user_id, purpose, hash, attempts, created_at, expires_at) VALUES ($1, $2, 'verify', $3, 0, 1, $4)`,
		database.NewID(), userID, []byte{1}, database.Micros(e.DB.Now().Add(expires)))
}

// TestSweepManySlices has more to remove than fits in one slice, of each kind
// without the other.
func TestSweepManySlices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user := e.account("ada@example.org", true)
		live := e.sessionRow(user.ID, time.Hour, 0)
		for _, insert := range []string{
			`INSERT INTO user_session (id, user_id, address, user_agent, created_at, last_used_at, expires_at) VALUES ($1, $2, '', '', 1, 1, 1)`,
			`INSERT INTO mail_code (id, user_id, purpose, hash, attempts, created_at, expires_at) VALUES ($1, $2, 'reset', '', 0, 1, 1)`,
		} {
			err := e.DB.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
				for range 450 {
					if _, err := tx.Exec(ctx, insert, database.NewID(), user.ID); err != nil {
						return err
					}
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.service.Sweep(t.Context()); err != nil {
				t.Fatalf("sweep: %v", err)
			}
			sessions, codes := e.Number(`SELECT count(*) FROM user_session`), e.Number(`SELECT count(*) FROM mail_code`)
			if sessions != 1 || codes != 0 {
				t.Errorf("%d sessions and %d codes are left, want 1 and 0", sessions, codes)
			}
		}
		if n := e.Number(`SELECT count(*) FROM user_session WHERE id = $1`, live); n != 1 {
			t.Error("the live session is gone")
		}
	})
}

func TestGoneAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user := e.account("ada@example.org", true)
		tokens := e.login(user.Email)
		caller := e.caller(tokens)
		e.Exec(`DELETE FROM user_account WHERE id = $1`, user.ID)
		_, err := e.service.Authenticate(t.Context(), tokens.Access.Reveal())
		testenv.WantFault(t, "the token of an account that is gone", err, fault.Unauthenticated)
		if user, err := e.service.Get(t.Context(), caller); err == nil {
			t.Errorf("read %+v, want an error", user)
		}
		if err := e.service.ChangePassword(t.Context(), caller, secret.NewText(password),
			secret.NewText(next)); err == nil {
			t.Error("changed the password of an account that is gone")
		}
	})
}
