package users

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

func (h *Handlers) mountSecondFactor(r *route.Router) {
	mine := func(rt route.Route) route.Route {
		return rt.For(route.Person).LimitedToo().Throttled(throttle.SecondFactor)
	}
	route.Handle(r, route.Get("/user/second-factor", "Whether the caller has a second factor").
		For(route.Person).LimitedToo(), h.secondFactor)
	route.Handle(r, mine(route.Post("/user/second-factor",
		"Make the secret of a second factor; it is shown once and counts when a code of it was entered")).
		Records("second_factor.begun").Configures(), h.addSecondFactor)
	route.Handle(r, mine(route.Post("/user/second-factor/confirm",
		"Enter the first code of a second factor, and get the recovery codes, which are shown once")).
		Records("second_factor.added").Configures(), h.confirmSecondFactor)
	route.Handle(r, mine(route.Post("/user/second-factor/proof",
		"Prove the second factor in this session, before what asks for it")).
		Records("second_factor.proved").Configures().Answers(http.StatusNoContent), h.prove)
	route.Handle(r, mine(route.Post("/user/second-factor/recovery-codes",
		"Make new recovery codes, which are shown once; the old ones no longer work")).
		Records("second_factor.codes_renewed").AsksAgain(), h.renewCodes)
	route.Handle(r, mine(route.Delete("/user/second-factor", "Remove the caller's second factor")).
		Records("second_factor.removed").AsksAgain().Answers(http.StatusNoContent), h.removeSecondFactor)
}

// SecondFactorBody is what a person has.
type SecondFactorBody struct {
	Enrolled      bool       `json:"enrolled"`
	Since         *time.Time `json:"since"`
	ProvedAt      *time.Time `json:"provedAt" doc:"When this session last proved it; null: never."`
	RecoveryCodes int        `json:"recoveryCodes" doc:"How many are unused."`
}

func (h *Handlers) secondFactor(
	ctx context.Context, caller principal.Principal, _ *route.None,
) (SecondFactorBody, error) {
	status, err := h.Auth.SecondFactor(ctx, caller)
	body := SecondFactorBody{Enrolled: status.Enrolled, RecoveryCodes: status.RecoveryCodes}
	if status.Enrolled {
		body.Since = &status.Since
	}
	if at := caller.SecondFactor.ProvedAt; !at.IsZero() {
		body.ProvedAt = &at
	}
	return body, err
}

type addSecondFactorInput struct {
	Body struct {
		Password string `json:"password,omitempty" maxLength:"1000" doc:"Required if the account has one."`
	}
}

// EnrolmentBody is the secret for an authenticator app.
type EnrolmentBody struct {
	Secret string `json:"secret" doc:"To type into an app that reads no pictures."`
	URI    string `json:"uri" doc:"What the picture says that an app reads." example:"otpauth://totp/..."`
}

func (h *Handlers) addSecondFactor(
	ctx context.Context, caller principal.Principal, in *addSecondFactorInput,
) (EnrolmentBody, error) {
	made, err := h.Auth.AddSecondFactor(ctx, caller, secret.NewText(in.Body.Password))
	if err != nil {
		return EnrolmentBody{}, err
	}
	return EnrolmentBody{made.Secret.Reveal(), made.URI.Reveal()}, nil
}

type factorCodeInput struct {
	Body struct {
		Code string `json:"code" minLength:"6" maxLength:"50" example:"123456"`
	}
}

// RecoveryCodesBody is codes that are never shown again.
type RecoveryCodesBody struct {
	Codes []string `json:"codes" nullable:"false" doc:"Each works once, in place of a code of the app."`
}

func recoveryCodesBody(codes []secret.Text, err error) (RecoveryCodesBody, error) {
	body := RecoveryCodesBody{Codes: []string{}}
	for _, code := range codes {
		body.Codes = append(body.Codes, code.Reveal())
	}
	return body, err
}

func (h *Handlers) confirmSecondFactor(
	ctx context.Context, caller principal.Principal, in *factorCodeInput,
) (RecoveryCodesBody, error) {
	return recoveryCodesBody(h.Auth.ConfirmSecondFactor(ctx, caller, in.Body.Code))
}

type proveInput struct {
	Body struct {
		Code string `json:"code" minLength:"6" maxLength:"50" doc:"Of the app, or a recovery code." example:"123456"`
	}
}

func (h *Handlers) prove(ctx context.Context, caller principal.Principal, in *proveInput) (route.None, error) {
	return route.None{}, h.Auth.Prove(ctx, caller, in.Body.Code)
}

func (h *Handlers) renewCodes(
	ctx context.Context, caller principal.Principal, _ *route.None,
) (RecoveryCodesBody, error) {
	return recoveryCodesBody(h.Auth.RenewRecoveryCodes(ctx, caller))
}

func (h *Handlers) removeSecondFactor(
	ctx context.Context, caller principal.Principal, _ *route.None,
) (route.None, error) {
	return route.None{}, h.Auth.RemoveSecondFactor(ctx, caller, caller.UserID)
}
