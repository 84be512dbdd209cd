package servers

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/mcp"
	"writ/internal/mcp/definition"
	"writ/internal/principal"
	"writ/internal/throttle"
	"writ/internal/toolclass"
)

func (h *Handlers) mountTools(r *route.Router) {
	route.Handle(r, reader(route.Get("/mcp/tools/{mcp}",
		"The accepted tools of an approved server, as models are given them").WithWholeName()), h.catalogue)
	route.Handle(r, reader(route.Get("/mcp/tool-metadata/{mcp}",
		"What people say of a server's tools").WithWholeName()), h.toolMetadata)
	route.Handle(r, route.Get("/mcp/servers/{mcpId}/tools",
		"The tools of a server as they are listed and as a person has accepted them, with the differences").
		For(route.Person).Needs(principal.ReadOrganization), h.tools)
	route.Handle(r, manager(route.Post("/mcp/servers/{mcpId}/tools/{tool}/accept",
		"Accept a held tool as it is listed, which releases it")).
		Records("mcp.tool_accepted").Configures(), h.accept)
	route.Handle(r, manager(route.Post("/mcp/servers/{mcpId}/refresh",
		"Ask a server now, and compare what it lists with its pins")).
		Throttled(throttle.AskServer).Unrecorded(), h.refresh)
	route.Handle(r, manager(route.Put("/mcp/servers/{mcpId}/definition",
		"Report what a stdio server lists, to be compared with its pins")).
		Records("mcp.tools_changed"), h.report)
}

// CatalogueInput is the path of a route of SDKs about one server.
type CatalogueInput struct {
	route.OrganizationQuery
	MCP string `path:"mcp" doc:"The server's name or id, escaped."`
}

// MCPCatalogueBody is the tools of a server, as models are given them.
type MCPCatalogueBody struct {
	Data struct {
		Tools []MCPFunctionBody `json:"tools" nullable:"false"`
	} `json:"data"`
}

// MCPFunctionBody is a tool in the form of function calling.
type MCPFunctionBody struct {
	Type        string             `json:"type" enum:"function"`
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Parameters  route.StoredObject `json:"parameters" doc:"A JSON Schema."`
}

// approved finds an approved server. To SDKs the others are not there.
func (h *Handlers) approved(
	ctx context.Context, caller principal.Principal, id string,
) (mcp.Server, []mcp.Tool, error) {
	s, tools, err := h.Servers.Tools(ctx, caller, id)
	if err == nil && s.Status != mcp.Approved {
		err = fault.New(fault.NotFound, "no such MCP server")
	}
	return s, tools, err
}

func (h *Handlers) catalogue(
	ctx context.Context, caller principal.Principal, in *CatalogueInput,
) (body MCPCatalogueBody, err error) {
	_, tools, err := h.approved(ctx, caller, in.MCP)
	body.Data.Tools = []MCPFunctionBody{}
	for _, t := range tools {
		if t.State.Holds() { // what it says now is nobody's to follow
			continue
		}
		body.Data.Tools = append(body.Data.Tools, MCPFunctionBody{
			Type: "function", Name: t.Name, Description: t.Accepted.Tool.Description,
			Parameters: document(t.Accepted.Tool.InputSchema),
		})
	}
	return body, err
}

func document(raw jsontext.Value) route.StoredObject {
	if raw == nil || raw.Kind() != '{' {
		return route.StoredObject("{}")
	}
	return route.StoredObject(raw)
}

// MCPCatalogueMetadataBody is what people say of a server's tools, as SDKs read it.
type MCPCatalogueMetadataBody struct {
	Data struct {
		MCPID string `json:"mcpId" format:"uuid"`
		Name  string `json:"name"`
		MCPMetadataBody
	} `json:"data"`
}

func (h *Handlers) toolMetadata(
	ctx context.Context, caller principal.Principal, in *CatalogueInput,
) (body MCPCatalogueMetadataBody, err error) {
	s, _, err := h.approved(ctx, caller, in.MCP)
	if err != nil {
		return body, err
	}
	body.Data.MCPID, body.Data.Name = s.ID, s.Name
	body.Data.MCPMetadataBody, err = metadataBody(&s)
	return body, err
}

// MCPToolBody is a tool of a server.
type MCPToolBody struct {
	Name        string              `json:"name"`
	State       mcp.State           `json:"state" enum:"listed,pinned,changed,new,moved,returned,gone" doc:"All but listed and pinned are held."`
	Held        bool                `json:"held" doc:"Whether its calls wait for a person."`
	Why         string              `json:"why" doc:"Why it is held. Empty: it is not."`
	MovedFrom   string              `json:"movedFrom,omitempty" doc:"The server on which a tool of that name is accepted."`
	Since       time.Time           `json:"since"`
	Hash        string              `json:"hash" doc:"Of the tool as it is listed: whoever accepts it sends the hash they have seen. Empty: it is gone."`
	Class       string              `json:"class" enum:"read,write,egress,execute" doc:"As decisions count it."`
	ClassFrom   string              `json:"classFrom" enum:"operator,known,default" doc:"Who says so: an administrator (tool classes), the table of known agents' tools, or nobody, so that it writes."`
	Suggested   string              `json:"suggestedClass" enum:",read,write,egress,execute" doc:"What the words of its name suggest, for an administrator to decide. Annotations are hints of the server, and prove nothing."`
	Title       string              `json:"title"`
	Description string              `json:"description"`
	InputSchema route.StoredObject  `json:"inputSchema"`
	Annotations route.StoredObject  `json:"annotations"`
	Diff        []definition.Change `json:"diff" nullable:"false" doc:"How it differs from what a person has accepted. Hidden characters are written so that they can be seen."`
	AcceptedBy  *string             `json:"acceptedBy"`
	AcceptedAt  *time.Time          `json:"acceptedAt"`
	Accepted    *MCPToolText        `json:"accepted,omitempty" doc:"As a person has accepted it, where it is another now."`
}

