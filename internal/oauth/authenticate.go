package oauth

import (
	"context"
	"strings"
	"time"

	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Granted is what a valid access token gives.
type Granted struct {
	Caller    principal.Principal // the hidden key of the consent: decisions are about it
	AgentID   string              // the agent that the client acts as, whatever it says itself
	ConsentID string
	ClientID  string
	ExpiresAt time.Time // of the token
}

// IsAccessToken reports whether a bearer token has the form of an access token of this package, so that a caller
// who accepts others too knows whom to ask.
func IsAccessToken(text string) bool { return strings.HasPrefix(text, accessPrefix) }

// refusedToken is the one answer to an access token that does not work.
func refusedToken() error {
	return fault.New(fault.Unauthenticated, "the access token is not valid here, or has ended")
}

// Authenticate gives what an access token permits at the address of one MCP server behind the proxy; empty: at that
// of all. The token must be for exactly that address. What ends the consent, its key, its owner or its agent ends the
// token: at once, but within a second where the organization's log does not tell of it. A token that does not work is
// Unauthenticated: answer with Challenge. One whose agent is stopped or suspended is Forbidden: asking the person
// again would not help.
func (s *Service) Authenticate(ctx context.Context, text, mcpID string) (Granted, error) {
	if !IsAccessToken(text) || len(text) > maxText {
		return Granted{}, refusedToken()
	}
	t, err := findToken(ctx, s.db.Prepared(), secret.Hash(text), access)
	if err != nil {
		return Granted{}, err
	}
	now := s.db.Now()
	if !now.Before(t.expiresAt) || !t.Live(now) || t.Resource != s.Resource(mcpID) {
		return Granted{}, refusedToken()
	}
	caller, known := s.cache.get(t.ID, t.version, now)
	if !known {
		if caller, err = s.callerOf(ctx, t.Consent); err != nil {
			return Granted{}, err
		}
		s.cache.put(t.ID, trusted{caller, t.version, now})
	}
	return Granted{
		Caller:    caller,
		AgentID:   t.AgentID,
		ConsentID: t.ID,
		ClientID:  t.ClientID,
		ExpiresAt: t.expiresAt,
	}, nil
}

// callerOf is the hidden key of a consent, if it and its agent may act.
func (s *Service) callerOf(ctx context.Context, c Consent) (principal.Principal, error) {
	caller, err := s.sources.Holder(ctx, c.KeyID)
	if fault.Is(err, fault.Unauthenticated) {
		return principal.Principal{}, refusedToken()
	}
	if err != nil {
		return principal.Principal{}, err
	}
	if caller.OrgID != c.OrgID || caller.UserID != c.UserID {
		return principal.Principal{}, refusedToken()
	}
	standing, err := s.sources.Standing(ctx, caller, c.AgentID)
	switch {
	case err != nil:
		return principal.Principal{}, err
	case standing.Stopped:
		return principal.Principal{}, fault.New(fault.Forbidden, "a person has stopped this agent")
	case !standing.Bound:
		return principal.Principal{}, refusedToken() // a person has taken the agent from the client
	}
	return caller, nil
}

// Challenge is the WWW-Authenticate of a 401 at the address of one MCP server behind the proxy; empty: at that of
// all. It tells the client where to ask (RFC 9728). presented says whether the request had a token, which did not
// work.
func (s *Service) Challenge(mcpID string, presented bool) string {
	metadata := s.issuer + wellKnown + resourcePath(mcpID)
	challenge := `Bearer resource_metadata="` + metadata + `", scope="` + Scope + `"`
	if presented {
		challenge += `, error="invalid_token", error_description="the access token is not valid here, or has ended"`
	}
	return challenge
}
