// Package oidc is the relying party of OpenID Connect: it sends a browser to an
// identity provider and reads what the provider says of who came back.
//
// It knows nothing of accounts and stores nothing. An Attempt holds the three
// secrets of one sign-in: the state ties the answer to the browser that began, the
// nonce ties the provider's token to the attempt, and the verifier (PKCE) makes a
// code worthless to whoever else gets hold of it.
//
// A provider is chosen by a user and may lie. Its documents are fetched by a
// client that calls public addresses alone, reads so much and waits so long. A
// token counts only if it is signed by a key of the issuer that was asked, with a
// public-key algorithm, for our client, in time, and with our nonce. Everything
// else is refused in one voice; why is for the operator's log.
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

// Limits of what a provider tells and of what is taken from a browser.
const (
	maxSubject = 255 // bytes, by the specification of OpenID Connect
	maxCode    = 4096
	callTime   = 15 * time.Second // all calls of one step together
)

// signatures are the algorithms a token may be signed with. None of them has a
// secret that both sides know, and "none" is none of them.
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

// NewAttempt makes one.
func NewAttempt() Attempt {
	return Attempt{
		State: secret.Token("").Reveal(), Nonce: secret.Token("").Reveal(), Verifier: oauth2.GenerateVerifier(),
	}
}

// Claims are what a provider says of a person.
type Claims struct {
	Issuer  string
	Subject string
	Email   string // empty: it does not say
	Name    string
	// EmailVerified is nil where the provider does not say.
	EmailVerified *bool
}

// RelyingParty speaks with providers.
type RelyingParty struct {
	client *http.Client
	now    func() time.Time
}

// New makes a relying party that calls providers with client.
func New(client *http.Client, now func() time.Time) *RelyingParty {
	return &RelyingParty{client: client, now: now}
}

// Check reads the provider's description and its keys, as a sign-in would.
func (r *RelyingParty) Check(ctx context.Context, p Provider) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	found, err := r.discover(ctx, p)
	if err != nil {
		return err
	}
	keys, err := keysOf(found)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, keys, nil)
	if err != nil {
		return unusable(errors.New("it names no address of keys"))
	}
	response, err := r.client.Do(request)
	if err != nil {
		return unusable(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return unusable(fmt.Errorf("its keys were answered with status %d", response.StatusCode))
	}
	return nil
}

// Address is where the browser goes to sign in.
func (r *RelyingParty) Address(ctx context.Context, p Provider, a Attempt) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	found, err := r.discover(ctx, p)
	if err != nil {
		return "", err
	}
	return settings(found, p).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Redeem exchanges the code that a browser brought back for what the provider
// says of the person.
func (r *RelyingParty) Redeem(ctx context.Context, p Provider, a Attempt, code string) (Claims, error) {
	if code == "" || len(code) > maxCode {
		return Claims{}, fault.Field("code", "must have 1 to %d characters", maxCode)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	found, err := r.discover(ctx, p)
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
		return Claims{}, refused(errors.New("it gave no identity token"))
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

// read takes from a token that is the provider's what it says, if it was made for
// this attempt.
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
		return Claims{}, refused(errors.New("the nonce is not the attempt's"))
	case token.Subject == "" || len(token.Subject) > maxSubject || strings.ContainsFunc(token.Subject, isBroken):
		return Claims{}, refused(errors.New("the subject is missing, too long or not readable"))
	case more.Party != "" && more.Party != p.ClientID, len(token.Audience) > 1 && more.Party == "":
		return Claims{}, refused(errors.New("the token was made for another party"))
	}
	return Claims{
		Issuer:        token.Issuer,
		Subject:       token.Subject,
		Email:         more.Email,
		Name:          more.Name,
		EmailVerified: truth(more.EmailVerified),
	}, nil
}

// isBroken finds what no database keeps, and what the decoder puts in the place of
// bytes it cannot read: two people who differ in these alone would be one.
func isBroken(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }

// truth reads a yes or no, which some providers write as a text.
func truth(value any) *bool {
	word := fmt.Sprint(value)
	if word != "true" && word != "false" {
		return nil
	}
	yes := word == "true"
	return &yes
}

// discover reads the provider's description. The library refuses one that names
// another issuer than the one that was asked.
func (r *RelyingParty) discover(ctx context.Context, p Provider) (*oidc.Provider, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, r.client), p.Issuer)
	if err != nil {
		return nil, unusable(err)
	}
	keys, err := keysOf(found)
	if err != nil {
		return nil, err
	}
	// A browser is sent to the first, our secret to the second, and whoever can change
	// what the third says signs in as anybody.
	for _, address := range []string{found.Endpoint().AuthURL, found.Endpoint().TokenURL, keys} {
		if !isSafe(address, p.Issuer) {
			return nil, unusable(errors.New("an address it names is not one of the web, or does not use TLS as its issuer does"))
		}
	}
	return found, nil
}

// keysOf is where a provider's keys are.
func keysOf(found *oidc.Provider) (string, error) {
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := found.Claims(&document); err != nil {
		return "", unusable(err)
	}
	return document.Keys, nil
}

// isSafe reports whether an address is one of the web, with TLS where the issuer
// has it. An issuer without TLS is one that the operator permits.
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

// unusable says that a provider does not work; whoever set it up sees why in the
// log.
func unusable(cause error) error {
	return fault.Wrap(cause, fault.Unavailable,
		"the identity provider cannot be reached, or does not speak OpenID Connect")
}

// refused is the one answer to what a provider must not say.
func refused(cause error) error {
	return fault.Wrap(cause, fault.Unauthenticated, "the identity provider's answer was not accepted; sign in again")
}

// exchangeFailed sorts a failed exchange. The provider's own words are left out:
// they may hold a token.
func exchangeFailed(err error) error {
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.Response != nil {
		return refused(fmt.Errorf("the exchange of the code was answered with status %d", answer.Response.StatusCode))
	}
	return unusable(err)
}
