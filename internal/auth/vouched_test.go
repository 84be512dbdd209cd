package auth_test

import (
	"context"
	"strings"
	"testing"

	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/secret"
	"writ/internal/testenv"
)

// vouched begins a session that is good for one organization alone.
func (e *env) vouched(userID, orgID string) auth.Tokens {
	e.T.Helper()
	var opened auth.Opened
	err := e.DB.Write(e.T.Context(), database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		opened, err = e.service.StartSession(ctx, tx, userID, orgID, auth.Device{Address: "192.0.2.7"})
		return err
	}})
	if err != nil {
		e.T.Fatalf("begin a session: %v", err)
	}
	tokens, err := e.service.Issue(e.T.Context(), opened)
	if err != nil {
		e.T.Fatalf("issue its tokens: %v", err)
	}
	return tokens
}

// TestLimitIsKept through tokens and refreshes, and nothing lifts it.
func TestLimitIsKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user, org := e.account("ada@example.org", true), database.NewID()
		tokens := e.vouched(user.ID, org)
		if p := e.caller(tokens); p.LimitedTo != org || p.UserID != user.ID || p.OrgID != "" || p.Role != "" {
			t.Errorf("caller %+v", p)
		}
		next, err := e.service.Refresh(t.Context(), tokens.Refresh, false)
		if err != nil {
			t.Fatal(err)
		}
		if p := e.caller(next); p.LimitedTo != org {
			t.Errorf("after a refresh: %+v", p)
		}
		if p := e.caller(e.login(user.Email)); p.LimitedTo != "" {
			t.Errorf("with a password: %+v", p)
		}
		e.Exec(`UPDATE user_session SET org_id = '' WHERE org_id = $1`, org)
		_, err = e.service.Authenticate(t.Context(), next.Access.Reveal())
		testenv.WantFault(t, "a token that says more than its session", err, fault.Unauthenticated)
	})
}

// TestLimitedSessionsSeeTheirLike: they neither list nor end the others.
func TestLimitedSessionsSeeTheirLike(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user, org := e.account("ada@example.org", true), database.NewID()
		own := e.caller(e.login(user.Email))
		limited, other := e.caller(e.vouched(user.ID, org)), e.caller(e.vouched(user.ID, database.NewID()))
		list, err := e.service.Sessions(t.Context(), limited)
		if err != nil || len(list) != 1 || list[0].ID != limited.SessionID {
			t.Errorf("it lists %+v, %v", list, err)
		}
		for _, id := range []string{own.SessionID, other.SessionID} {
			testenv.WantFault(t, "to end another", e.service.RevokeSession(t.Context(), limited, id), fault.NotFound)
		}
		if list, err := e.service.Sessions(t.Context(), own); err != nil || len(list) != 3 {
			t.Errorf("their own lists %d, %v; want all", len(list), err)
		}
		err = e.DB.Write(t.Context(), database.Change{
			Do: func(ctx context.Context, tx *database.Tx) error { return auth.EndLimited(ctx, tx, org, "") },
		})
		if err != nil {
			t.Fatal(err)
		}
		list, err = e.service.Sessions(t.Context(), own)
		if err != nil || len(list) != 2 {
			t.Errorf("after those of the organization ended: %+v, %v", list, err)
		}
	})
}

// TestVouchedAccountsHaveNoPassword, and names as people can read them.
func TestVouchedAccountsHaveNoPassword(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user := auth.User{Email: " Ada@Example.org", Name: strings.Repeat("ä", 150)}
		err := e.DB.Write(t.Context(), database.Change{Logs: []string{audit.System}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			return e.service.AddVouched(ctx, tx, &user)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if user.Email != "ada@example.org" || user.Name != strings.Repeat("ä", auth.MaxNameLength) ||
			user.VerifiedAt != nil {
			t.Errorf("stored %+v", user)
		}
		for _, guess := range []string{"", "password"} {
			_, _, err := e.service.Login(t.Context(), user.Email, secret.NewText(guess), auth.Device{})
			testenv.WantFault(t, "to sign in with a password", err, fault.Unauthenticated)
		}
		e.Exec(`INSERT INTO external_identity (id, org_id, issuer, subject, user_id, email, linked, created_at)
			VALUES ('a', 'org', 'i', 's', $1, '', 0, 1), ('b', 'org', 'i', 't', $1, '', 1, 1), ('c', '', 'i', 's', $1, '', 0, 1), ('d', '', 'i', 't', $1, '', 1, 1)`, user.ID)
		if err := e.service.ResetPassword(t.Context(), e.link(user.Email), secret.NewText(next)); err != nil {
			t.Fatal(err)
		}
		if e.Number(`SELECT count(*) FROM external_identity WHERE id = 'c'`) != 1 ||
			e.Number(`SELECT count(*) FROM external_identity`) != 1 {
			t.Error("a reset leaves Google's identity that made the account, and none that anybody linked")
		}
	})
}

// TestAProviderAddsNoFactorForOthers: who runs one organization's provider must not lock a person out of an account
// that another provider leads to as well.
func TestAProviderAddsNoFactorForOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user, org := auth.User{Email: "ada@example.org", Name: "Ada"}, database.NewID()
		err := e.DB.Write(t.Context(), database.Change{Logs: []string{audit.System}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			return e.service.AddVouched(ctx, tx, &user)
		}})
		if err != nil {
			t.Fatal(err)
		}
		limited := e.caller(e.vouched(user.ID, org))
		for _, other := range []string{"", database.NewID()} {
			e.Exec(`INSERT INTO external_identity (id, org_id, issuer, subject, user_id, email, linked, created_at)
				VALUES ('a', $2, 'i', 's', $1, '', 1, 1), ('b', $3, 'j', 's', $1, '', 1, 1)`, user.ID, org, other)
			_, err := e.service.AddSecondFactor(t.Context(), limited, secret.Text{})
			testenv.WantFault(t, "beside another provider", err, fault.Forbidden)
			if got := e.Number(`SELECT COUNT(*) FROM second_factor`); got != 0 {
				t.Errorf("%d factors are stored", got)
			}
			e.Exec(`DELETE FROM external_identity WHERE user_id = $1`, user.ID)
		}
		if _, err := e.service.AddSecondFactor(t.Context(), limited, secret.Text{}); err != nil {
			t.Errorf("where nothing else leads to the account: %v", err)
		}
	})
}
