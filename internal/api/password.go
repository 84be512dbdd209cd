package api

import (
	"context"
	"net/http"

	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

func (a *API) mountPassword() {
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/change-password", Tag: "auth",
		Summary: "Change the password and end other sessions",
		Mode:    JWT, Throttle: throttle.ChangePassword, Audit: "password.changed", Status: http.StatusNoContent,
	}, a.changePassword)
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/forgot-password", Tag: "auth",
		Summary: "Mail a link that sets a new password",
		Mode:    Public, Throttle: throttle.ForgotPassword, Audit: "password.reset_requested",
		Status: http.StatusAccepted,
	}, a.forgotPassword)
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/reset-password", Tag: "auth",
		Summary: "Set a new password with the mailed token and end every session",
		Mode:    Public, Throttle: throttle.ResetPassword, Audit: "password.reset", Status: http.StatusNoContent,
	}, a.resetPassword)
}

type changePasswordInput struct {
	Body struct {
		CurrentPassword string `json:"currentPassword" maxLength:"1000"`
		NewPassword     string `json:"newPassword" minLength:"10" maxLength:"200"`
	}
}

func (a *API) changePassword(ctx context.Context, caller principal.Principal, in *changePasswordInput) (*none, error) {
	err := a.Auth.ChangePassword(ctx, caller, secret.NewText(in.Body.CurrentPassword),
		secret.NewText(in.Body.NewPassword))
	return nil, a.forgetTerminals(err)
}

// forgetTerminals has keys be looked up again after a new password, with which
// those of terminals end; also after most errors, because a commit may have taken
// effect without our knowing.
func (a *API) forgetTerminals(err error) error {
	if !fault.Is(err, fault.Invalid) { // else nothing was tried
		a.Keys.Forget()
	}
	return err
}

func (a *API) forgotPassword(ctx context.Context, _ principal.Principal, in *emailInput) (*statusBody, error) {
	if err := a.Auth.ForgotPassword(ctx, in.Body.Email); err != nil {
		return nil, err
	}
	return statusOf("sent"), nil
}

type resetPasswordInput struct {
	Body struct {
		Token       string `json:"token" minLength:"1" maxLength:"200"`
		NewPassword string `json:"newPassword" minLength:"10" maxLength:"200"`
	}
}

func (a *API) resetPassword(ctx context.Context, _ principal.Principal, in *resetPasswordInput) (*none, error) {
	return nil, a.forgetTerminals(a.Auth.ResetPassword(ctx, secret.NewText(in.Body.Token),
		secret.NewText(in.Body.NewPassword)))
}
