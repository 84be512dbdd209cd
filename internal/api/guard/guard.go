// Package guard serves the routes that only an enforcement proxy in a process of its own calls.
//
// The proxy proves itself with its token, which gives it no right to anything: each request also carries the credential
// of the agent that it works for, and everything is decided, shown and recorded for that agent. The secret of an MCP
// server is given once for an allow that was made a moment before, for that server as it was registered then.
package guard

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/approval"
	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/guard"
	"writ/internal/guard/message"
	"writ/internal/mcp"
	"writ/internal/oauth"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/toolname"
)

// Handlers serve the proxy.
type Handlers struct {
	Guard *guard.Service
	Keys  interface {
		Resolve(ctx context.Context, key string) (principal.Principal, error)
	}
	// Stops tells whether the kill switch has stopped a key.
	Stops interface {
		KeyStopped(ctx context.Context, orgID, keyID string) (bool, error)
	}
	Tokens *oauth.Service
	// UserToken is the token of a person for a server that wants the consent of each.
	UserToken func(ctx context.Context, orgID, userID string, of mcp.Reach) (secret.Text, error)
	// Spent notes that the server refuses it.
	Spent       func(ctx context.Context, orgID, userID string, of mcp.Reach, token secret.Text) error
	Enforcement *enforcement.Service
	Executions  *execution.Service
	Servers     *mcp.Service
	Policies    *policy.Service
	Approvals   *approval.Service
	Bodies      *route.Bodies
	Now         func() time.Time
	MaxBytes    int64 // of a call or an outcome
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("proxy")
	route.Handle(r, route.Get("/proxy/guard/caller", "Who the credential of an agent stands for").
		For(route.Proxy), h.caller)
	route.Handle(r, route.Get("/proxy/guard/servers", "The approved MCP servers of the agent's organization").
		For(route.Proxy), h.servers)
	route.Handle(r, route.Get("/proxy/guard/route", "How a tool of an MCP server is reached").
		For(route.Proxy), h.route)
	route.Handle(r, route.Post("/proxy/guard/visible", "Which tools the agent could ever be allowed").
		For(route.Proxy).Unrecorded().UpTo(maxAsked), h.visible)
	route.Raw[message.ProxyCall, message.ProxyAnswer](r,
		route.Post("/proxy/guard/decisions", "Have a call decided for the agent").
			For(route.Proxy).Records(decided), h.decide)
	route.Handle(r, route.Get("/proxy/guard/decisions/{decisionId}/obligations",
		"What a decision asks of whoever carries the call out").For(route.Proxy), h.obligations)
	route.Handle(r, route.Post("/proxy/guard/decisions/{decisionId}/secret",
		"The secret of the MCP server, once for a fresh allow").
		For(route.Proxy).Records(guard.ActionReleased), h.secret)
	h.mountOutcome(r, route.Post("/proxy/guard/decisions/{decisionId}/outcome", "Report what came of a call").
		For(route.Proxy).Records(execution.ActionReported))
	route.Handle(r, route.Get("/proxy/guard/approvals/{approvalId}", "How an approval request stands").
		For(route.Proxy), h.approval)
}

// mountOutcome serves a route whose body may be larger than others.
func (h *Handlers) mountOutcome(r *route.Router, rt route.Route) {
	r.Serve(rt, h.outcome)
	text := &huma.Schema{Type: huma.TypeString}
	r.Document(rt, huma.Operation{
		Parameters: []*huma.Param{
			{
				Name: "decisionId", In: "path", Required: true, Description: "The decision.",
				Schema: text,
			},
			{Name: message.ReportHeader, In: "header", Description: "reportToken of the decision.", Schema: text},
		},
		RequestBody: &huma.RequestBody{Required: true, Content: route.Content[message.ProxyOutcome](r)},
		Responses: map[string]*huma.Response{
			"200": {Description: "It is recorded", Content: route.Content[message.ProxyReported](r)},
		},
	}, http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusInternalServerError)
}

// AgentInput is the agent that the proxy works for.
type AgentInput struct {
	Credential string `header:"Writ-On-Behalf-Of" maxLength:"1000" doc:"The agent's API key, or the access token of an OAuth client."`
	At         string `header:"Writ-Mcp-Server" maxLength:"300" doc:"The MCP server of the address at which an access token was shown; absent: that of all."`
}

// agent is a verified agent.
type agent struct {
	principal.Principal
	id        string // the agent that an OAuth client acts as; empty: the key says so itself
	expiresAt time.Time
	only      *string // the name of the one server that an access token is for; nil: it is for all
}

