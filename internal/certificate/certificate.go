// Package certificate owns the certificates of agents and MCP servers, and the authorities that sign them.
//
// Each organization has an authority of its own. Its key is sealed, is made when it is first needed, and signs
// certificates, revocation lists, and the statement that binds a server's certificate to its pinned tools. A person
// replaces an authority; the one before is trusted until its overlap ends.
//
// A certificate counts if this server has stored it, it was not revoked, it has not expired, and its authority is
// trusted still. StandsFor and Authenticate say so, by the same rule as Check and the revocation list. All of it but
// the passing of time changes only with the generation of the organization's log, so that decisions may cache it.
//
// An authority whose key cannot be unsealed signs nothing. What it signed before is checked without that key.
package certificate

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/audit"
	"writ/internal/certificate/authority"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Limits of certificates.
const (
	DefaultLife = 24 * time.Hour
	MinLife     = 5 * time.Minute
	MaxLife     = 7 * 24 * time.Hour
	MaxLive     = 20                  // of one agent or server at a time
	maxRecent   = 200                 // that have not expired, with those that were revoked: lists must stay short
	keptFor     = 90 * 24 * time.Hour // after it has expired
	maxReason   = 500                 // characters
	// maxAuthorities bounds how many authorities of an organization are trusted at once.
	maxAuthorities = 10
)

// Status is what a certificate is worth.
type Status string

// The statuses. All but Good are worth nothing.
const (
	Good      Status = "good"
	Revoked   Status = "revoked"
	Expired   Status = "expired"
	NotYet    Status = "not_yet_valid"
	Untrusted Status = "untrusted" // its authority was replaced, and the overlap has ended
	Unknown   Status = "unknown"   // nobody here has signed it
)

// Certificate is a certificate that was signed here.
type Certificate struct {
	ID, OrgID   string
	AuthorityID string
	Serial      string
	Kind        authority.Kind
	Subject     string // the id of the agent or of the MCP server
	SPIFFEID    string
	DER         []byte
	Fingerprint string
	IssuedBy    string
	KeyID       string // the API key that asked for it; empty: a person did
	Replaces    string // the certificate that it replaces; empty: none
	CreatedAt   time.Time
	BeginsAt    time.Time
	ExpiresAt   time.Time
	RevokedAt   *time.Time
	RevokedBy   string
	Cause       authority.Cause
	Reason      string

	Definitions      string // of a server
	Statement        string // of a server
	StatementEndedAt *time.Time

	keyHash        string
	authorityUntil time.Time
}

// StatusAt is what the certificate is worth at a time.
func (c *Certificate) StatusAt(now time.Time) Status {
	switch {
	case c.RevokedAt != nil:
		return Revoked
	case now.Before(c.BeginsAt):
		return NotYet
	case !now.Before(c.ExpiresAt):
		return Expired
	case !now.Before(c.authorityUntil):
		return Untrusted
	}
	return Good
}

// StatementStands reports whether the statement about a server's tools holds at a time.
func (c *Certificate) StatementStands(now time.Time) bool {
	return c.Statement != "" && c.StatementEndedAt == nil && c.StatusAt(now) == Good
}

// PEM is the certificate as clients read it.
func (c *Certificate) PEM() string { return authority.PEM(authority.CertificateBlock, c.DER) }

// Authority is an authority of an organization.
type Authority struct {
	ID, OrgID    string
	Algorithm    authority.Algorithm
	DER          []byte
	CreatedAt    time.Time
	ExpiresAt    time.Time
	RetiredAt    *time.Time // nil: it signs
	TrustedUntil *time.Time // of a retired one

	sealed []byte
}

// Until is when what the authority signed stops to count.
func (a *Authority) Until() time.Time {
	if a.TrustedUntil != nil && a.TrustedUntil.Before(a.ExpiresAt) {
		return *a.TrustedUntil
	}
	return a.ExpiresAt
}

// PEM is the authority's certificate.
func (a *Authority) PEM() string { return authority.PEM(authority.CertificateBlock, a.DER) }

// Server is what must be known of an MCP server.
type Server struct {
	ID          string
	Definitions string // the hash of its pinned tools
	Problem     string // why nothing can be said of its tools; empty: it can
}

// Sources are what other areas know. They read with r, so that a change sees its own transaction.
type Sources struct {
	// Agent refuses an agent that is not registered and active. Unless keyID is empty, it must be that of a key that a
	// person has bound to the agent.
	Agent func(ctx context.Context, r database.Reader, orgID, agentID, keyID string) error
	// Server finds an approved MCP server by its id or name.
	Server func(ctx context.Context, r database.Reader, orgID, id string) (Server, error)
}

// Options are what the service needs.
type Options struct {
	Database  *database.DB
	Log       *audit.Log
	Sealer    *secret.Sealer
	PublicURL string // where certificates say that revocation lists are
	Sources   Sources
}

// Service issues, checks and revokes certificates.
type Service struct {
	Options
	db *database.DB
}

// New makes a service. Nothing is made before it is needed.
func New(o Options) *Service { return &Service{Options: o, db: o.Database} }

func (s *Service) write(
	ctx context.Context, orgID string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(orgID)}, Do: do})
}

// manages is what a person needs for certificates of a kind.
func manages(k authority.Kind) principal.Action {
	if k == authority.Server {
		return principal.ManageServers
	}
	return principal.ManageAgents
}

func requirePerson(p principal.Principal, action principal.Action) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may do this to certificates")
	}
	return p.Require(action)
}

func checkReason(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	if reason == "" || !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReason ||
		strings.ContainsFunc(reason, unicode.IsControl) {
		return "", fault.Field("reason", "must be 1 to %d characters without control characters", maxReason)
	}
	return reason, nil
}

func noSuchCertificate() error { return fault.New(fault.NotFound, "no such certificate") }

func noSuchAuthority() error { return fault.New(fault.NotFound, "no such certificate authority") }
