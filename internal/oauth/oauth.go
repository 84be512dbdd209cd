// Package oauth makes Writ the authorization server of its own proxy (OAuth 2.1).
//
// A client that speaks MCP learns from a 401 where to ask, registers itself (RFC 7591) or
// names a document that describes it, and sends a person to the consent page. The person
// lets it act as one registered agent of one organization, at one address of the proxy.
// That consent makes a hidden API key, owned by the person and bound to the agent: every
// decision about the client's calls is one about that key, and whatever ends the key ends
// the client's tokens. Nobody ever has the key's secret.
//
// What holds against attackers:
//
//   - A client proves with PKCE (S256 only) that the code it exchanges is the one it asked
//     for. All clients are public: they have no secret.
//   - A redirect URI is one that the client registered, to the letter; only the port of a
//     loopback address may differ (RFC 8252).
//   - A token is good for one resource (RFC 8707), which the client names twice.
//   - The answer names its issuer (RFC 9207), so that a client of several servers does not
//     send the code of one to another.
//   - A code works once, for a minute. A refresh token works once. A second use of either
//     ends the consent: one of the two who had it is not the client.
//   - Codes and tokens are stored as hashes.
//   - No browser is sent to a client's address before a person has signed in and answered:
//     anyone may register an address.
//
// The consent page is part of the dashboard. It sends the query string of the client's
// request along with the person's answer, and everything is checked again here: nothing is
// stored of a request that nobody has answered.
//
// This package knows no HTTP. It reaches the areas of keys, agents and accounts through
// Sources.
package oauth

import (
	"context"
	"errors"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Lifetimes.
const (
	AccessLife  = 10 * time.Minute
	RefreshLife = 30 * 24 * time.Hour // of a refresh token that is not used
	ConsentLife = 90 * 24 * time.Hour // then a person is asked again
	codeLife    = time.Minute
	// reuseMemory is how long used codes and refresh tokens are kept, so that a second use is noticed.
	reuseMemory = 7 * 24 * time.Hour
)

// Limits.
const (
	maxQuery    = 8 << 10 // bytes of a client's request
	maxState    = 2 << 10
	maxText     = 500 // bytes of a URL or of a secret that a client sends
	maxName     = 80  // characters of a client's name
	maxURIs     = 10  // redirect URIs of a client
	maxDocument = 16 << 10
	maxUnused   = 10_000 // clients that nobody has consented to; beyond it the oldest is forgotten
	maxConsents = 100    // live ones of a person in an organization
)

// Scope is the one scope of tokens.
const Scope = "mcp"

// What the audit log says of consents.
const (
	given         = "consent.given"
	collected     = "consent.collected" // the client came for its first tokens
	denied        = "consent.denied"
	ended         = "consent.ended"
	reuseDetected = "consent.reuse_detected"
)

// Standing is what the registry says of an agent that a client acts as. The zero value may not act.
type Standing struct {
	Bound   bool // the key is bound to the agent, and its owner may still give the agent's name away
	Stopped bool // by the kill switch, or suspended
}

// Sources are what consents need of other areas.
type Sources struct {
	// Live refuses a person whose session has ended.
	Live func(ctx context.Context, tx *database.Tx, p principal.Principal) error
	// AddKey makes a hidden key in the person's organization, and EndKey revokes it.
	AddKey func(ctx context.Context, tx *database.Tx, p principal.Principal, k NewKey) (keyID string, err error)
	EndKey func(ctx context.Context, tx *database.Tx, by principal.Principal, orgID, keyID string) error
	// Bind binds the key to an agent, if the person may, and Unbind takes it away again.
	Bind   func(ctx context.Context, tx *database.Tx, p principal.Principal, agentID, keyID string) error
	Unbind func(ctx context.Context, tx *database.Tx, by principal.Principal, orgID, agentID, keyID string) error
	// Holder is the caller that a hidden key stands for, or an Unauthenticated fault if the key has ended.
	Holder func(ctx context.Context, keyID string) (principal.Principal, error)
	// Standing is what the registry says now of the agent that a hidden key acts as.
	Standing func(ctx context.Context, key principal.Principal, agentID string) (Standing, error)
	// Fetch reads a client's document, of at most so many bytes, from an address that anyone may have named.
	Fetch func(ctx context.Context, url string, most int64) ([]byte, error)
	// MayBePlain reports whether the operator lets a document be read without TLS.
	MayBePlain func(url string) bool
}

// NewKey describes a hidden key.
type NewKey struct {
	Name      string
	AgentID   string // that it will act as
	ExpiresAt time.Time
}

// Service gives and checks tokens.
type Service struct {
	db      *database.DB
	log     *audit.Log
	issuer  string // the server's public URL, without a slash at its end
	sources Sources
	cache   *cache
}

// New makes a Service. It starts nothing: the app calls Sweep.
func New(db *database.DB, log *audit.Log, publicURL string, sources Sources) *Service {
	s := &Service{db: db, log: log, issuer: trimSlash(publicURL), sources: sources}
	s.cache = newCache()
	return s
}

// Issuer names this server as OAuth does.
func (s *Service) Issuer() string { return s.issuer }

func (s *Service) write(
	ctx context.Context, log string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{log}, Do: do})
}

// Refusal is an error that OAuth has a code for.
type Refusal struct {
	Code        string
	Description string
	// ReturnTo is where a browser takes the refusal to the client; empty: the client's address is not trusted.
	ReturnTo string
}

// Error is the description.
func (r *Refusal) Error() string { return r.Description }

// Unwrap is the fault that sets the status.
func (r *Refusal) Unwrap() error {
	kind := fault.Invalid
	if r.Code == InvalidClient {
		kind = fault.Unauthenticated
	}
	return fault.New(kind, "%s", r.Description)
}

// The codes of refusals.
const (
	InvalidRequest  = "invalid_request"
	InvalidClient   = "invalid_client"
	InvalidGrant    = "invalid_grant"
	InvalidTarget   = "invalid_target" // RFC 8707: the resource
	InvalidMetadata = "invalid_client_metadata"
	InvalidRedirect = "invalid_redirect_uri"
	AccessDenied    = "access_denied"

	UnsupportedGrant    = "unsupported_grant_type"
	UnsupportedResponse = "unsupported_response_type"
)

func refuse(code, description string) *Refusal { return &Refusal{Code: code, Description: description} }

// RefusalOf is the refusal that an error holds; nil: it holds none.
func RefusalOf(err error) *Refusal {
	r, _ := errors.AsType[*Refusal](err)
	return r
}
