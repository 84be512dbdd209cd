package api

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"time"

	"writ/internal/auth"
	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

// none is the input or output of a route that has none.
type none struct{}

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
	RefreshToken string `json:"refreshToken" doc:"Exchange once at /auth/refresh."`
	ExpiresIn    int    `json:"expiresIn" doc:"Seconds until the access token ends." example:"900"`
}

func tokensBody(t auth.Tokens) TokensBody {
	return TokensBody{
		AccessToken: t.Access.Reveal(), RefreshToken: t.Refresh.Reveal(), ExpiresIn: int(t.ExpiresIn.Seconds()),
	}
}

// emailInput is a body whose only member is an address.
type emailInput struct {
	Body struct {
		Email string `json:"email" maxLength:"254" example:"dev@example.org"`
	}
}

func (in *emailInput) account() string { return in.Body.Email }

// statusBody says in a word what happened.
type statusBody struct {
	Body struct {
		Status string `json:"status" example:"sent"`
	}
}

func statusOf(word string) *statusBody {
	out := &statusBody{}
	out.Body.Status = word
	return out
}

func (a *API) mountAuth() {
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/register", Tag: "auth",
		Summary: "Sign up; a code is mailed to the address",
		Mode:    Public, Throttle: throttle.Register, Audit: "user.registered", Status: http.StatusCreated,
	}, a.register)
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/verify-otp", Tag: "auth", Summary: "Confirm an address with its code",
		Mode: Public, Throttle: throttle.VerifyOTP, Audit: "user.verified",
	}, a.verifyOTP)
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/resend-otp", Tag: "auth", Summary: "Mail a new code",
		Mode: Public, Throttle: throttle.ResendOTP, Audit: notRecorded, Status: http.StatusAccepted,
	}, a.resendOTP)
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/login", Tag: "auth", Summary: "Sign in",
		Mode: Public, Throttle: throttle.Login, Audit: "session.created",
	}, a.login)
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/refresh", Tag: "auth",
		Summary: "Replace a refresh token; one that comes twice ends its session",
		Mode:    Public, Audit: notRecorded,
	}, a.refresh)
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/logout", Tag: "auth", Summary: "End this session",
		Mode: JWT, ForLimited: true, Audit: "session.revoked", Status: http.StatusNoContent,
	}, a.logout)
	handle(a, Route{
		Method:     http.MethodGet,
		Path:       "/auth/me",
		Tag:        "auth",
		Summary:    "Who is signed in",
		Mode:       JWT,
		ForLimited: true,
	}, a.me)
	handle(a, Route{
		Method:  http.MethodGet,
		Path:    "/.well-known/jwks.json",
		Tag:     "auth",
		Summary: "Keys that verify access tokens",
		Mode:    Public,
	}, a.jwks)
}

type registerInput struct {
	Body struct {
		Email       string `json:"email" maxLength:"254" example:"dev@example.org"`
		Password    string `json:"password" minLength:"10" maxLength:"200"`
		Name        string `json:"name,omitempty" maxLength:"100"`
		InviteToken string `json:"inviteToken,omitempty" maxLength:"200" doc:"Of an invitation to this address; needed where sign-up is closed."`
	}
}

func (in *registerInput) account() string { return in.Body.Email }

type registerOutput struct {
	Body struct {
		User UserBody `json:"user"`
		Next string   `json:"next" doc:"What to do now." example:"verify-otp"`
	}
}

func (a *API) register(ctx context.Context, _ principal.Principal, in *registerInput) (*registerOutput, error) {
	if err := a.maySignUp(ctx, in.Body.Email, in.Body.InviteToken); err != nil {
		return nil, err
	}
	user, err := a.Auth.Register(ctx, auth.NewUser{
		Email: in.Body.Email, Password: secret.NewText(in.Body.Password), Name: in.Body.Name,
	})
	if err != nil {
		return nil, err
	}
	out := &registerOutput{}
	out.Body.User, out.Body.Next = userBody(user), "verify-otp"
	return out, nil
}

// maySignUp lets anyone in where sign-up is open, and the invited elsewhere.
func (a *API) maySignUp(ctx context.Context, address, inviteToken string) error {
	if a.SignUpOpen {
		return nil
	}
	closed := fault.New(fault.Forbidden, "sign-up is closed here; ask an administrator for an invitation")
	if inviteToken == "" {
		return closed
	}
	invited, err := a.Organizations.InvitedEmail(ctx, inviteToken)
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
		Password string `json:"password" maxLength:"1000" doc:"The one the account was registered with."`
	}
}

