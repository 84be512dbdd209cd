// Package users serves what people do with their own account: profile and preferences, second factor, another e-mail
// address, all of their data as a file, and its end.
package users

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"writ/internal/api/admission"
	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/auth"
	"writ/internal/auth/account"
	"writ/internal/auth/federation"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

// Handlers serve accounts to their owners.
type Handlers struct {
	Auth          *auth.Service
	Accounts      *account.Service
	Federation    *federation.Service
	Organizations *organization.Service
	Keys          *apikey.Service
	Database      *database.DB
	Logger        *slog.Logger
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("user")
	route.Handle(r, route.Get("/user/profile", "Who the caller is").For(route.Person).LimitedToo(), h.profile)
	route.Handle(r, route.Patch("/user/profile", "Change the caller's name, language or time zone").
		For(route.Person).Throttled(throttle.ChangeProfile).Records("profile.changed").Configures(), h.changeProfile)
	route.Handle(r, route.Get("/user/preferences", "How the caller wants the dashboard to look").
		For(route.Person).LimitedToo(), h.preferences)
	route.Handle(r, route.Put("/user/preferences",
		"Say how the dashboard is to look. What is mailed is at /notifications/preferences").
		For(route.Person).LimitedToo().Unrecorded().Configures(), h.setPreferences)
	route.Handle(r, route.Post("/user/email", "Mail a code to the caller's address and one to the wanted address").
		For(route.Person).Throttled(throttle.ChangeEmail).Records("email.change_requested").Configures().AsksAgain().
		Answers(http.StatusAccepted), h.beginEmail)
	route.Handle(r, route.Post("/user/email/confirm", "Change the address, with both codes, and end other sessions").
		For(route.Person).Throttled(throttle.ConfirmEmail).Records("email.changed").Configures(), h.confirmEmail)
	route.Handle(r, route.Delete("/user",
		"Delete the caller's account. Logs keep its id; its keys end, unless they are handed over").
		For(route.Person).Throttled(throttle.DeleteAccount).Records("user.deleted").Configures().AsksAgain().
		Answers(http.StatusNoContent), h.delete)
	h.mountSecondFactor(r)
	h.mountExport(r)
}

