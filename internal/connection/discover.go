package connection

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"writ/internal/fault"
)

// authority is the authorization server of an MCP server, as both describe themselves.
type authority struct {
	resource    string
	issuer      string
	namesIssuer bool
	scope       string
	authorize   string
	register    string // empty: clients cannot register themselves
	place
}

// ping is asked without credentials, so that the server says whom to ask for some. It begins nothing.
const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// discover finds out whom a server trusts (RFC 9728) and how that is asked (RFC 8414). What a server sends is shown to
// nobody.
func (s *Service) discover(ctx context.Context, server string) (authority, error) {
	described, scope := s.describe(ctx, server)
	if described == nil || len(described.AuthorizationServers) == 0 {
		return authority{}, fault.New(fault.Conflict,
			"the MCP server does not say whom to ask for its consent (RFC 9728), or describes another address than its own")
	}
	if scope == "" {
		scope = strings.Join(described.ScopesSupported, " ")
	}
	issuer := described.AuthorizationServers[0]
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, s.Web)
	if err != nil || meta == nil {
		return authority{}, fault.New(fault.Conflict,
			"the authorization server of the MCP server does not describe itself as it must (RFC 8414, with PKCE)")
	}
	if !slices.Contains(meta.CodeChallengeMethodsSupported, "S256") {
		return authority{}, fault.New(fault.Conflict, "the authorization server of the MCP server does not know PKCE with S256")
	}
	a := authority{
		resource: described.Resource, issuer: meta.Issuer, authorize: meta.AuthorizationEndpoint,
		register: meta.RegistrationEndpoint,
	}
	a.namesIssuer, a.scope = meta.AuthorizationResponseIssParameterSupported, scope
	a.tokenURL, a.revocationURL = meta.TokenEndpoint, meta.RevocationEndpoint
	return a, s.checkAuthority(&a)
}

// checkAuthority refuses addresses that no secret may be sent to.
func (s *Service) checkAuthority(a *authority) error {
	for _, address := range []string{a.authorize, a.tokenURL} {
		if !s.isSafe(address) {
			return fault.New(fault.Conflict, "the authorization server of the MCP server has no address with https:// where "+
				"it must have one")
		}
	}
	if !s.isSafe(a.register) {
		a.register = ""
	}
	if !s.isSafe(a.revocationURL) {
		a.revocationURL = ""
	}
	if len(a.scope) > maxText || len(a.resource) > maxText || len(a.issuer) > maxText {
		return fault.New(fault.Conflict, "the authorization server of the MCP server describes itself too long")
	}
	return nil
}

// isSafe reports whether an address may be opened in a browser and get secrets.
func (s *Service) isSafe(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || len(address) > maxText {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && s.MayBePlain(address)
}

// describe reads what the server says of whom it trusts, and which scope it asks for; nil: nothing that fits.
func (s *Service) describe(ctx context.Context, server string) (*oauthex.ProtectedResourceMetadata, string) {
	at, err := url.Parse(server)
	if err != nil {
		return nil, ""
	}
	origin := at.Scheme + "://" + at.Host
	const known = "/.well-known/oauth-protected-resource"
	type document struct{ url, resource string }
	tries := []document{
		{origin + known + strings.TrimSuffix(at.Path, "/"), server}, {origin + known, origin}, {origin + known, server},
	}
	named, scope := s.challenge(ctx, server)
	if named != "" {
		tries = slices.Insert(tries, 0, document{named, server}, document{named, origin})
	}
	for _, try := range tries {
		if !s.isSafe(try.url) {
			continue
		}
		if found, err := oauthex.GetProtectedResourceMetadata(ctx, try.url, try.resource, s.Web); err == nil {
			return found, scope
		}
	}
	return nil, ""
}

// challenge asks the server without credentials, and reads where it sends its callers.
func (s *Service) challenge(ctx context.Context, server string) (metadata, scope string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(ping))
	if err != nil {
		return "", ""
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := s.Web.Do(request)
	if err != nil {
		return "", ""
	}
	_ = response.Body.Close() // its headers are what counts
	challenges, err := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return "", ""
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" {
			return c.Params["resource_metadata"], c.Params["scope"]
		}
	}
	return "", ""
}