// refuses is why the agent may have nothing to do with a server; nil: it may.
func (a *agent) refuses(server string) error {
	if a.only == nil || *a.only != "" && *a.only == server {
		return nil
	}
	return fault.New(fault.Forbidden, "the access token is for another MCP server")
}

// resolve finds who a credential stands for.
func (h *Handlers) resolve(ctx context.Context, in AgentInput) (a agent, err error) {
	switch {
	case in.Credential == "":
		return agent{}, fault.New(fault.Unauthenticated, "%s: must be the agent's credential", message.AgentHeader)
	case oauth.IsAccessToken(in.Credential):
		granted, err := h.Tokens.Authenticate(ctx, in.Credential, in.At)
		if err != nil {
			return agent{}, err
		}
		a = agent{Principal: granted.Caller, id: granted.AgentID, expiresAt: granted.ExpiresAt}
	default:
		if a.Principal, err = h.Keys.Resolve(ctx, in.Credential); err != nil {
			return agent{}, err
		}
	}
	if a.Kind != principal.Key || !a.HasScope(principal.Enforce) || a.OrgID == "" {
		return agent{}, fault.New(fault.Forbidden,
			"calls are made with an API key of the scope %s, in an organization", principal.Enforce)
	}
	return a, nil
}

// actFor is resolve for routes that do something. A credential that is not good is a Forbidden: an Unauthenticated
// would say that the proxy is not known.
func (h *Handlers) actFor(ctx context.Context, in AgentInput) (agent, error) {
	a, err := h.resolve(ctx, in)
	if fault.Is(err, fault.Unauthenticated) {
		err = fault.New(fault.Forbidden, "the agent's credential is not valid, or has ended")
	}
	if err != nil || in.At == "" || !oauth.IsAccessToken(in.Credential) {
		return a, err
	}
	of, err := h.Servers.Get(ctx, a.Principal, in.At)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return agent{}, err
	}
	a.only = &of.Name // of a server that is not registered any more: none
	return a, nil
}

type callerInput struct {
	AgentInput
	AgentID string `query:"agentId" maxLength:"300" doc:"The agent that the key says it is."`
}

// caller tells who an agent is and whether it may act. A credential that is not good is an answer, not an error.
func (h *Handlers) caller(ctx context.Context, _ principal.Principal, in *callerInput) (message.ProxyCaller, error) {
	a, err := h.resolve(ctx, in.AgentInput)
	kind := fault.KindOf(err)
	if kind == fault.Unauthenticated || kind == fault.Forbidden {
		answer := message.ProxyCaller{Problem: err.Error(), Forbidden: kind == fault.Forbidden}
		if kind == fault.Unauthenticated {
			answer.Challenge = h.Tokens.Challenge(in.At, oauth.IsAccessToken(in.Credential))
		}
		return answer, nil
	}
	if err != nil {
		return message.ProxyCaller{}, err
	}
	answer := message.ProxyCaller{KeyID: a.KeyID, UserID: a.UserID, OrganizationID: a.OrgID, AgentID: a.id}
	if !a.expiresAt.IsZero() {
		answer.ExpiresAt = &a.expiresAt
	}
	if answer.Stopped, err = h.Stops.KeyStopped(ctx, a.OrgID, a.KeyID); err != nil {
		return message.ProxyCaller{}, err
	}
	err = h.Enforcement.RefuseCaller(ctx, a.Principal, a.actsAs(in.AgentID))
	switch {
	case fault.Is(err, fault.Forbidden) || fault.Is(err, fault.Unauthenticated):
		answer.Refused, err = err.Error(), nil
	case fault.Is(err, fault.Unavailable):
		answer.Unknown, err = err.Error(), nil
	}
	if err != nil {
		return message.ProxyCaller{}, err
	}
	version, err := h.Enforcement.Version(ctx, a.OrgID)
	if err != nil {
		return message.ProxyCaller{}, err
	}
	answer.Version = message.VersionOf(version)
	settings, stated, err := h.Policies.ProxySettings(ctx, a.Principal)
	answer.Settings = message.SettingsOf(settings, stated)
	return answer, err
}

// actsAs is the agent of a call: an OAuth client is the one that a person has let it be, whatever it says.
func (a *agent) actsAs(said string) string {
	if a.id != "" {
		return a.id
	}
	return said
}

type serversInput struct{ AgentInput }

