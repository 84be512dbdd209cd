package accounts

import (
	"context"
	"encoding/base64"
	"net/http"

	"writ/internal/api/organizations"
	"writ/internal/api/route"
	"writ/internal/auth"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

func (h *Handlers) mountLogin(r *route.Router) {
	route.HandleOutput(r, route.Post("/auth/login", "Sign in").For(route.Public).
		ThrottledGuesses(throttle.Login).Records("session.created"), h.login)
	route.HandleOutput(r, route.Post("/auth/login/second-factor",
		"Finish a sign-in with a code of the second factor, or a recovery code").For(route.Public).
		Throttled(throttle.FinishLogin).Records("session.created"), h.finishLogin)
	route.HandleOutput(r, route.Post("/auth/refresh", "Replace a refresh token; using one twice ends its session").
		For(route.Public).Unrecorded(), h.refresh)
	route.HandleOutput(r, route.Post("/auth/logout", "End this session").For(route.Session).LimitedToo().
		Records("session.revoked").Answers(http.StatusNoContent), h.logout)
	route.Handle(r, route.Get("/auth/me", "The caller's account").For(route.Person).LimitedToo(), h.me)
	route.Handle(r, route.Get("/.well-known/jwks.json", "Keys that verify access tokens").For(route.Public), h.jwks)
}

type loginInput struct {
	BrowserInput
	Body struct {
		Email    string `json:"email" maxLength:"254"`
		Password string `json:"password" maxLength:"1000"`
	}
}

func (in *loginInput) Account() string { return in.Body.Email }

// LoginBody is a new session with the account and its organizations; or, of an account with a second factor, the
// challenge alone.
type LoginBody struct {
	AccessToken   string                           `json:"accessToken,omitempty" doc:"Send as Authorization: Bearer."`
	RefreshToken  string                           `json:"refreshToken,omitempty" doc:"Exchange once at /auth/refresh. Absent if it is in a cookie."`
	ExpiresIn     int                              `json:"expiresIn,omitempty" doc:"Seconds until the access token expires." example:"900"`
	User          *UserBody                        `json:"user,omitempty"`
	Organizations []organizations.OrganizationBody `json:"organizations,omitzero" required:"false" nullable:"false"`
	SecondFactor  *ChallengeBody                   `json:"secondFactor,omitempty" doc:"Present in place of the rest if a second factor is awaited."`
}

// ChallengeBody is a sign-in whose second factor is awaited.
type ChallengeBody struct {
	Challenge string `json:"challenge" doc:"Send it with a code to /auth/login/second-factor."`
	ExpiresIn int    `json:"expiresIn" doc:"Seconds in which that must happen." example:"300"`
}

func (h *Handlers) login(
	ctx context.Context, _ principal.Principal, in *loginInput,
) (*sessionOutput[LoginBody], error) {
	device, err := in.device(ctx)
	if err != nil {
		return nil, err
	}
	user, tokens, err := h.Auth.Login(ctx, in.Body.Email, secret.NewText(in.Body.Password), device)
	if err != nil {
		return nil, err
	}
	if tokens.Challenge.IsSet() {
		awaited := &ChallengeBody{tokens.Challenge.Reveal(), int(auth.ChallengeLife.Seconds())}
		return &sessionOutput[LoginBody]{Body: LoginBody{SecondFactor: awaited}}, nil
	}
	mine, err := h.Organizations.ListForUser(ctx, user.ID)
	given, account := tokensBody(tokens, in.BrowserInput), userBody(user)
	return &sessionOutput[LoginBody]{h.sessionCookies(in.BrowserInput, tokens), LoginBody{
		AccessToken:   given.AccessToken,
		RefreshToken:  given.RefreshToken,
		ExpiresIn:     given.ExpiresIn,
		User:          &account,
		Organizations: organizations.Bodies(mine),
	}}, err
}

type finishLoginInput struct {
	BrowserInput
	Body struct {
		Challenge string `json:"challenge" minLength:"1" maxLength:"200"`
		Code      string `json:"code" minLength:"6" maxLength:"50" example:"123456"`
	}
}

func (in *finishLoginInput) Account() string { return in.Body.Challenge }

func (h *Handlers) finishLogin(
	ctx context.Context, _ principal.Principal, in *finishLoginInput,
) (*sessionOutput[SignedInBody], error) {
	device, err := in.device(ctx)
	if err != nil {
		return nil, err
	}
	user, tokens, err := h.Auth.FinishLogin(ctx, secret.NewText(in.Body.Challenge), in.Body.Code, device)
	if err != nil {
		return nil, err
	}
	body, err := h.signedIn(ctx, user, tokens, "", in.BrowserInput)
	return &sessionOutput[SignedInBody]{h.sessionCookies(in.BrowserInput, tokens), body}, err
}

type refreshInput struct {
	CookieInput
	Body struct {
		RefreshToken string `json:"refreshToken,omitempty" minLength:"1" maxLength:"200" doc:"Required unless it is in a cookie."`
	}
}

func (h *Handlers) refresh(
	ctx context.Context, _ principal.Principal, in *refreshInput,
) (*sessionOutput[TokensBody], error) {
	if _, err := in.device(ctx); err != nil {
		return nil, err
	}
	var token string
	switch {
	case in.cookie():
		token = h.tokenOf(in.CookieInput)
	case in.Body.RefreshToken == "":
		return nil, fault.Field("refreshToken", "is required")
	default:
		token = in.Body.RefreshToken
	}
	tokens, err := h.Auth.Refresh(ctx, secret.NewText(token), in.cookie())
	if err != nil {
		return nil, err
	}
	body := tokensBody(tokens, in.BrowserInput)
	return &sessionOutput[TokensBody]{h.sessionCookies(in.BrowserInput, tokens), body}, nil
}

type logoutOutput struct {
	Cookies []string `header:"Set-Cookie"`
}

// logout ends the session of the access token, or of the cookie: a page must be able to sign out when its access token
// has expired.
func (h *Handlers) logout(ctx context.Context, caller principal.Principal, in *CookieInput) (*logoutOutput, error) {
	if _, err := in.device(ctx); err != nil {
		return nil, err
	}
	var err error
	if caller.Kind == principal.User {
		err = h.Auth.RevokeSession(ctx, caller, caller.SessionID)
	} else {
		err = h.Auth.SignOut(ctx, secret.NewText(h.tokenOf(*in)))
	}
	if err != nil {
		return nil, err
	}
	return &logoutOutput{h.sessionCookies(in.BrowserInput, auth.Tokens{})}, nil
}

// MeBody is the person who is signed in.
type MeBody struct {
	User          UserBody                         `json:"user"`
	Organizations []organizations.OrganizationBody `json:"organizations" nullable:"false"`
	SessionID     string                           `json:"sessionId" format:"uuid"`
	Operator      bool                             `json:"operator" doc:"Whether the caller runs this installation. It gives no right in any organization."`
}

func (h *Handlers) me(ctx context.Context, caller principal.Principal, _ *route.None) (MeBody, error) {
	user, err := h.Auth.Get(ctx, caller)
	if err != nil {
		return MeBody{}, err
	}
	mine, err := h.Gate.Mine(ctx, caller)
	if err != nil {
		return MeBody{}, err
	}
	operates, err := h.Gate.Operates(ctx, caller)
	return MeBody{userBody(user), organizations.Bodies(mine), caller.SessionID, operates}, err
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

// JWKSBody is a set of public keys.
type JWKSBody struct {
	Keys []JWKBody `json:"keys" nullable:"false"`
}

func (h *Handlers) jwks(ctx context.Context, _ principal.Principal, _ *route.None) (JWKSBody, error) {
	keys, err := h.Auth.PublicKeys(ctx)
	out := JWKSBody{}
	for _, key := range keys {
		out.Keys = append(out.Keys, JWKBody{
			KeyType:   "OKP",
			Curve:     "Ed25519",
			X:         base64.RawURLEncoding.EncodeToString(key.Public),
			KeyID:     key.ID,
			Use:       "sig",
			Algorithm: "EdDSA",
		})
	}
	return out, err
}