// MCPToolText is what a server says about a tool.
type MCPToolText struct {
	Hash        string `json:"hash"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// MCPToolsBody is the tools of a server.
type MCPToolsBody struct {
	Items      []MCPToolBody `json:"items" nullable:"false"`
	ListedHash string        `json:"listedHash" doc:"Of all that the server listed, these tools among it: whoever approves it sends the hash they have seen. Empty: it was not asked yet."`
}

func (h *Handlers) tools(ctx context.Context, caller principal.Principal, in *ServerInput) (MCPToolsBody, error) {
	s, tools, err := h.Servers.Tools(ctx, caller, in.MCPID)
	if err != nil {
		return MCPToolsBody{}, err
	}
	body := MCPToolsBody{Items: make([]MCPToolBody, len(tools)), ListedHash: s.ListedHash}
	for i := range tools {
		body.Items[i] = toolBody(&tools[i])
	}
	return body, h.classify(ctx, caller.OrgID, s.Name, body.Items)
}

// classify says what tools do, by the one classifier.
func (h *Handlers) classify(ctx context.Context, orgID, server string, tools []MCPToolBody) error {
	classes, err := h.Enforcement.Classes(ctx, orgID)
	if err != nil {
		return err
	}
	for i := range tools {
		class, from := classes.Explain(server, tools[i].Name)
		tools[i].Class, tools[i].ClassFrom = string(class), from
		tools[i].Suggested = string(toolclass.Effect(server, tools[i].Name))
	}
	return nil
}

func toolBody(t *mcp.Tool) MCPToolBody {
	now := t.Listed.Tool
	if t.Listed.Hash == "" {
		now = t.Accepted.Tool
	}
	body := MCPToolBody{
		Name:        t.Name,
		State:       t.State,
		Held:        t.State.Holds(),
		Why:         t.Why(),
		MovedFrom:   t.MovedFrom,
		Since:       t.Since,
		Hash:        t.Listed.Hash,
		Title:       now.Title,
		Description: now.Description,
		InputSchema: document(now.InputSchema),
		Annotations: document(now.Annotations),
		Diff:        append([]definition.Change{}, t.Diff()...),
		AcceptedBy:  route.OrNull(t.AcceptedBy),
		AcceptedAt:  t.AcceptedAt,
	}
	if t.Accepted.Hash != "" && t.Accepted.Hash != t.Listed.Hash {
		body.Accepted = &MCPToolText{t.Accepted.Hash, t.Accepted.Tool.Title, t.Accepted.Tool.Description}
	}
	return body
}

type acceptToolInput struct {
	ServerInput
	Tool string `path:"tool" doc:"The tool's name, escaped."`
	Body struct {
		Hash   string `json:"hash" maxLength:"100" doc:"Of the tool that you have seen. Empty: it is gone, and its pin is to be forgotten."`
		Reason string `json:"reason" minLength:"1" maxLength:"500"`
	}
}

func (h *Handlers) accept(ctx context.Context, caller principal.Principal, in *acceptToolInput) (MCPToolBody, error) {
	t, err := h.Servers.Accept(ctx, caller, in.MCPID, in.Tool, in.Body.Hash, in.Body.Reason)
	if err != nil {
		return MCPToolBody{}, err
	}
	s, err := h.Servers.Get(ctx, caller, in.MCPID)
	if err != nil {
		return MCPToolBody{}, err
	}
	shown := []MCPToolBody{toolBody(&t)}
	err = h.classify(ctx, caller.OrgID, s.Name, shown)
	return shown[0], err
}

func (h *Handlers) refresh(ctx context.Context, caller principal.Principal, in *ServerInput) (MCPServerBody, error) {
	return shown(h.Servers.Refresh(ctx, caller, in.MCPID))
}

type reportServerInput struct {
	ServerInput
	Body route.SentObject
}

func (h *Handlers) report(
	ctx context.Context, caller principal.Principal, in *reportServerInput,
) (MCPServerBody, error) {
	found, err := readDefinition(in.Body)
	if err != nil {
		return MCPServerBody{}, err
	}
	if found == nil {
		return MCPServerBody{}, fault.Field("body", "must be what the server lists")
	}
	return shown(h.Servers.Report(ctx, caller, in.MCPID, *found))
}
