// Package servers serves the registry of MCP servers.
package servers

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/mcp"
	"writ/internal/mcp/definition"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/telemetry"
	"writ/internal/throttle"
)

// Handlers serve MCP servers.
type Handlers struct {
	Servers     *mcp.Service
	Enforcement *enforcement.Service // knows the classes of tools
	Telemetry   *telemetry.Service   // counts what was called
}

func reader(rt route.Route) route.Route {
	return rt.For(route.PersonOrKey).Needs(principal.ReadOrganization).Scoped(principal.Enforce)
}

func manager(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ManageServers) }

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("mcp")
	route.Handle(r, route.Post("/mcp/register",
		"Register an MCP server, which only a person can; what a key registers is pending until a person approves it").
		For(route.PersonOrKey).Needs(principal.ManageServers).Scoped(principal.Enforce).
		Throttled(throttle.RegisterServer).Records("mcp.registered").Configures().Answers(http.StatusCreated),
		h.register)
	route.Handle(r, route.Post("/mcp/auto-register",
		"Propose an MCP server that a client has found: it is pending until a person approves it").
		For(route.Key).Scoped(principal.Enforce).Throttled(throttle.RegisterServer).Records("mcp.proposed"),
		h.autoRegister)
	route.Handle(r, reader(route.Get("/mcp/servers", "MCP servers of the organization, by name")), h.list)
	route.Handle(r, reader(route.Get("/mcp/my-servers", "The approved MCP servers, as SDKs read them")), h.mine)
	route.Handle(r, reader(route.Get("/mcp/servers/{mcpId}", "One MCP server")), h.get)
	route.Handle(r, manager(route.Patch("/mcp/servers/{mcpId}", "Change, approve or deny an MCP server")).
		Throttled(throttle.AskServer).Records("mcp.updated").Configures(), h.update)
	route.Handle(r, manager(route.Delete("/mcp/servers/{mcpId}", "Remove an MCP server and its pins")).
		Records("mcp.removed").Answers(http.StatusNoContent), h.remove)
	h.mountTools(r)
	h.mountHealth(r)
	h.mountFindings(r)
	h.mountTelemetry(r)
}

// MCPServerBody is an MCP server.
type MCPServerBody struct {
	MCPID        string          `json:"mcpId" format:"uuid"`
	Name         string          `json:"name" doc:"As policies call it."`
	MCPName      string          `json:"mcpName" doc:"The name again, as plugins read it."`
	Status       mcp.Status      `json:"status" enum:"pending,approved,denied" doc:"pending: a key proposes it, and nothing is decided by it. denied: its calls are denied."`
	Description  string          `json:"description"`
	Transport    string          `json:"transport" enum:",http,sse,stdio" doc:"http: streamable HTTP. stdio: a program on its users' machines, which this server never starts. Empty: not known."`
	URL          string          `json:"url" doc:"Empty: none."`
	Command      []string        `json:"command,omitempty" nullable:"false" doc:"Of a stdio server."`
	Auth         MCPShownAuth    `json:"auth"`
	Source       string          `json:"source" doc:"The client that found it. Empty: not stated."`
	KeyID        *string         `json:"keyId" doc:"The API key that proposed it. Null: a person registered it."`
	RegisteredBy string          `json:"registeredBy" doc:"The person, or the owner of the key."`
	DecidedBy    *string         `json:"decidedBy" doc:"Who approved or denied it. Null: nobody yet."`
	DecidedAt    *time.Time      `json:"decidedAt"`
	Reason       string          `json:"reason" doc:"Of that."`
	CreatedAt    time.Time       `json:"createdAt"`
	UpdatedAt    time.Time       `json:"updatedAt"`
	ListedHash   string          `json:"listedHash" doc:"Of all that it listed last: whoever approves it sends the hash they have seen. Empty: it was not asked yet."`
	Instructions string          `json:"instructions" doc:"What it tells models about itself."`
	Version      string          `json:"version" doc:"As it calls its version."`
	ToolCount    int             `json:"toolCount"`
	HeldCount    int             `json:"heldCount" doc:"Tools that wait for a person."`
	Health       MCPHealthNow    `json:"health"`
	Metadata     MCPMetadataBody `json:"metadata"`
}

// MCPShownAuth is how a server is called. Its secret is never shown.
type MCPShownAuth struct {
	Type       string `json:"type" enum:"none,bearer,api_key,oauth" doc:"oauth: each person consents at the server's own authorization server."`
	HeaderName string `json:"header_name,omitempty" doc:"Of api_key."`
	ClientID   string `json:"client_id,omitempty" doc:"Of oauth."`
	HasSecret  bool   `json:"hasSecret"`
}

