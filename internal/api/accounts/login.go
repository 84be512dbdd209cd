package accounts

import (
	"context"
	"encoding/base64"
	"net/http"

	"writ/internal/api/organizations"
	"writ/internal/api/route"
	"writ/internal/auth"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

func (h *Handlers) mountLogin(r *route.Router) {
	route.Handle(r, route.Post("/auth/login", "Sign in").For(route.Public).
		Throttled(throttle.Login).Records("session.created"), h.login)
	route.Handle(r, route.Post("/auth/refresh", "Replace a refresh token; using one twice ends its session").
		For(route.Public).Unrecorded(), h.refresh)
	route.Handle(r, route.Post("/auth/logout", "End this session").For(route.Person).LimitedToo().
		Records("session.revoked").Answers(http.StatusNoContent), h.logout)
	route.Handle(r, route.Get("/auth/me", "The caller's account").For(route.Person).LimitedToo(), h.me)
	route.Handle(r, route.Get("/.well-known/jwks.json", "Keys that verify access tokens").For(route.Public), h.jwks)
}

type loginInput struct {
	Body struct {
		Email    string `json:"email" maxLength:"254"`
		Password string `json:"password" maxLength:"1000"`
	}
}

func (in *loginInput) Account() string { return in.Body.Email }

// LoginBody is a new session with the account and its organizations.
type LoginBody struct {
	TokensBody
	User          UserBody                         `json:"user"`
	Organizations []organizations.OrganizationBody `json:"organizations" nullable:"false"`
}

func (h *Handlers) login(ctx context.Context, _ principal.Principal, in *loginInput) (LoginBody, error) {
	user, tokens, err := h.Auth.Login(ctx, in.Body.Email, secret.NewText(in.Body.Password), deviceOf(ctx))
	if err != nil {
		return LoginBody{}, err
	}
	mine, err := h.Organizations.ListForUser(ctx, user.ID)
	return LoginBody{tokensBody(tokens), userBody(user), organizations.Bodies(mine)}, err
}

// deviceOf is the address and browser of a request.
func deviceOf(ctx context.Context) auth.Device {
	request := route.RequestOf(ctx)
	return auth.Device{Address: request.Address.String(), UserAgent: request.Agent}
}

type refreshInput struct {
	Body struct {
		RefreshToken string `json:"refreshToken" minLength:"1" maxLength:"200"`
	}
}

func (h *Handlers) refresh(ctx context.Context, _ principal.Principal, in *refreshInput) (TokensBody, error) {
	tokens, err := h.Auth.Refresh(ctx, secret.NewText(in.Body.RefreshToken))
	return tokensBody(tokens), err
}

func (h *Handlers) logout(ctx context.Context, caller principal.Principal, _ *route.None) (route.None, error) {
	return route.None{}, h.Auth.RevokeSession(ctx, caller, caller.SessionID)
}

// MeBody is the person who is signed in.
type MeBody struct {
	User          UserBody                         `json:"user"`
	Organizations []organizations.OrganizationBody `json:"organizations" nullable:"false"`
	SessionID     string                           `json:"sessionId" format:"uuid"`
}

func (h *Handlers) me(ctx context.Context, caller principal.Principal, _ *route.None) (MeBody, error) {
	user, err := h.Auth.Get(ctx, caller)
	if err != nil {
		return MeBody{}, err
	}
	mine, err := h.Gate.Mine(ctx, caller)
	return MeBody{userBody(user), organizations.Bodies(mine), caller.SessionID}, err
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
