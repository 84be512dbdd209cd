package accounts

import (
	"context"
	"net/http"

	"writ/internal/api/route"
	"writ/internal/auth"
	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

func (h *Handlers) mountSignUp(r *route.Router) {
	route.Handle(r,
		route.Post("/auth/register", "Sign up; a code is mailed to the address, or a note if it has an account").
			For(route.Public).Throttled(throttle.Register).Records("user.registered").Answers(http.StatusAccepted),
		h.register)
	route.Handle(r, route.Post("/auth/verify-otp", "Confirm an address with its code").For(route.Public).
		Throttled(throttle.VerifyOTP).Records("user.verified"), h.verifyOTP)
	route.Handle(r, route.Post("/auth/resend-otp", "Mail a new code").For(route.Public).
		Throttled(throttle.ResendOTP).Unrecorded().Answers(http.StatusAccepted), h.resendOTP)
}

type registerInput struct {
	Body struct {
		Email       string `json:"email" maxLength:"254" example:"dev@example.org"`
		Password    string `json:"password" minLength:"10" maxLength:"200"`
		Name        string `json:"name,omitempty" maxLength:"100"`
		InviteToken string `json:"inviteToken,omitempty" maxLength:"200" doc:"The token of an invitation to this address, or of an approved request for access; required if sign-up is closed."`
	}
}

func (in *registerInput) Account() string { return in.Body.Email }

// RegistrationBody answers a registration. It is the same whether or not the address has an account.
type RegistrationBody struct {
	Next string `json:"next" doc:"What to do now: enter the code that was mailed. An address that has an account gets another mail." example:"verify-otp"`
}

func (h *Handlers) register(ctx context.Context, _ principal.Principal, in *registerInput) (RegistrationBody, error) {
	if err := h.maySignUp(ctx, in.Body.Email, in.Body.InviteToken); err != nil {
		return RegistrationBody{}, err
	}
	err := h.Auth.Register(ctx, auth.NewUser{
		Email: in.Body.Email, Password: secret.NewText(in.Body.Password), Name: in.Body.Name,
	})
	return RegistrationBody{"verify-otp"}, err
}

// maySignUp admits everybody if sign-up is open, and otherwise only people who were invited or whose request for
// access was approved.
func (h *Handlers) maySignUp(ctx context.Context, address, inviteToken string) error {
	if h.SignUpOpen {
		return nil
	}
	closed := fault.New(fault.Forbidden, "sign-up is closed here; ask an administrator for an invitation")
	if inviteToken == "" {
		return closed
	}
	invited, err := h.Organizations.InvitedEmail(ctx, inviteToken)
	if fault.Is(err, fault.NotFound) {
		invited, err = h.Requests.MayRegister(ctx, inviteToken)
	}
	if fault.Is(err, fault.NotFound) {
		return closed
	}
	if err != nil {
		return err
	}
	if address, err = email.Normalise(address); err != nil {
		return err
	}
	if address != invited {
		return closed
	}
	return nil
}

type verifyInput struct {
	Body struct {
		Email    string `json:"email" maxLength:"254"`
		Code     string `json:"code" minLength:"1" maxLength:"20" example:"123456"`
		Password string `json:"password" maxLength:"1000" doc:"The password of the registration."`
	}
}

func (in *verifyInput) Account() string { return in.Body.Email }

func (h *Handlers) verifyOTP(ctx context.Context, _ principal.Principal, in *verifyInput) (StatusBody, error) {
	err := h.Auth.VerifyOTP(ctx, in.Body.Email, in.Body.Code, secret.NewText(in.Body.Password))
	return status("verified"), err
}

func (h *Handlers) resendOTP(ctx context.Context, _ principal.Principal, in *emailInput) (StatusBody, error) {
	return status("sent"), h.Auth.ResendOTP(ctx, in.Body.Email)
}
