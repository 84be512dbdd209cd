package federation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"encoding/base64"

	"writ/internal/auth/oidc"
	"writ/internal/database"
	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// attempt is what is remembered of a sign-in until the browser comes back.
type attempt struct {
	oidc.Attempt
	OrgID    string    `json:"org"` // empty: Google
	Issuer   string    `json:"issuer"`
	ClientID string    `json:"client"`
	LinkTo   string    `json:"link"`    // the account whose owner asked to link; empty: a sign-in
	Session  string    `json:"session"` // in which they asked
	Ends     time.Time `json:"ends"`
}

const attemptContext = "sign-in-attempt"

// maxCookie bounds what is opened; ours have about 1 kB.
const maxCookie = 4096

// Departure is where a browser goes, and what it keeps until it comes back.
type Departure struct {
	URL    string
	Cookie secret.Text
	Life   time.Duration
}

// ByName finds the organization whose provider a person names by the id or the
// slug of the organization.
func (s *Service) ByName(ctx context.Context, idOrSlug string) (orgID string, err error) {
	if database.IsID(idOrSlug) {
		return idOrSlug, nil // Depart finds whether there is one
	}
	slug := strings.ToLower(strings.TrimSpace(idOrSlug))
	if !slugForm.MatchString(slug) {
		return "", notThere()
	}
	p, err := findProvider(ctx, s.Database, `WHERE p.slug = $1`, slug)
	return p.OrgID, err
}

// ByAddress finds the organization that has proven the domain of an address, or
// of a bare domain. Where two have, neither is right.
func (s *Service) ByAddress(ctx context.Context, address string) (orgID string, err error) {
	domain := strings.ToLower(strings.TrimSpace(address))
	if strings.Contains(domain, "@") {
		if domain, err = email.Normalise(address); err != nil {
			return "", err
		}
		_, domain, _ = strings.Cut(domain, "@")
	}
	if !domainForm.MatchString(domain) {
		return "", notThere()
	}
	owners, err := provenOwners(ctx, s.Database, domain)
	if err != nil {
		return "", err
	}
	if len(owners) != 1 {
		return "", notThere()
	}
	return owners[0], nil
}

// Depart begins a sign-in with the provider of an organization, or with Google if
// there is none.
func (s *Service) Depart(ctx context.Context, orgID string) (Departure, error) {
	return s.depart(ctx, orgID, principal.Principal{})
}

// DepartToLink begins to link an identity to the caller's account. It takes a
// session without a limit: who came through one provider must not let another in.
func (s *Service) DepartToLink(ctx context.Context, p principal.Principal, orgID string) (Departure, error) {
	if p.Kind != principal.User || p.LimitedTo != "" {
		return Departure{}, fault.New(fault.Forbidden, "sign in with your password to link an identity")
	}
	if orgID != "" {
		if _, err := s.Members.Role(ctx, s.Database, orgID, p.UserID); err != nil {
			return Departure{}, err
		}
	}
	return s.depart(ctx, orgID, p)
}

// depart begins a sign-in, or to link where somebody asked for that.
func (s *Service) depart(ctx context.Context, orgID string, asked principal.Principal) (Departure, error) {
	_, party, err := s.find(ctx, orgID)
	if err != nil {
		return Departure{}, err
	}
	a := attempt{
		Attempt: oidc.NewAttempt(), OrgID: orgID, Issuer: party.Issuer, ClientID: party.ClientID,
		LinkTo: asked.UserID, Session: asked.SessionID, Ends: s.Database.Now().Add(attemptLife),
	}
	address, err := s.party.Address(ctx, party, a.Attempt)
	if err != nil {
		return Departure{}, err
	}
	plain, err := json.Marshal(a)
	if err != nil {
		return Departure{}, fmt.Errorf("keep a sign-in: %w", err)
	}
	cookie := base64.RawURLEncoding.EncodeToString(s.Sealer.Seal(attemptContext, plain))
	return Departure{URL: address, Cookie: secret.NewText(cookie), Life: attemptLife}, nil
}

// find gives a provider in both its forms. Google has no domains, no role and no
// organization.
func (s *Service) find(ctx context.Context, orgID string) (Provider, oidc.Provider, error) {
	if orgID == "" {
		if s.Google.ClientID == "" {
			return Provider{}, oidc.Provider{}, notThere()
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
	party, err := s.partyOf(p)
	return p, party, err
}

// reopen reads what a browser kept. It must be of this provider, in time, and for
// the answer that came with it.
func (s *Service) reopen(cookie, orgID, state string) (attempt, error) {
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
	if err := json.Unmarshal(plain, &a); err != nil {
		return attempt{}, stale
	}
	if a.OrgID != orgID || !s.Database.Now().Before(a.Ends) || !secret.NewText(a.State).Equal(state) {
		return attempt{}, stale
	}
	return a, nil
}
