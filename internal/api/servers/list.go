package servers

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/mcp"
	"writ/internal/principal"
)

type listServersInput struct {
	route.OrganizationQuery
	Status string `query:"status" enum:"pending,approved,denied" doc:"Only servers of this status."`
}

// MCPListBody is the servers of an organization. It has no pages: plugins read it once.
type MCPListBody struct {
	Servers []MCPServerBody `json:"servers" nullable:"false"`
}

func (h *Handlers) list(ctx context.Context, caller principal.Principal, in *listServersInput) (MCPListBody, error) {
	found, err := h.Servers.List(ctx, caller, mcp.Status(in.Status))
	if err != nil {
		return MCPListBody{}, err
	}
	body := MCPListBody{Servers: make([]MCPServerBody, len(found))}
	for i, s := range found {
		if body.Servers[i], err = serverBody(s); err != nil {
			return MCPListBody{}, err
		}
	}
	return body, nil
}

// MCPMyServersBody is the approved servers, as SDKs read them.
type MCPMyServersBody struct {
	Data []MCPMyServerBody `json:"data" nullable:"false"`
}

// MCPMyServerBody is an approved server.
type MCPMyServerBody struct {
	MCPID string `json:"mcpId" format:"uuid"`
	Name  string `json:"name"`
	URL   string `json:"url" doc:"Empty: none."`
}

func (h *Handlers) mine(
	ctx context.Context, caller principal.Principal, _ *struct{ route.OrganizationQuery },
) (MCPMyServersBody, error) {
	found, err := h.Servers.List(ctx, caller, mcp.Approved)
	return MCPMyServersBody{Data: route.ItemsOf(found, func(s mcp.Server) MCPMyServerBody {
		return MCPMyServerBody{s.ID, s.Name, s.URL}
	}).Items}, err
}

// ServerInput is the path of a route about one server.
type ServerInput struct {
	route.OrganizationQuery
	MCPID string `path:"mcpId" doc:"The server's id, or its name, escaped."`
}

func (h *Handlers) get(ctx context.Context, caller principal.Principal, in *ServerInput) (MCPServerBody, error) {
	return shown(h.Servers.Get(ctx, caller, in.MCPID))
}

type updateServerInput struct {
	ServerInput
	Body struct {
		Description *string          `json:"description,omitempty" maxLength:"1000"`
		Transport   *string          `json:"transport,omitempty" enum:"http,sse,stdio"`
		URL         *string          `json:"url,omitempty" maxLength:"2048"`
		Command     *[]string        `json:"command,omitempty" maxItems:"64"`
		Auth        *MCPAuthBody     `json:"auth,omitempty" doc:"Without a secret: the one that it has, if the address stays."`
		Metadata    route.SentObject `json:"metadata,omitempty" doc:"Replaces all of it: toolMetadata and roleMapping."`
		Status      *mcp.Status      `json:"status,omitempty" enum:"approved,denied" doc:"Approving pins the tools as they are listed then. A list that comes first after that is held. Approving an approved server with seen accepts all of its held tools as they are listed."`
		Reason      string           `json:"reason,omitempty" maxLength:"500" doc:"Required to deny, and to accept held tools."`
		Seen        string           `json:"seen,omitempty" maxLength:"100" doc:"listedHash of what you have seen: approving something else is refused."`
	}
}

func (h *Handlers) update(
	ctx context.Context, caller principal.Principal, in *updateServerInput,
) (MCPServerBody, error) {
	b := &in.Body
	changes := mcp.Changes{
		Description: b.Description,
		Transport:   b.Transport,
		URL:         b.URL,
		Command:     b.Command,
		Status:      b.Status,
		Reason:      b.Reason,
		Seen:        b.Seen,
	}
	if b.Auth != nil {
		auth, err := b.Auth.auth()
		if err != nil {
			return MCPServerBody{}, err
		}
		changes.Auth = &auth
	}
	if text := b.Metadata.OrNone(); text != nil {
		changes.Metadata = new(jsontext.Value(text))
	}
	return shown(h.Servers.Update(ctx, caller, in.MCPID, changes))
}

func (h *Handlers) remove(ctx context.Context, caller principal.Principal, in *ServerInput) (route.None, error) {
	return route.None{}, h.Servers.Remove(ctx, caller, in.MCPID)
}