func (in *verifyInput) account() string { return in.Body.Email }

func (a *API) verifyOTP(ctx context.Context, _ principal.Principal, in *verifyInput) (*statusBody, error) {
	if err := a.Auth.VerifyOTP(ctx, in.Body.Email, in.Body.Code, secret.NewText(in.Body.Password)); err != nil {
		return nil, err
	}
	return statusOf("verified"), nil
}

func (a *API) resendOTP(ctx context.Context, _ principal.Principal, in *emailInput) (*statusBody, error) {
	if err := a.Auth.ResendOTP(ctx, in.Body.Email); err != nil {
		return nil, err
	}
	return statusOf("sent"), nil
}

type loginInput struct {
	Body struct {
		Email    string `json:"email" maxLength:"254"`
		Password string `json:"password" maxLength:"1000"`
	}
}

func (in *loginInput) account() string { return in.Body.Email }

type loginOutput struct {
	Body struct {
		TokensBody
		User          UserBody           `json:"user"`
		Organizations []OrganizationBody `json:"organizations" nullable:"false"`
	}
}

func (a *API) login(ctx context.Context, _ principal.Principal, in *loginInput) (*loginOutput, error) {
	request := requestOf(ctx)
	user, tokens, err := a.Auth.Login(ctx, in.Body.Email, secret.NewText(in.Body.Password),
		auth.Device{Address: request.address.String(), UserAgent: request.agent})
	if err != nil {
		return nil, err
	}
	mine, err := a.Organizations.ListForUser(ctx, user.ID)
	if err != nil {
		return nil, err
	}
	out := &loginOutput{}
	out.Body.TokensBody, out.Body.User, out.Body.Organizations = tokensBody(tokens), userBody(user),
		organizationBodies(mine)
	return out, nil
}

type refreshInput struct {
	Body struct {
		RefreshToken string `json:"refreshToken" minLength:"1" maxLength:"200"`
	}
}

type tokensOutput struct{ Body TokensBody }

func (a *API) refresh(ctx context.Context, _ principal.Principal, in *refreshInput) (*tokensOutput, error) {
	tokens, err := a.Auth.Refresh(ctx, secret.NewText(in.Body.RefreshToken))
	if err != nil {
		return nil, err
	}
	return &tokensOutput{Body: tokensBody(tokens)}, nil
}

func (a *API) logout(ctx context.Context, caller principal.Principal, _ *none) (*none, error) {
	return nil, a.Auth.RevokeSession(ctx, caller, caller.SessionID)
}

type meOutput struct {
	Body struct {
		User          UserBody           `json:"user"`
		Organizations []OrganizationBody `json:"organizations" nullable:"false"`
		SessionID     string             `json:"sessionId" format:"uuid"`
	}
}

func (a *API) me(ctx context.Context, caller principal.Principal, _ *none) (*meOutput, error) {
	user, err := a.Auth.Get(ctx, caller)
	if err != nil {
		return nil, err
	}
	mine, err := a.mine(ctx, caller)
	if err != nil {
		return nil, err
	}
	out := &meOutput{}
	out.Body.User, out.Body.Organizations, out.Body.SessionID = userBody(user), organizationBodies(mine),
		caller.SessionID
	return out, nil
}

// JWKBody is one public key (RFC 8037).
type JWKBody struct {
	KeyType   string `json:"kty" example:"OKP"`
	Curve     string `json:"crv" example:"Ed25519"`
	X         string `json:"x" doc:"The public key, base64url."`
	KeyID     string `json:"kid"`
	Use       string `json:"use" example:"sig"`
	Algorithm string `json:"alg" example:"EdDSA"`
}

type jwksOutput struct {
	Body struct {
		Keys []JWKBody `json:"keys" nullable:"false"`
	}
}

func (a *API) jwks(ctx context.Context, _ principal.Principal, _ *none) (*jwksOutput, error) {
	keys, err := a.Auth.PublicKeys(ctx)
	if err != nil {
		return nil, err
	}
	out := &jwksOutput{}
	for _, key := range keys {
		out.Body.Keys = append(out.Body.Keys, jwk(key.ID, key.Public))
	}
	return out, nil
}

func jwk(id string, public ed25519.PublicKey) JWKBody {
	return JWKBody{
		KeyType:   "OKP",
		Curve:     "Ed25519",
		X:         base64.RawURLEncoding.EncodeToString(public),
		KeyID:     id,
		Use:       "sig",
		Algorithm: "EdDSA",
	}
}
