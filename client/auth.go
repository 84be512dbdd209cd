package client

import (
	"context"
	"time"
)

// Status is the answer of the probes.
type Status struct {
	Status  string `json:"status"`
	Version string `json:"version"`
	// Telemetry is ok or down; of Ready alone.
	Telemetry string `json:"telemetry"`
}

// Health asks whether the process is alive.
func (c *Client) Health(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/health", nil)
}

// Ready asks whether requests can be served.
func (c *Client) Ready(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/ready", nil)
}

// User is an account.
type User struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Verified  bool      `json:"verified"`
	CreatedAt time.Time `json:"createdAt"`
}

// Registration is what a person gives to sign up.
type Registration struct {
	Email       string `json:"email"`
	Password    string `json:"password"`
	Name        string `json:"name,omitempty"`
	InviteToken string `json:"inviteToken,omitempty"`
}

// Register signs up; a code is mailed to the address. It also succeeds for an address that has an account, whose owner
// gets a mail.
func (c *Client) Register(ctx context.Context, r Registration) error {
	return c.do(ctx, "/auth/register", nil, r)
}

// VerifyOTP confirms an address with its code and the password it was
// registered with.
func (c *Client) VerifyOTP(ctx context.Context, email, code, password string) error {
	return c.do(ctx, "/auth/verify-otp", nil,
		map[string]string{"email": email, "code": code, "password": password})
}

// ResendOTP has a new code mailed.
func (c *Client) ResendOTP(ctx context.Context, email string) error {
	return c.do(ctx, "/auth/resend-otp", nil, map[string]string{"email": email})
}

// Tokens are the credentials of a session.
type Tokens struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken"`
	ExpiresIn    int    `json:"expiresIn"` // seconds
}

// SignIn is the answer to a login.
type SignIn struct {
	Tokens
	User          User           `json:"user"`
	Organizations []Organization `json:"organizations"`
	// SecondFactor is set in place of the rest where a second factor is awaited.
	SecondFactor struct {
		Challenge string `json:"challenge"`
	} `json:"secondFactor"`
}

// Login signs in. The client itself does not change: As is a client for the result.
func (c *Client) Login(ctx context.Context, email, password string) (SignIn, error) {
	return post[SignIn](ctx, c, "/auth/login", nil, map[string]string{
		"email": email, "password": password,
	})
}

// FinishLogin finishes a sign-in with a code of the second factor, or a recovery code.
func (c *Client) FinishLogin(ctx context.Context, challenge, code string) (SignIn, error) {
	return post[SignIn](ctx, c, "/auth/login/second-factor", nil, map[string]string{
		"challenge": challenge, "code": code,
	})
}

// As is a client of the same server for a person's access token.
func (c *Client) As(accessToken string) *Client {
	return &Client{BaseURL: c.BaseURL, HTTP: c.HTTP, UserAgent: c.UserAgent, AccessToken: accessToken}
}

// WithKey is a client of the same server for an API key.
func (c *Client) WithKey(apiKey string) *Client {
	return &Client{BaseURL: c.BaseURL, HTTP: c.HTTP, UserAgent: c.UserAgent, APIKey: apiKey}
}

// Refresh replaces a refresh token.
func (c *Client) Refresh(ctx context.Context, refreshToken string) (Tokens, error) {
	return post[Tokens](ctx, c, "/auth/refresh", nil, map[string]string{"refreshToken": refreshToken})
}

// Logout ends the caller's session.
func (c *Client) Logout(ctx context.Context) error {
	return c.do(ctx, "/auth/logout", nil, nil)
}

// Me is who is signed in.
type Me struct {
	User          User           `json:"user"`
	Organizations []Organization `json:"organizations"`
	SessionID     string         `json:"sessionId"`
	Operator      bool           `json:"operator"`
}

// Me reads who is signed in.
func (c *Client) Me(ctx context.Context) (Me, error) {
	return get[Me](ctx, c, "/auth/me", nil)
}

// ChangePassword changes the caller's password and ends their other sessions.
func (c *Client) ChangePassword(ctx context.Context, current, next string) error {
	return c.do(ctx, "/auth/change-password", nil,
		map[string]string{"currentPassword": current, "newPassword": next})
}

// ForgotPassword has a link mailed that sets a new password.
func (c *Client) ForgotPassword(ctx context.Context, email string) error {
	return c.do(ctx, "/auth/forgot-password", nil, map[string]string{"email": email})
}

// ResetPassword sets a new password with the token of that link.
func (c *Client) ResetPassword(ctx context.Context, token, next string) error {
	return c.do(ctx, "/auth/reset-password", nil,
		map[string]string{"token": token, "newPassword": next})
}

// Session is a sign-in of a person.
type Session struct {
	ID         string    `json:"id"`
	Address    string    `json:"address"`
	UserAgent  string    `json:"userAgent"`
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt time.Time `json:"lastUsedAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
	Current    bool      `json:"current"`
	// Keys end with it: those of its terminal.
	Keys []SessionKey `json:"keys"`
}

// SessionKey is the key of a terminal.
type SessionKey struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	OrganizationID string `json:"organizationId"`
}

// Sessions lists the sign-ins of the caller.
func (c *Client) Sessions(ctx context.Context) ([]Session, error) {
	return list[Session](ctx, c, "/auth/sessions", nil)
}

// RevokeSession ends one of the caller's sessions.
func (c *Client) RevokeSession(ctx context.Context, id string) error {
	return c.delete(ctx, "/auth/sessions/"+segment(id), nil)
}

// JWK is a key that verifies access tokens.
type JWK struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	KeyID     string `json:"kid"`
	Algorithm string `json:"alg"`
}

// JWKS lists the keys that verify access tokens.
func (c *Client) JWKS(ctx context.Context) ([]JWK, error) {
	out, err := get[struct{ Keys []JWK }](ctx, c, "/.well-known/jwks.json", nil)
	return out.Keys, err
}
