package federation

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"writ/internal/auth/oidc"
	"writ/internal/database"
	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// attempt is the state of a sign-in until the browser comes back.
type attempt struct {
	oidc.Attempt
	OrgID    string    `json:"org"` // empty: Google
	Issuer   string    `json:"issuer"`
	ClientID string    `json:"client"`
	LinkTo   string    `json:"link"`    // the account to link the identity to; empty: a sign-in
	Session  string    `json:"session"` // the session that asked to link
	Ends     time.Time `json:"ends"`
}

const attemptContext = "sign-in-attempt"

const maxCookie = 4096 // bytes; ours have about 1 kB

// Redirect is where the browser goes, and the cookie it keeps until it comes back.
type Redirect struct {
	URL    string
	Cookie secret.Text
	Life   time.Duration
}

// ByName finds the organization with an id or a slug.
func (s *Service) ByName(ctx context.Context, idOrSlug string) (orgID string, err error) {
	if database.IsID(idOrSlug) {
		return idOrSlug, nil // Begin checks that it has a provider
	}
	slug := strings.ToLower(strings.TrimSpace(idOrSlug))
	if !slugForm.MatchString(slug) {
		return "", noProvider()
	}
	p, err := findProvider(ctx, s.Database, `WHERE p.slug = $1`, slug)
	return p.OrgID, err
}

// ByAddress finds the organization that has proven the domain of an address, or a
// bare domain. Where two have, it finds neither.
func (s *Service) ByAddress(ctx context.Context, address string) (orgID string, err error) {
	domain := strings.ToLower(strings.TrimSpace(address))
	if strings.Contains(domain, "@") {
		if domain, err = email.Normalise(address); err != nil {
			return "", err
		}
		_, domain, _ = strings.Cut(domain, "@")
	}
	if !domainForm.MatchString(domain) {
		return "", noProvider()
	}
	owners, err := provenOwners(ctx, s.Database, domain)
	if err != nil {
		return "", err
	}
	if len(owners) != 1 {
		return "", noProvider()
	}
	return owners[0], nil
}

// Begin begins a sign-in with the provider of an organization, or with Google if the
// organization is empty.
func (s *Service) Begin(ctx context.Context, orgID string) (Redirect, error) {
	return s.begin(ctx, orgID, principal.Principal{})
}

// BeginLink begins to link an identity to the caller's account. It needs a session
// without a limit: a person whom one provider brought must not let in another.
func (s *Service) BeginLink(ctx context.Context, p principal.Principal, orgID string) (Redirect, error) {
	if p.Kind != principal.User || p.LimitedTo != "" {
		return Redirect{}, fault.New(fault.Forbidden, "sign in with your password to link an identity")
	}
	if orgID != "" {
		if _, err := s.Members.Role(ctx, s.Database, orgID, p.UserID); err != nil {
			return Redirect{}, err
		}
	}
	return s.begin(ctx, orgID, p)
}

// begin begins a sign-in, or a link for a caller who asked for one.
func (s *Service) begin(ctx context.Context, orgID string, caller principal.Principal) (Redirect, error) {
	_, party, err := s.find(ctx, orgID)
	if err != nil {
		return Redirect{}, err
	}
	a := attempt{
		Attempt:  oidc.NewAttempt(),
		OrgID:    orgID,
		Issuer:   party.Issuer,
		ClientID: party.ClientID,
		LinkTo:   caller.UserID,
		Session:  caller.SessionID,
		Ends:     s.Database.Now().Add(attemptLife),
	}
	address, err := s.party.Address(ctx, party, a.Attempt)
	if err != nil {
		return Redirect{}, err
	}
	plain, err := json.Marshal(a)
	if err != nil {
		return Redirect{}, fmt.Errorf("encode a sign-in: %w", err)
	}
	cookie := base64.RawURLEncoding.EncodeToString(s.Sealer.Seal(attemptContext, plain))
	return Redirect{URL: address, Cookie: secret.NewText(cookie), Life: attemptLife}, nil
}

// find gives a provider as it is stored and as package oidc knows it. Google has no
// domains, role or organization.
func (s *Service) find(ctx context.Context, orgID string) (Provider, oidc.Provider, error) {
	if orgID == "" {
		if s.Google.ClientID == "" {
			return Provider{}, oidc.Provider{}, noProvider()
		}
		return Provider{}, oidc.Provider{
			Issuer: s.Google.Issuer, ClientID: s.Google.ClientID, Secret: s.Google.Secret,
			RedirectURL: s.PublicURL + CallbackPath(""),
		}, nil
	}
	p, err := providerOf(ctx, s.Database, orgID)
	if err != nil {
		return Provider{}, oidc.Provider{}, err
	}
	party, err := s.relyingParty(p)
	return p, party, err
}

// openAttempt opens a browser's cookie. It must be of this provider and state, and
// not have expired.
func (s *Service) openAttempt(cookie, orgID, state string) (attempt, error) {
	stale := fault.New(fault.Unauthenticated,
		"this sign-in was not begun in this browser, or took too long; begin again")
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil || len(cookie) > maxCookie {
		return attempt{}, stale
	}
	plain, err := s.Sealer.Open(attemptContext, sealed)
	if err != nil {
		return attempt{}, stale
	}
	var a attempt
	if json.Unmarshal(plain, &a) != nil || a.OrgID != orgID ||
		!s.Database.Now().Before(a.Ends) || !secret.NewText(a.State).Equal(state) {
		return attempt{}, stale
	}
	return a, nil
}
