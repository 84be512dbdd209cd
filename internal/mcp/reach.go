package mcp

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mcp/definition"
)

// Reach is how the proxy reaches a server of an organization, and what people say of one of its tools.
type Reach struct {
	ID, Name   string
	URL        string
	Transport  string // definition.HTTP or definition.SSE
	Idempotent bool   // the tool may be called again where nobody knows whether it ran
	// CallerCredentials: a caller may send credentials of its own, in place of those that are registered.
	CallerCredentials bool
	UpdatedAt         time.Time // when a person last changed the registration
	// ByConsent: the server is called with the token of the person, who has consented at its authorization server.
	ByConsent bool
	HasSecret bool   // it is registered with credentials
	KeyHeader string // that an API key for it goes into; empty: it takes none

	of Server
}

// ReachOf finds a server by its exact name, for a call of one of its tools; an empty tool: for something else. It
// checks no right: enforcement does. A fault says in words for agents why the server or the tool cannot be reached.
func (s *Service) ReachOf(ctx context.Context, orgID, server, tool string) (Reach, error) {
	if !isStorable(server) || !isStorable(tool) {
		return Reach{}, noSuchServer()
	}
	var of Server
	var metadata, state string
	err := s.db.Prepared().QueryRow(ctx, `
		SELECT s.id, s.name, s.status, s.transport, s.url, s.auth, s.auth_header, s.oauth_client_id,
			s.sealed_secret, s.metadata, s.listed_hash, s.updated_at, COALESCE(t.state, '')
		FROM mcp_server s
		LEFT JOIN mcp_tool t ON t.server_id = s.id AND t.name = $3
		WHERE s.org_id = $1 AND s.name = $2`, orgID, server, tool).Scan(&of.ID, &of.Name, &of.Status, &of.Transport,
		&of.URL, &of.Auth.Type, &of.Auth.Header, &of.Auth.ClientID, &of.sealed, &metadata, &of.ListedHash,
		database.ToTime(&of.UpdatedAt), &state)
	if err != nil {
		return Reach{}, database.OrMissing(err,
			fault.New(fault.NotFound, "no MCP server of this name is registered"), "find how to reach an MCP server")
	}
	if metadata != "" {
		of.Metadata = jsontext.Value(metadata)
	}
	if err := of.reachable(tool, state); err != nil {
		return Reach{}, err
	}
	said, err := of.ReadMetadata()
	if err != nil {
		return Reach{}, err
	}
	r := Reach{ID: of.ID, Name: of.Name, UpdatedAt: of.UpdatedAt, of: of}
	r.URL, r.Transport, r.ByConsent = of.URL, of.Transport, of.ByConsent()
	r.HasSecret = len(of.sealed) > 0
	if of.Auth.Type == definition.AuthAPIKey {
		r.KeyHeader = of.Auth.Header
	}
	r.CallerCredentials = said.CallerCredentials && (isTLS(of.URL) || s.MayBePlain(of.URL))
	if idempotent := said.Tools[tool].Idempotent; idempotent != nil {
		r.Idempotent = *idempotent
	}
	return r, nil
}

// reachable says why a tool of the server cannot be reached. One that is held can be: a decision holds it.
func (made *Server) reachable(tool, state string) error {
	switch {
	case made.Status == Pending:
		return fault.New(fault.Forbidden, "a person must approve this MCP server first")
	case made.Status != Approved:
		return fault.New(fault.Forbidden, "a person has refused this MCP server")
	case made.Transport == definition.Stdio:
		return fault.New(fault.Conflict,
			"this MCP server is a program on its users' machines, which the proxy cannot reach")
	case made.URL == "":
		return fault.New(fault.Conflict, "this MCP server is registered without an address")
	case tool != "" && made.ListedHash == "":
		return fault.New(fault.Conflict, "this MCP server has not said yet which tools it has")
	case tool != "" && state == "":
		return noSuchTool()
	}
	return nil
}

func isStorable(name string) bool { return utf8.ValidString(name) && !strings.Contains(name, "\x00") }

// Credentials are the headers by which the server knows its caller. They are for the server alone.
func (s *Service) Credentials(r Reach) (http.Header, error) { return s.credentials(&r.of) }

// TakesHeader reports whether a caller may send its own credentials to the server in this header: the one that people
// have registered, or a usual one. In others an agent could tell the server things that only a proxy may.
func (r Reach) TakesHeader(name string) bool {
	return strings.EqualFold(name, "Authorization") || strings.EqualFold(name, DefaultHeader) ||
		r.KeyHeader != "" && strings.EqualFold(name, r.KeyHeader)
}

// IsHeader reports whether credentials may be sent in a header of this name.
func IsHeader(name string) bool { return isHeader(name) }

// ByConsent reports whether the server is called with the token of each person.
func (made *Server) ByConsent() bool { return made.Auth.Type == definition.AuthOAuth }
