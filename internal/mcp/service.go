package mcp

import (
	"cmp"
	"context"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/dispatch"
	"writ/internal/fault"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/discovery"
	"writ/internal/principal"
	"writ/internal/secret"
)

// What the audit log says of servers.
const (
	registered   = "mcp.registered"
	proposed     = "mcp.proposed"
	updated      = "mcp.updated"
	removed      = "mcp.removed"
	toolsChanged = "mcp.tools_changed"
	toolAccepted = "mcp.tool_accepted"
)

// Options are what the registry needs.
type Options struct {
	Database *database.DB
	Log      *audit.Log
	Sealer   *secret.Sealer
	// List asks a server what it offers.
	List func(ctx context.Context, t discovery.Target) (definition.Server, error)
	// CheckURL says by the URL alone whether a server could ever be asked.
	CheckURL func(target string) error
	// UserToken is the token of a person for a server that wants the consent of each. A Forbidden fault says that they
	// have not consented.
	UserToken func(ctx context.Context, orgID, userID string, of *Server) (secret.Text, error)
	// MayBePlain reports whether a secret may be sent to a URL without TLS.
	MayBePlain func(target string) bool
	// Redefined is called within every change of a server's tools or pins; nil: nobody wants to know.
	Redefined func(ctx context.Context, tx *database.Tx, by principal.Principal, orgID, serverID string) error
	// Notify tells people of tools that are held.
	Notify Notifier
	// Refused is called within the change that removes or denies a server; nil: nobody wants to know.
	Refused func(ctx context.Context, tx *database.Tx, by principal.Principal, orgID, serverID, why string) error
}

// Service registers servers, watches them and says what decisions must know of them.
type Service struct {
	Options
	db       *database.DB
	watching *dispatch.Dispatcher[Server]
}

// New makes a Service. It starts nothing: the app calls Run and Prune.
func New(o Options) *Service {
	s := &Service{Options: o, db: o.Database}
	s.watching = s.dispatcher()
	return s
}

func (s *Service) write(
	ctx context.Context, orgID string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(orgID)}, Do: do})
}

// requireManager admits people who may say which servers agents reach.
func requireManager(p principal.Principal) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may change MCP servers")
	}
	return p.Require(principal.ManageServers)
}

// requireReader admits every member, and keys of the organization.
func requireReader(p principal.Principal) error {
	if p.OrgID == "" {
		return fault.New(fault.Forbidden, "this key belongs to no organization")
	}
	if p.Kind == principal.Key {
		return nil
	}
	return p.Require(principal.ReadOrganization)
}

// Remove removes a server and its pins. Its calls are judged by policies alone then.
func (s *Service) Remove(ctx context.Context, p principal.Principal, id string) error {
	if err := requireManager(p); err != nil {
		return err
	}
	return s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		before, err := find(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		if err := remove(ctx, tx, before.ID); err != nil {
			return err
		}
		if err := s.refused(ctx, tx, p, &before, "the MCP server was removed"); err != nil {
			return err
		}
		if err := s.notifyReleased(ctx, tx, &before); err != nil {
			return err
		}
		return s.record(ctx, tx, p, removed, &before, before.payload(), false)
	})
}

// List lists the servers of the caller's organization by name; an empty status: all.
func (s *Service) List(ctx context.Context, p principal.Principal, status Status) ([]Server, error) {
	if err := requireReader(p); err != nil {
		return nil, err
	}
	return list(ctx, s.db, p.OrgID, status)
}

// Get reads a server by its id or name.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (Server, error) {
	if err := requireReader(p); err != nil {
		return Server{}, err
	}
	return find(ctx, s.db, p.OrgID, id)
}

// Tools reads the tools of a server, by name.
func (s *Service) Tools(ctx context.Context, p principal.Principal, id string) (Server, []Tool, error) {
	found, err := s.Get(ctx, p, id)
	if err != nil {
		return Server{}, nil, err
	}
	tools, err := readTools(ctx, s.db, found.ID)
	return found, tools, err
}

// record appends to the organization's log what is said about a server.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, by principal.Principal, action string, about *Server, payload any,
	observes bool,
) error {
	_, err := s.Log.Append(ctx, tx, audit.Entry{
		Log:         audit.LogOf(about.OrgID),
		Action:      action,
		Actor:       by,
		Subject:     audit.Subject{Type: "mcp_server", ID: about.ID},
		Payload:     payload,
		Observation: observes,
	})
	return err
}

// payload is what entries say of a server. An address has no secret in it: those that look like one are refused.
func (made *Server) payload() map[string]any {
	payload := map[string]any{
		"name": made.Name, "status": string(made.Status), "transport": made.Transport, "url": made.URL,
		"auth": cmp.Or(made.Auth.Type, definition.AuthNone), "description": made.Description, "source": made.Source,
	}
	if len(made.Command) > 0 {
		payload["command"] = made.Command
	}
	if made.Reason != "" {
		payload["reason"] = made.Reason
	}
	return payload
}
