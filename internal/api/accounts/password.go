package accounts

import (
	"context"
	"net/http"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

func (h *Handlers) mountPassword(r *route.Router) {
	route.Handle(r, route.Post("/auth/change-password", "Change the password and end other sessions").
		For(route.Person).Throttled(throttle.ChangePassword).Records("password.changed").AsksAgain().
		Answers(http.StatusNoContent), h.changePassword)
	route.Handle(r, route.Post("/auth/forgot-password", "Mail a link that sets a new password").
		For(route.Public).Throttled(throttle.ForgotPassword).Records("password.reset_requested").
		Answers(http.StatusAccepted), h.forgotPassword)
	route.Handle(r, route.Post("/auth/reset-password",
		"Set a new password with the mailed token and end every session").
		For(route.Public).Throttled(throttle.ResetPassword).Records("password.reset").
		Answers(http.StatusNoContent), h.resetPassword)
}

type changePasswordInput struct {
	Body struct {
		CurrentPassword string `json:"currentPassword" maxLength:"1000"`
		NewPassword     string `json:"newPassword" minLength:"10" maxLength:"200"`
	}
}

func (h *Handlers) changePassword(
	ctx context.Context, caller principal.Principal, in *changePasswordInput,
) (route.None, error) {
	return route.None{}, h.forgetTerminals(h.Auth.ChangePassword(ctx, caller, secret.NewText(in.Body.CurrentPassword),
		secret.NewText(in.Body.NewPassword)))
}

// forgetTerminals drops cached keys after a password change, which ends the keys of terminals. It does so after most
// errors too, because the commit may have succeeded all the same.
func (h *Handlers) forgetTerminals(err error) error {
	if !fault.Is(err, fault.Invalid) { // else nothing was tried
		h.Keys.Forget()
	}
	return err
}

func (h *Handlers) forgotPassword(ctx context.Context, _ principal.Principal, in *emailInput) (StatusBody, error) {
	return status("sent"), h.Auth.ForgotPassword(ctx, in.Body.Email)
}

type resetPasswordInput struct {
	Body struct {
		Token       string `json:"token" minLength:"1" maxLength:"200"`
		NewPassword string `json:"newPassword" minLength:"10" maxLength:"200"`
	}
}

func (h *Handlers) resetPassword(
	ctx context.Context, _ principal.Principal, in *resetPasswordInput,
) (route.None, error) {
	return route.None{}, h.forgetTerminals(h.Auth.ResetPassword(ctx, secret.NewText(in.Body.Token),
		secret.NewText(in.Body.NewPassword)))
}
