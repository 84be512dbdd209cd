// Package connection keeps the permission of people to be acted for at MCP servers that have an OAuth of their own.
//
// A person connects to a server: they are sent to its authorization server, consent there, and come back with a code,
// which is changed for tokens. When an agent calls the server with a key of that person, the proxy sends the person's
// token. Agents never see it, nobody can read it back, and no token that an agent brings is passed on.
//
// What holds against attackers:
//
//   - A consent belongs to the person who began it: the state of the request is good once, for ten minutes, and only
//     for that person, signed in. Nobody can have another person's account connected to their own, or the other way
//     round.
//   - PKCE (S256) and the resource (RFC 8707) go with each request; a server that does not know PKCE is refused.
//   - An answer that names another issuer than was asked is refused (RFC 9207), and so is one that names none where
//     the issuer says that it does.
//   - Tokens go to the address that the server had when the person consented, and nowhere else, even if the server is
//     registered at another address later.
//   - Tokens, verifiers and secrets are sealed with the row that they belong to.
//   - Every address comes from a server that somebody registered, and is called through the guard of such addresses.
//
// Whose token is sent is decided by the key that calls, whose owner is proven, and never by what an agent says of its
// user.
package connection

import (
	"context"
	"net/http"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Limits.
const (
	connectingLife = 10 * time.Minute
	maxConnecting  = 20   // consents that a person has begun
	maxText        = 2048 // bytes of an address, a scope or a code
	maxToken       = 8192
	maxAnswer      = 64 << 10
	// renewBefore is how long before its end a token is renewed.
	renewBefore = 30 * time.Second
	// renewTime is how long one replica may take to renew tokens; others wait for it.
	renewTime = 20 * time.Second
)

// ReturnPath is where authorization servers send people back to: a screen of the dashboard, because only there a
// person is known.
const ReturnPath = "/ui/connected"

// What the audit log says of connections.
const (
	made  = "connection.made"
	ended = "connection.ended"
	lost  = "connection.lost" // the authorization server does not renew its tokens any more
)

// Server is a registered server that wants the consent of each person.
type Server struct {
	ID, Name string
	URL      string
	ClientID string // that people have registered there; empty: this server registers itself
}

// Connection is a person's permission. Its tokens are never shown.
type Connection struct {
	ID, OrgID, UserID    string
	ServerID, ServerName string
	Resource, Issuer     string
	ClientID, Scope      string
	CreatedAt            time.Time
	ExpiresAt            *time.Time // of the access token, which is renewed; nil: not known

	place
	url      string
	sealed   []byte
	revision int64
}

// place is where tokens are got and ended, and as whom.
type place struct {
	tokenURL, revocationURL string
	method                  string // how the client proves itself
}

// Sources are what connections need of other areas.
type Sources struct {
	// Server finds an approved server of an organization that wants the consent of each person, by id or name.
	Server func(ctx context.Context, orgID, idOrName string) (Server, error)
	// Live refuses a person whose session has ended.
	Live func(ctx context.Context, tx *database.Tx, p principal.Principal) error
	// Acts refuses a person who may have no keys in the organization any more.
	Acts func(ctx context.Context, orgID, userID string) error
}

// Options are what a Service needs.
type Options struct {
	Database *database.DB
	Log      *audit.Log
	Sealer   *secret.Sealer
	// Web calls addresses that users chose, public ones only.
	Web *http.Client
	// MayBePlain reports whether the operator lets secrets be sent to an address without TLS.
	MayBePlain func(url string) bool
	PublicURL  string // of this server, without a slash at its end
	Sources    Sources
}

// Service makes, uses and ends connections.
type Service struct {
	Options
	db *database.DB
}

// New makes a Service.
func New(o Options) *Service { return &Service{Options: o, db: o.Database} }

func (s *Service) redirectURI() string { return s.PublicURL + ReturnPath }

func requireSelf(p principal.Principal) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may connect to an MCP server")
	}
	return p.Require(principal.OwnKeys)
}

// record appends to the organization's log what happened to a connection.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, by principal.Principal, action string, c *Connection, reason string,
) error {
	payload := map[string]any{
		"server": c.ServerID, "serverName": c.ServerName, "user": c.UserID, "issuer": c.Issuer, "resource": c.Resource,
		"client": c.ClientID, "scope": c.Scope,
	}
	if reason != "" {
		payload["reason"] = reason
	}
	_, err := s.Log.Append(ctx, tx, audit.Entry{
		Log:     audit.LogOf(c.OrgID),
		Action:  action,
		Actor:   by,
		Subject: audit.Subject{Type: "connection", ID: c.ID},
		Payload: payload,
	})
	return err
}

func (s *Service) write(
	ctx context.Context, orgID string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(orgID)}, Do: do})
}

func noSuchConnection() error { return fault.New(fault.NotFound, "no such connection") }

// Missing is the fault of a call that needs a consent which the person has not given.
func (s *Service) missing(server Server) error {
	return fault.New(fault.Forbidden, "the MCP server %s wants the consent of the person whose key this is: they connect "+
		"to it at %s/ui/servers/%s, or with: writ mcp connect %s", server.Name, s.PublicURL, server.ID, server.Name)
}