// ProfileBody is who a person is.
type ProfileBody struct {
	ID        string    `json:"id" format:"uuid"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Initials  string    `json:"initials" doc:"They stand where a picture would." example:"AL"`
	Locale    string    `json:"locale" doc:"A language tag; empty: not said." example:"pt-BR"`
	TimeZone  string    `json:"timeZone" doc:"Of the IANA database; empty: not said." example:"Europe/Berlin"`
	CreatedAt time.Time `json:"createdAt"`
}

func (h *Handlers) profile(ctx context.Context, caller principal.Principal, _ *route.None) (ProfileBody, error) {
	profile, err := h.Accounts.Profile(ctx, caller)
	if err != nil {
		return ProfileBody{}, err
	}
	return h.profileBody(ctx, caller, profile)
}

func (h *Handlers) profileBody(
	ctx context.Context, caller principal.Principal, profile account.Profile,
) (ProfileBody, error) {
	user, err := h.Auth.Get(ctx, caller)
	return ProfileBody{
		ID:        user.ID,
		Email:     user.Email,
		Name:      profile.Name,
		Initials:  account.Initials(profile.Name, user.Email),
		Locale:    profile.Locale,
		TimeZone:  profile.TimeZone,
		CreatedAt: user.CreatedAt,
	}, err
}

type changeProfileInput struct {
	Body struct {
		Name     *string `json:"name,omitempty" maxLength:"100"`
		Locale   *string `json:"locale,omitempty" maxLength:"20" example:"pt-BR"`
		TimeZone *string `json:"timeZone,omitempty" maxLength:"60" example:"Europe/Berlin"`
	}
}

func (h *Handlers) changeProfile(
	ctx context.Context, caller principal.Principal, in *changeProfileInput,
) (ProfileBody, error) {
	changed, err := h.Accounts.ChangeProfile(ctx, caller, account.ProfileChange{
		Name: in.Body.Name, Locale: in.Body.Locale, TimeZone: in.Body.TimeZone,
	})
	if err != nil {
		return ProfileBody{}, err
	}
	return h.profileBody(ctx, caller, changed)
}

// LookBody is how a person wants the dashboard to look.
type LookBody struct {
	Theme   string `json:"theme" enum:"system,light,dark"`
	Density string `json:"density" enum:"compact,roomy" doc:"How high the rows of tables are."`
}

func (h *Handlers) preferences(
	ctx context.Context, caller principal.Principal, _ *route.None,
) (LookBody, error) {
	chosen, err := h.Accounts.Preferences(ctx, caller)
	return LookBody(chosen), err
}

type setPreferencesInput struct{ Body LookBody }

func (h *Handlers) setPreferences(
	ctx context.Context, caller principal.Principal, in *setPreferencesInput,
) (LookBody, error) {
	return in.Body, h.Accounts.SetPreferences(ctx, caller, account.Preferences(in.Body))
}

type beginEmailInput struct {
	Body struct {
		Email    string `json:"email" maxLength:"254" example:"dev@example.org"`
		Password string `json:"password,omitempty" maxLength:"1000" doc:"Required if the account has one."`
	}
}

// EmailChangeBody answers the wish for another address. It is the same whether or not that has an account.
type EmailChangeBody struct {
	Next string `json:"next" doc:"What to do now: send both codes." example:"confirm"`
}

func (h *Handlers) beginEmail(
	ctx context.Context, caller principal.Principal, in *beginEmailInput,
) (EmailChangeBody, error) {
	err := h.Accounts.BeginEmailChange(ctx, caller, in.Body.Email, secret.NewText(in.Body.Password))
	return EmailChangeBody{"confirm"}, err
}

type confirmEmailInput struct {
	Body struct {
		CurrentCode string `json:"currentCode" minLength:"1" maxLength:"20" doc:"The code that was mailed to the present address." example:"12345678"`
		NewCode     string `json:"newCode" minLength:"1" maxLength:"20" doc:"The code that was mailed to the new address." example:"87654321"`
	}
}

func (h *Handlers) confirmEmail(
	ctx context.Context, caller principal.Principal, in *confirmEmailInput,
) (ProfileBody, error) {
	err := h.Accounts.ConfirmEmailChange(ctx, caller, in.Body.CurrentCode, in.Body.NewCode)
	if !fault.Is(err, fault.Invalid) { // else nothing was tried
		h.Keys.Forget()
	}
	if err != nil {
		return ProfileBody{}, err
	}
	return h.profile(ctx, caller, nil)
}

type deleteUserInput struct {
	Body struct {
		Password string        `json:"password,omitempty" maxLength:"1000" doc:"Required if the account has one."`
		Confirm  string        `json:"confirm" maxLength:"254" doc:"The account's e-mail address, typed again."`
		KeysTo   []KeyHeirBody `json:"keysTo,omitempty" maxItems:"100" doc:"Who gets the keys and agents of the caller, by organization, and must rotate the keys within a week. Elsewhere keys end and agents are suspended."`
	}
}

// KeyHeirBody is a member who gets the keys and agents of somebody who leaves.
type KeyHeirBody struct {
	OrganizationID string `json:"organizationId" maxLength:"100"`
	UserID         string `json:"userId" maxLength:"100"`
}

func (h *Handlers) delete(
	ctx context.Context, caller principal.Principal, in *deleteUserInput,
) (route.None, error) {
	user, err := h.Auth.Get(ctx, caller)
	if err != nil {
		return route.None{}, err
	}
	if in.Body.Confirm != user.Email {
		return route.None{}, fault.Field("confirm", "must be the e-mail address of your account")
	}
	heirs := map[string]string{}
	for _, heir := range in.Body.KeysTo {
		heirs[heir.OrganizationID] = heir.UserID
	}
	proved := caller.SecondFactor.ProvedAt
	err = h.Accounts.Delete(ctx, caller, account.Deletion{
		Password: secret.NewText(in.Body.Password),
		Proved:   !proved.IsZero() && h.Database.Now().Sub(proved) < admission.FreshProof,
		Heirs:    heirs,
	})
	if !fault.Is(err, fault.Invalid) { // else nothing was tried
		h.Keys.Forget()
	}
	return route.None{}, err
}
