package auth_test

import (
	"context"
	"encoding/base32"
	"testing"
	"time"

	"writ/internal/auth"
	"writ/internal/auth/totp"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

// TestInstalled: the operator sees who has an account, and nobody else does.
func TestInstalled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		ada := e.account("ada@example.org", true)
		e.Pass(time.Second)
		bob, gone := e.account("bob@example.org", false), e.account("gone@example.org", true)
		self := e.caller(e.login(ada.Email))
		begun, err := e.service.AddSecondFactor(ctx, self, secret.NewText(password))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.DB.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			return auth.Erase(ctx, tx, gone.ID)
		}}); err != nil {
			t.Fatal(err)
		}
		for _, factor := range []bool{false, true} { // one that was only begun is not asked for
			all, err := e.service.Installed(ctx, principal.Operator())
			if err != nil || len(all) != 2 {
				t.Fatalf("%+v, %v", all, err)
			}
			if a := all[0]; a.ID != ada.ID || a.Email != ada.Email || a.Name != ada.Name || a.VerifiedAt == nil ||
				!a.CreatedAt.Equal(ada.CreatedAt) || a.SecondFactor != factor {
				t.Errorf("the first is %+v, want a second factor: %t", a, factor)
			}
			if b := all[1]; b.ID != bob.ID || b.VerifiedAt != nil || b.SecondFactor {
				t.Errorf("the second is %+v", b)
			}
			if !factor {
				e.confirm(self, begun.Secret)
			}
		}
		for name, p := range map[string]principal.Principal{"a person": self, "nobody": {}} {
			_, err := e.service.Installed(ctx, p)
			testenv.WantFault(t, name, err, fault.Forbidden)
		}
	})
}

// confirm has a second factor count that was begun.
func (e *env) confirm(p principal.Principal, begun secret.Text) {
	e.T.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(begun.Reveal())
	if err == nil {
		_, err = e.service.ConfirmSecondFactor(e.T.Context(), p, totp.Code(key, totp.Step(e.Now())))
	}
	if err != nil {
		e.T.Fatal(err)
	}
}
