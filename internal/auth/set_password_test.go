package auth_test

import (
	"testing"

	"writ/internal/auth"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

// TestSetPassword: the operator gives an account another password, which ends what the old one opened, and nobody else
// can.
func TestSetPassword(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx, next := t.Context(), secret.NewText("another horse battery")
		user := e.account("ada@example.org", true)
		if err := e.service.ForgotPassword(ctx, user.Email); err != nil {
			t.Fatal(err)
		}
		link, tokens := e.link(user.Email), e.login(user.Email)
		self := e.caller(tokens)
		for name, p := range map[string]principal.Principal{"the person": self, "nobody": {}} {
			testenv.WantFault(t, name, e.service.SetPassword(ctx, p, user.ID, next), fault.Forbidden)
		}
		testenv.WantFault(t, "a short one",
			e.service.SetPassword(ctx, principal.Operator(), user.ID, secret.NewText("short")), fault.Invalid)
		if err := e.service.SetPassword(ctx, principal.Operator(), user.ID, next); err != nil {
			t.Fatal(err)
		}
		_, _, err := e.service.Login(ctx, user.Email, secret.NewText(password), auth.Device{})
		testenv.WantFault(t, "the old password", err, fault.Unauthenticated)
		if _, _, err := e.service.Login(ctx, user.Email, next, auth.Device{}); err != nil {
			t.Errorf("the new password: %v", err)
		}
		_, err = e.service.Refresh(ctx, tokens.Refresh, false)
		testenv.WantFault(t, "the old session", err, fault.Unauthenticated)
		testenv.WantFault(t, "a link from before",
			e.service.ResetPassword(ctx, link, secret.NewText("a third horse battery")), fault.Invalid)
	})
}
