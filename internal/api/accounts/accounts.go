// Package accounts serves people's accounts: how they sign up and sign in, with a password, with an identity provider
// or from a terminal, their sessions, and the identity providers of organizations.
package accounts

import (
	"net/url"
	"time"

	"writ/internal/accessrequest"
	"writ/internal/api/admission"
	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/auth"
	"writ/internal/auth/federation"
	"writ/internal/organization"
)

// Handlers serve accounts and sign-in.
type Handlers struct {
	Gate          *admission.Gate
	Auth          *auth.Service
	Federation    *federation.Service
	Organizations *organization.Service
	Keys          *apikey.Service
	Requests      *accessrequest.Service

	PublicURL     *url.URL
	SignUpOpen    bool // whether anyone may register
	SecureCookies bool // whether browsers reach this server with TLS
	HasDashboard  bool // else the pages of this package stand in
	Options       OptionsBody
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	auth := r.Tagged("auth")
	h.mountSignUp(auth)
	h.mountLogin(auth)
	h.mountOptions(auth)
	h.mountPassword(auth)
	h.mountSessions(auth)
	h.mountDevice(auth)
	h.mountDevicePage(r)
	h.mountSignIn(auth)
	h.mountIdentities(auth)
	h.mountIdentityProvider(r.Tagged("identity provider"))
}

// UserBody is an account.
type UserBody struct {
	ID        string    `json:"id" format:"uuid"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Verified  bool      `json:"verified" doc:"Whether the e-mail address was confirmed."`
	CreatedAt time.Time `json:"createdAt"`
}

func userBody(u auth.User) UserBody {
	return UserBody{
		ID:        u.ID,
		Email:     u.Email,
		Name:      u.Name,
		Verified:  u.VerifiedAt != nil,
		CreatedAt: u.CreatedAt,
	}
}

// TokensBody is the credentials of a session.
type TokensBody struct {
	AccessToken  string `json:"accessToken" doc:"Send as Authorization: Bearer."`
	RefreshToken string `json:"refreshToken,omitempty" doc:"Exchange once at /auth/refresh. Absent if it is in a cookie."`
	ExpiresIn    int    `json:"expiresIn" doc:"Seconds until the access token expires." example:"900"`
}

func tokensBody(t auth.Tokens, keeps BrowserInput) TokensBody {
	body := TokensBody{AccessToken: t.Access.Reveal(), ExpiresIn: int(t.ExpiresIn.Seconds())}
	if !keeps.cookie() {
		body.RefreshToken = t.Refresh.Reveal()
	}
	return body
}

// StatusBody is the result in one word.
type StatusBody struct {
	Status string `json:"status" example:"sent"`
}

func status(word string) StatusBody { return StatusBody{word} }

// emailInput is a body whose only member is an address.
type emailInput struct {
	Body struct {
		Email string `json:"email" maxLength:"254" example:"dev@example.org"`
	}
}

func (in *emailInput) Account() string { return in.Body.Email }