// servers lists those of the organization, or the one that an access token is for.
func (h *Handlers) servers(
	ctx context.Context, _ principal.Principal, in *serversInput,
) (answer message.ProxyServers, err error) {
	a, err := h.actFor(ctx, in.AgentInput)
	if err != nil {
		return answer, err
	}
	// The version is read before the servers, so that nothing is older than it says.
	version, err := h.Enforcement.Version(ctx, a.OrgID)
	if err != nil {
		return answer, err
	}
	answer = message.ProxyServers{Version: message.VersionOf(version), Servers: []message.ProxyServer{}}
	approved, err := h.Servers.List(ctx, a.Principal, mcp.Approved)
	if err != nil {
		return answer, err
	}
	for i := range approved {
		if approved[i].URL == "" || a.refuses(approved[i].Name) != nil {
			continue
		}
		_, tools, err := h.Servers.Tools(ctx, a.Principal, approved[i].ID)
		if fault.Is(err, fault.NotFound) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return answer, err
		}
		sent, err := message.ServerOf(&approved[i], tools)
		if err != nil {
			return answer, err
		}
		answer.Servers = append(answer.Servers, sent)
	}
	return answer, nil
}

type routeInput struct {
	AgentInput
	Server string `query:"server" required:"true" maxLength:"300" doc:"The MCP server, by its name."`
	Tool   string `query:"tool" maxLength:"300" doc:"The tool; absent: something else of the server is wanted."`
}

func (h *Handlers) route(ctx context.Context, _ principal.Principal, in *routeInput) (message.ProxyRoute, error) {
	a, err := h.actFor(ctx, in.AgentInput)
	if err != nil {
		return message.ProxyRoute{}, err
	}
	if err := a.refuses(in.Server); err != nil {
		return message.ProxyRoute{}, err
	}
	reach, err := h.Servers.ReachOf(ctx, a.OrgID, in.Server, in.Tool)
	return message.RouteOf(reach), err
}

// maxAsked bounds the tools that are asked about at once, in bytes.
const maxAsked = 4 << 20

type visibleInput struct {
	AgentInput
	Body message.ProxyAsked
}

func (h *Handlers) visible(ctx context.Context, _ principal.Principal, in *visibleInput) (message.ProxyVisible, error) {
	a, err := h.actFor(ctx, in.AgentInput)
	if err != nil {
		return message.ProxyVisible{}, err
	}
	call := message.ProxyCall{
		Plan: in.Body.Plan, AgentID: a.actsAs(in.Body.AgentID), UserID: in.Body.UserID, UserEmail: in.Body.UserEmail,
		SessionID: in.Body.SessionID, Only: true, Obliges: !in.Body.Unobliged,
	}
	tools := make([]toolname.Name, len(in.Body.Tools))
	for i, named := range in.Body.Tools {
		tools[i] = toolname.Name{Server: named.Server, Tool: named.Tool}
	}
	seen, err := h.Enforcement.Visible(ctx, a.Principal, call.Request(), tools)
	answer := message.ProxyVisible{Visible: make([]bool, len(seen)), Redacted: make([]bool, len(seen))}
	for i, of := range seen {
		answer.Visible[i] = of.Visible && a.refuses(tools[i].Server) == nil
		answer.Redacted[i] = of.Redacted
	}
	return answer, err
}

type approvalInput struct {
	AgentInput
	ID   string `path:"approvalId" doc:"The request."`
	Wait int    `query:"wait" minimum:"0" maximum:"60" default:"0" doc:"Seconds to wait for an answer."`
}

func (h *Handlers) approval(
	ctx context.Context, _ principal.Principal, in *approvalInput,
) (message.ProxyApproval, error) {
	a, err := h.actFor(ctx, in.AgentInput)
	if err != nil {
		return message.ProxyApproval{}, err
	}
	found, err := h.Approvals.Wait(ctx, a.Principal, in.ID, time.Duration(in.Wait)*time.Second)
	return message.ProxyApproval{Status: string(found.Status)}, err
}

// agentOf is the agent of a request that is read by hand.
func (h *Handlers) agentOf(r *http.Request) (agent, error) {
	var in AgentInput
	for _, header := range []struct {
		name string
		to   *string
		most int
	}{{message.AgentHeader, &in.Credential, 1000}, {message.ServerHeader, &in.At, 300}} {
		values := r.Header.Values(header.name)
		if len(values) > 1 || len(strings.Join(values, "")) > header.most {
			return agent{}, fault.Field(header.name, "must be given once, with at most %d bytes", header.most)
		}
		*header.to = strings.Join(values, "")
	}
	return h.actFor(r.Context(), in)
}
