package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"net/netip"
	"net/url"
	"strings"

	"writ/internal/names"
	"writ/internal/secret"
)

// proxyPath is where the proxy is; below it each MCP server has an address of its own.
const proxyPath = "/proxy/mcp"

// wellKnown is where RFC 9728 looks for the description of a protected resource.
const wellKnown = "/.well-known/oauth-protected-resource"

func trimSlash(text string) string { return strings.TrimRight(text, "/") }

// Resource is the audience of tokens for one MCP server behind the proxy; empty: for the proxy with all of them.
func (s *Service) Resource(mcpID string) string { return s.issuer + resourcePath(mcpID) }

func resourcePath(mcpID string) string {
	if mcpID == "" {
		return proxyPath
	}
	return proxyPath + "/" + url.PathEscape(mcpID)
}

// readResource is the resource that a client names, as Resource writes it. Every server's name is accepted: which
// ones an organization has is nobody else's business.
func (s *Service) readResource(text string) (string, bool) {
	if len(text) > maxText {
		return "", false
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return "", false
	}
	own, err := url.Parse(s.issuer)
	if err != nil || !strings.EqualFold(u.Scheme, own.Scheme) || !sameHost(u, own) {
		return "", false
	}
	// Still escaped: a slash may be part of a server's name.
	path, isProxy := strings.CutPrefix(trimSlash(u.EscapedPath()), proxyPath)
	escaped, below := strings.CutPrefix(path, "/")
	if isProxy && path == "" {
		return s.Resource(""), true
	}
	id, err := url.PathUnescape(escaped)
	if !isProxy || !below || err != nil || strings.Contains(escaped, "/") || !IsServer(id) {
		return "", false
	}
	return s.Resource(id), true
}

// IsServer reports whether a text can name an MCP server in the path of the proxy.
func IsServer(id string) bool { return id != "" && id != "." && id != ".." && names.Valid(id) }

// sameHost compares hosts without the ports that schemes imply.
func sameHost(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		if p := u.Port(); p != "" {
			return p
		}
		return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// checkRedirect says what is wrong with a redirect URI that a client registers; empty: nothing. Only TLS and this
// machine itself are allowed, so that no script, file or other program's scheme is ever opened.
func checkRedirect(text string) string {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxText || err != nil || !isPrintable(text):
		return "must be a URL of at most 500 bytes"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "must have no fragment"
	case u.User != nil || u.Opaque != "" || u.Hostname() == "":
		return "must have a host, and no user name"
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return ""
	}
	return "must begin with https://, or with http:// and an address of the same machine"
}

func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' })
}

// isLoopback reports whether a host is the machine that asks.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// redirectAllowed reports whether a redirect URI is one of those registered, to the letter; only the port of a
// loopback address may differ, because a program takes the one that is free.
func redirectAllowed(registered []string, asked string) bool {
	if checkRedirect(asked) != "" {
		return false
	}
	for _, one := range registered {
		if one == asked || withoutPort(one) != "" && withoutPort(one) == withoutPort(asked) {
			return true
		}
	}
	return false
}

// withoutPort is a URI of this machine without its port; empty: it is another's.
func withoutPort(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || !isLoopback(u.Hostname()) {
		return ""
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	_, rest, _ := strings.Cut(text, "://")
	return host + strings.TrimPrefix(rest, u.Host)
}

// returnTo is a redirect URI with the answer to the client's request. It always names the issuer (RFC 9207).
func (s *Service) returnTo(redirectURI, state string, answer url.Values) string {
	u, err := url.Parse(redirectURI)
	if err != nil {
		return "" // it was checked before
	}
	query := u.Query()
	for name, values := range answer {
		query[name] = values
	}
	query.Set("iss", s.issuer)
	if state != "" {
		query.Set("state", state)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// challengeLength is that of a SHA-256 in base64url.
const challengeLength = 43

// isChallenge reports whether a text can be the challenge of PKCE with S256.
func isChallenge(text string) bool {
	sum, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(text) == challengeLength && len(sum) == sha256.Size
}

// verifies reports whether a verifier is the one of a challenge.
func verifies(verifier, challenge string) bool {
	if len(verifier) < 43 || len(verifier) > 128 || strings.Trim(verifier, verifierLetters) != "" {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return secret.SameHash([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge))
}

// verifierLetters are the characters of a verifier (RFC 7636).
const verifierLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
