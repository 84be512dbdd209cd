// Package oidc is a relying party of OpenID Connect: it sends a browser to an
// identity provider and reads what the provider says about the person who comes back.
//
// It knows no accounts and stores nothing. An Attempt holds the three secrets of one
// sign-in: the state ties the answer to the browser that began, the nonce ties the
// provider's token to the attempt, and the verifier (PKCE) makes a stolen code
// worthless.
//
// A provider is chosen by a user and may lie. The client that calls it reaches only
// public addresses, and limits size and time. A token is accepted only if a key of
// that issuer signed it, with a public-key algorithm, for our client, and it is
// current and has our nonce. All other tokens get the same answer; the reason is in
// the operator's log.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"writ/internal/fault"
	"writ/internal/secret"
)

const (
	maxSubject = 255              // bytes of a subject, as OpenID Connect defines it
	maxCode    = 4096             // bytes of a code
	callTime   = 15 * time.Second // for all calls of one step
)

// signatures are the algorithms a token may be signed with: public-key ones only,
// never a shared secret or "none".
var signatures = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.EdDSA,
}

// Provider is an identity provider and our registration with it.
type Provider struct {
	Issuer      string
	ClientID    string
	Secret      secret.Text
	RedirectURL string // ours, to which it sends browsers back
}

// Attempt is the secrets of one sign-in.
type Attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// NewAttempt makes the secrets of a new sign-in.
func NewAttempt() Attempt {
	return Attempt{
		State: secret.Token("").Reveal(), Nonce: secret.Token("").Reveal(), Verifier: oauth2.GenerateVerifier(),
	}
}

// Claims are what a provider says about a person.
type Claims struct {
	Issuer        string
	Subject       string
	Email         string // empty: the provider does not say
	Name          string
	EmailVerified *bool // nil: the provider does not say
}

// RelyingParty talks to providers.
type RelyingParty struct {
	client *http.Client
	now    func() time.Time
}

// New makes a RelyingParty that calls providers with client.
func New(client *http.Client, now func() time.Time) *RelyingParty {
	return &RelyingParty{client: client, now: now}
}

// Check fetches the provider's description and its keys, as a sign-in would.
func (r *RelyingParty) Check(ctx context.Context, p Provider) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, keys, err := r.discover(ctx, p)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, keys, nil)
	if err != nil {
		return unusable(err)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return unusable(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return unusable(fmt.Errorf("its keys: status %d", response.StatusCode))
	}
	return nil
}

// Address is the URL at which the browser signs in.
func (r *RelyingParty) Address(ctx context.Context, p Provider, a Attempt) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	found, _, err := r.discover(ctx, p)
	if err != nil {
		return "", err
	}
	return settings(found, p).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Redeem exchanges the code that a browser brought back for the claims about the
// person.
func (r *RelyingParty) Redeem(ctx context.Context, p Provider, a Attempt, code string) (Claims, error) {
	if code == "" || len(code) > maxCode {
		return Claims{}, fault.Field("code", "must have 1 to %d characters", maxCode)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	found, _, err := r.discover(ctx, p)
	if err != nil {
		return Claims{}, err
	}
	ctx = oidc.ClientContext(ctx, r.client)
	tokens, err := settings(found, p).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return Claims{}, exchangeFailed(err)
	}
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return Claims{}, refused(errors.New("there is no identity token"))
	}
	verifier := found.VerifierContext(ctx, &oidc.Config{
		ClientID: p.ClientID, SupportedSigningAlgs: signatures, Now: r.now,
	})
	token, err := verifier.Verify(ctx, raw)
	if err != nil {
		return Claims{}, refused(err)
	}
	return read(token, p, a)
}

// read gives the claims of a verified token, if it was made for this attempt.
func read(token *oidc.IDToken, p Provider, a Attempt) (Claims, error) {
	var more struct {
		Email         string `json:"email"`
		EmailVerified any    `json:"email_verified"`
		Name          string `json:"name"`
		Party         string `json:"azp"`
	}
	if err := token.Claims(&more); err != nil {
		return Claims{}, refused(err)
	}
	switch {
	case a.Nonce == "" || !secret.NewText(a.Nonce).Equal(token.Nonce):
		return Claims{}, refused(errors.New("the nonce is wrong"))
	case token.Subject == "" || len(token.Subject) > maxSubject || strings.ContainsFunc(token.Subject, isBroken):
		return Claims{}, refused(errors.New("the subject is missing, too long or unreadable"))
	case more.Party != "" && more.Party != p.ClientID, len(token.Audience) > 1 && more.Party == "":
		return Claims{}, refused(errors.New("the token was made for another party"))
	}
	return Claims{
		Issuer:        token.Issuer,
		Subject:       token.Subject,
		Email:         more.Email,
		Name:          more.Name,
		EmailVerified: parseBool(more.EmailVerified),
	}, nil
}

// isBroken finds characters that no database stores, and the one the decoder puts in
// place of invalid bytes: two subjects that differ only in those would become one.
func isBroken(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }

// parseBool reads a boolean, which some providers write as a string.
func parseBool(value any) *bool {
	text := fmt.Sprint(value)
	if text != "true" && text != "false" {
		return nil
	}
	is := text == "true"
	return &is
}

// discover fetches the provider's description, and gives the URL of its keys beside
// it. The library refuses a description of another issuer.
func (r *RelyingParty) discover(ctx context.Context, p Provider) (found *oidc.Provider, keys string, err error) {
	if found, err = oidc.NewProvider(oidc.ClientContext(ctx, r.client), p.Issuer); err != nil {
		return nil, "", unusable(err)
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := found.Claims(&document); err != nil {
		return nil, "", unusable(err)
	}
	// The browser goes to the first, our secret to the second, and whoever controls
	// the third can sign in as anybody.
	for _, address := range []string{found.Endpoint().AuthURL, found.Endpoint().TokenURL, document.Keys} {
		if !isSafe(address, p.Issuer) {
			return nil, "", unusable(errors.New("one of its URLs is no web address, or lacks the TLS its issuer has"))
		}
	}
	return found, document.Keys, nil
}

// isSafe reports whether an address is a web address, with TLS if the issuer has it.
// Issuers without TLS are those that the operator permits.
func isSafe(address, issuer string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(issuer, "http://")
}

func settings(found *oidc.Provider, p Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.Secret.Reveal(), RedirectURL: p.RedirectURL,
		Endpoint: found.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// Unusable is the code of the answer where a provider does not work: its message says all that a person can act on, and
// nothing was changed.
const Unusable = "identity_provider_unusable"

// unusable is the answer where a provider does not work. The cause is in the log.
func unusable(cause error) error {
	return fault.Wrap(cause, fault.Unavailable,
		"the identity provider cannot be reached, or does not speak OpenID Connect").Coded(Unusable)
}

// refused is the one answer to a token that is not accepted.
func refused(cause error) error {
	return fault.Wrap(cause, fault.Unauthenticated, "the identity provider's answer was not accepted; sign in again")
}

// exchangeFailed is the fault of a failed exchange. It leaves out the provider's own
// words, which may hold a token.
func exchangeFailed(err error) error {
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.Response != nil {
		return refused(fmt.Errorf("the exchange of the code: status %d", answer.Response.StatusCode))
	}
	return unusable(err)
}