// MCPHealthNow is how a server answered last.
type MCPHealthNow struct {
	Status     string     `json:"status" enum:"unknown,healthy,failing,unreadable" doc:"unreadable: it answers, and nobody can tell what it offers, so that its tools are held."`
	Since      *time.Time `json:"since" doc:"Since when it is so."`
	CheckedAt  *time.Time `json:"checkedAt"`
	LatencyMs  int64      `json:"latencyMs"`
	Problem    string     `json:"problem"`
	Watched    bool       `json:"watched" doc:"Whether it is asked on a schedule."`
	EverySecs  int64      `json:"everySeconds" doc:"How often, about: until then a change is not seen."`
	Unreadable bool       `json:"unreadable"`
}

// MCPMetadataBody is what people say of a server's tools and roles.
type MCPMetadataBody struct {
	ToolMetadata map[string]MCPToolMetadataBody `json:"toolMetadata"`
	RoleMapping  map[string]string              `json:"roleMapping" doc:"The server's roles by those of the organization."`
	// CallerCredentials is for the proxy.
	CallerCredentials bool `json:"callerCredentials,omitempty" doc:"Whether callers of POST /invoke may send their own credentials for the server, in X-Armoriq-MCP-Auth."`
}

// MCPToolMetadataBody is what people say of a tool.
type MCPToolMetadataBody struct {
	IsFinancial     *bool    `json:"isFinancial,omitempty"`
	TransactionType string   `json:"transactionType,omitempty"`
	AmountFields    []string `json:"amountFields,omitempty" nullable:"false"`
	AmountUnit      string   `json:"amountUnit,omitempty"`
	Currency        string   `json:"currency,omitempty"`
	RecipientField  string   `json:"recipientField,omitempty"`
	Category        string   `json:"category,omitempty"`
	Idempotent      *bool    `json:"idempotent,omitempty" doc:"Whether the proxy may call the tool again where nobody knows whether it ran."`
}

func serverBody(s mcp.Server) (MCPServerBody, error) {
	metadata, err := metadataBody(&s)
	return MCPServerBody{
		MCPID:       s.ID,
		Name:        s.Name,
		MCPName:     s.Name,
		Status:      s.Status,
		Description: s.Description,
		Transport:   s.Transport,
		URL:         s.URL,
		Command:     s.Command,
		Auth: MCPShownAuth{
			Type: s.Auth.Type, HeaderName: s.Auth.Header, ClientID: s.Auth.ClientID, HasSecret: s.Auth.HasSecret,
		},
		Source:       s.Source,
		KeyID:        route.OrNull(s.KeyID),
		RegisteredBy: s.RegisteredBy,
		DecidedBy:    route.OrNull(s.DecidedBy),
		DecidedAt:    s.DecidedAt,
		Reason:       s.Reason,
		CreatedAt:    s.CreatedAt,
		UpdatedAt:    s.UpdatedAt,
		ListedHash:   s.ListedHash,
		Instructions: s.About.Instructions,
		Version:      s.About.Version,
		ToolCount:    s.Tools,
		HeldCount:    s.Held,
		Health:       healthNow(&s),
		Metadata:     metadata,
	}, err
}

func healthNow(s *mcp.Server) MCPHealthNow {
	h := &s.Health
	body := MCPHealthNow{
		Status:     "healthy",
		Since:      h.Since,
		CheckedAt:  h.CheckedAt,
		LatencyMs:  h.Latency.Milliseconds(),
		Problem:    h.Problem,
		Watched:    h.Watched,
		EverySecs:  int64(mcp.WatchEvery / time.Second),
		Unreadable: h.Unreadable,
	}
	switch {
	case h.CheckedAt == nil:
		body.Status = "unknown"
	case h.Unreadable:
		body.Status = "unreadable"
	case !h.Healthy:
		body.Status = "failing"
	}
	return body
}

func metadataBody(s *mcp.Server) (MCPMetadataBody, error) {
	body := MCPMetadataBody{ToolMetadata: map[string]MCPToolMetadataBody{}, RoleMapping: map[string]string{}}
	stored, err := s.ReadMetadata()
	body.CallerCredentials = stored.CallerCredentials
	for tool, m := range stored.Tools {
		body.ToolMetadata[tool] = MCPToolMetadataBody(m)
	}
	for role, theirs := range stored.Roles {
		body.RoleMapping[role] = theirs
	}
	return body, err
}

// MCPAuthBody is how a server wants to be called, as a manifest writes it.
type MCPAuthBody struct {
	Type       string `json:"type" enum:"none,bearer,api_key,oauth"`
	Token      string `json:"token,omitempty" maxLength:"8192" doc:"Of bearer. It is sealed, and never shown."`
	APIKey     string `json:"api_key,omitempty" maxLength:"8192" doc:"Of api_key. It is sealed, and never shown."`
	HeaderName string `json:"header_name,omitempty" maxLength:"100" doc:"Of api_key: X-API-Key unless given."`
	ClientID   string `json:"client_id,omitempty" maxLength:"500" doc:"Of oauth: the client that was registered there for this server. It registers itself unless given."`
}

