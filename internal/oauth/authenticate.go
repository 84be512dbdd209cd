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
// of all. The token must be for exactly that address. The consent, its key, its owner and its agent are read anew
// each time: what ends one of them ends the token. A token that does not work is Unauthenticated: answer with
// Challenge. One whose agent is stopped or suspended is Forbidden: asking the person again would not help.
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
	caller, err := s.sources.Holder(ctx, t.KeyID)
	if fault.Is(err, fault.Unauthenticated) {
		return Granted{}, refusedToken()
	}
	if err != nil {
		return Granted{}, err
	}
	if caller.OrgID != t.OrgID || caller.UserID != t.UserID {
		return Granted{}, refusedToken()
	}
	standing, err := s.sources.Standing(ctx, t.OrgID, t.AgentID, t.KeyID)
	switch {
	case err != nil:
		return Granted{}, err
	case standing.Stopped:
		return Granted{}, fault.New(fault.Forbidden, "a person has stopped this agent")
	case !standing.Bound:
		return Granted{}, refusedToken() // a person has taken the agent from the client
	}
	return Granted{
		Caller:    caller,
		AgentID:   t.AgentID,
		ConsentID: t.ID,
		ClientID:  t.ClientID,
		ExpiresAt: t.expiresAt,
	}, nil
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
