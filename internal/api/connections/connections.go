// Package connections serves the connections of people with MCP servers that have an OAuth of their own.
//
// A person asks for a link, consents at the server's authorization server, and comes back to the dashboard, which sends
// on what they bring with their own access token: only so is it known who comes back.
package connections

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/admission"
	"writ/internal/api/route"
	"writ/internal/connection"
	"writ/internal/mcp"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// Handlers serve connections.
type Handlers struct {
	Gate        *admission.Gate
	Connections *connection.Service
	Servers     *mcp.Service
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("mcp")
	self := func(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.OwnKeys) }
	member := func(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ReadOrganization) }
	route.Handle(r, self(route.Post("/organization/{orgId}/connections",
		"Begin to connect to an MCP server with an OAuth of its own: the answer is where to consent")).
		Throttled(throttle.AskServer).Unrecorded(), h.start)
	route.Handle(r, route.Post("/connections/finish",
		"Come back from an MCP server's authorization server, as the person who began").
		For(route.Person).LimitedToo().Throttled(throttle.AskServer).Records("connection.made").Configures(), h.finish)
	route.Handle(r, member(route.Get("/organization/{orgId}/connections",
		"Connections with MCP servers, newest first: all to people who manage servers, else the caller's own")), h.list)
	route.Handle(r, member(route.Delete("/organization/{orgId}/connections/{connectionId}",
		"End a connection: its tokens are forgotten at once")).
		Records("connection.ended").Answers(http.StatusNoContent), h.end)
}

// ConnectingBody is where a person consents.
type ConnectingBody struct {
	AuthorizeURL string    `json:"authorizeUrl" doc:"For this person alone, once: the answer of anybody else is refused."`
	Issuer       string    `json:"issuer" doc:"The authorization server that is asked."`
	Server       string    `json:"server" doc:"The MCP server's name."`
	ExpiresAt    time.Time `json:"expiresAt"`
}

type startInput struct {
	route.OrgInput
	Body struct {
		Server string `json:"server" minLength:"1" maxLength:"200" doc:"The id or name of the MCP server."`
	}
}

func (h *Handlers) start(
	ctx context.Context, caller principal.Principal, in *startInput,
) (ConnectingBody, error) {
	s, err := h.Connections.Start(ctx, caller, in.Body.Server)
	return ConnectingBody{AuthorizeURL: s.URL, Issuer: s.Issuer, Server: s.ServerName, ExpiresAt: s.ExpiresAt}, err
}

// ConnectionBody is a person's connection with an MCP server. Its tokens are never shown.
type ConnectionBody struct {
	ID         string     `json:"id" format:"uuid"`
	OwnerID    string     `json:"ownerId" format:"uuid" doc:"Who consented."`
	ServerID   string     `json:"serverId" format:"uuid"`
	ServerName string     `json:"serverName"`
	Issuer     string     `json:"issuer" doc:"The authorization server where they did."`
	Resource   string     `json:"resource" doc:"What the tokens are good for."`
	Scope      string     `json:"scope"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  *time.Time `json:"expiresAt" doc:"When the token is renewed. Null: not known."`
}

func connectionBody(c connection.Connection) ConnectionBody {
	return ConnectionBody{
		ID:         c.ID,
		OwnerID:    c.UserID,
		ServerID:   c.ServerID,
		ServerName: c.ServerName,
		Issuer:     c.Issuer,
		Resource:   c.Resource,
		Scope:      c.Scope,
		CreatedAt:  c.CreatedAt,
		ExpiresAt:  c.ExpiresAt,
	}
}

type finishInput struct {
	Body struct {
		State  string `json:"state" minLength:"1" maxLength:"200"`
		Code   string `json:"code,omitempty" maxLength:"2048"`
		Issuer string `json:"iss,omitempty" maxLength:"2048" doc:"RFC 9207."`
		Error  string `json:"error,omitempty" maxLength:"200" doc:"Instead of a code: the person did not consent."`
	}
}

func (h *Handlers) finish(ctx context.Context, caller principal.Principal, in *finishInput) (ConnectionBody, error) {
	orgID, err := h.Connections.Organization(ctx, caller, in.Body.State)
	if err != nil {
		return ConnectionBody{}, err
	}
	if caller, err = h.Gate.InOrganization(ctx, caller, orgID); err != nil {
		return ConnectionBody{}, err
	}
	made, err := h.Connections.Finish(ctx, caller, connection.Returned{
		State: in.Body.State, Code: in.Body.Code, Issuer: in.Body.Issuer, Error: in.Body.Error,
	})
	if err != nil {
		return ConnectionBody{}, err
	}
	h.listTools(ctx, caller, made.ServerID)
	return connectionBody(made), nil
}

// listTools has a server asked that nobody could ask before. It can be asked again at any time.
func (h *Handlers) listTools(ctx context.Context, caller principal.Principal, serverID string) {
	if !caller.May(principal.ManageServers) {
		return
	}
	if of, err := h.Servers.Get(ctx, caller, serverID); err == nil && of.ListedHash == "" {
		_, _ = h.Servers.Refresh(ctx, caller, serverID)
	}
}

type listInput struct {
	route.OrgInput
	route.PageInput
}

func (h *Handlers) list(
	ctx context.Context, caller principal.Principal, in *listInput,
) (page.Page[ConnectionBody], error) {
	found, err := h.Connections.List(ctx, caller, in.Cursor, in.Limit)
	return route.MapPage(found, connectionBody), err
}

type endInput struct {
	route.OrgInput
	ID string `path:"connectionId" doc:"The connection."`
}

func (h *Handlers) end(ctx context.Context, caller principal.Principal, in *endInput) (route.None, error) {
	return route.None{}, h.Connections.End(ctx, caller, in.ID)
}