// auth reads how a server wants to be called; nil: without credentials.
func (b *MCPAuthBody) auth() (mcp.Auth, error) {
	if b == nil {
		return mcp.Auth{}, nil
	}
	switch {
	case b.Token != "" && b.Type != definition.AuthBearer:
		return mcp.Auth{}, fault.Field("auth.token", "is only for bearer")
	case b.APIKey != "" && b.Type != definition.AuthAPIKey:
		return mcp.Auth{}, fault.Field("auth.api_key", "is only for api_key")
	}
	return mcp.Auth{
		Type: b.Type, Header: b.HeaderName, ClientID: b.ClientID, Secret: secret.NewText(b.Token + b.APIKey),
	}, nil
}

type registerServerInput struct {
	route.OrganizationQuery
	Body struct {
		ID          string           `json:"id,omitempty" maxLength:"200" doc:"The name, as a manifest calls it."`
		Name        string           `json:"name,omitempty" maxLength:"200" example:"files" doc:"As policies call it."`
		URL         string           `json:"url,omitempty" maxLength:"2048" doc:"Public, unless the operator permits others."`
		Description string           `json:"description,omitempty" maxLength:"1000"`
		Transport   string           `json:"transport,omitempty" enum:"http,sse,stdio" doc:"http unless given, if there is a URL."`
		Command     []string         `json:"command,omitempty" nullable:"false" maxItems:"64" doc:"Of a stdio server. It is shown, and never started here."`
		Auth        *MCPAuthBody     `json:"auth,omitempty"`
		Source      string           `json:"source,omitempty" maxLength:"100"`
		Definition  route.SentObject `json:"definition,omitempty" doc:"What a stdio server lists: instructions, tools, prompts, resources."`
	}
}

func (h *Handlers) register(
	ctx context.Context, caller principal.Principal, in *registerServerInput,
) (MCPServerBody, error) {
	if caller.OrgID == "" {
		return MCPServerBody{}, route.NoOrganization()
	}
	b := &in.Body
	name, err := nameOf(b.Name, b.ID)
	if err != nil {
		return MCPServerBody{}, err
	}
	auth, err := b.Auth.auth()
	if err != nil {
		return MCPServerBody{}, err
	}
	r := mcp.Registration{
		Name:        name,
		Description: b.Description,
		Transport:   b.Transport,
		URL:         b.URL,
		Command:     b.Command,
		Auth:        auth,
		Source:      b.Source,
	}
	if r.Definition, err = readDefinition(b.Definition); err != nil {
		return MCPServerBody{}, err
	}
	return shown(h.Servers.Register(ctx, caller, r))
}

// nameOf is the name of a server, which manifests call its id.
func nameOf(name, id string) (string, error) {
	if name != "" && id != "" && name != id {
		return "", fault.Field("id", "must be the same as name, or absent")
	}
	if name == "" {
		return id, nil
	}
	return name, nil
}

// readDefinition reads what a stdio server lists; nil: it was not sent.
func readDefinition(sent route.SentObject) (*definition.Server, error) {
	text := sent.OrNone()
	if text == nil {
		return nil, nil
	}
	found, err := definition.Parse(text)
	if err != nil {
		return nil, fault.Field("definition", "%s", err)
	}
	return &found, nil
}

func shown(s mcp.Server, err error) (MCPServerBody, error) {
	if err != nil {
		return MCPServerBody{}, err
	}
	return serverBody(s)
}

type autoRegisterServerInput struct {
	Body struct {
		MCPName     string `json:"mcpName" minLength:"1" maxLength:"200"`
		Source      string `json:"source,omitempty" maxLength:"100" example:"armorclaude-autodetect"`
		URL         string `json:"url,omitempty" maxLength:"2048"`
		Transport   string `json:"transport,omitempty" enum:"http,sse,stdio"`
		Description string `json:"description,omitempty" maxLength:"1000"`
	}
}

// MCPProposedBody is a server that a client has found.
type MCPProposedBody struct {
	MCPID   string     `json:"mcpId" format:"uuid"`
	MCPName string     `json:"mcpName"`
	Status  mcp.Status `json:"status" enum:"pending,approved,denied"`
}

func (h *Handlers) autoRegister(
	ctx context.Context, caller principal.Principal, in *autoRegisterServerInput,
) (MCPProposedBody, error) {
	if caller.OrgID == "" {
		return MCPProposedBody{}, route.NoOrganization()
	}
	b := &in.Body
	s, err := h.Servers.Register(ctx, caller, mcp.Registration{
		Name:        b.MCPName,
		Description: b.Description,
		Transport:   b.Transport,
		URL:         b.URL,
		Source:      b.Source,
	})
	return MCPProposedBody{s.ID, s.Name, s.Status}, err
}
