// Package proxy serves the MCP endpoint of the enforcement proxy.
package proxy

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/gateway"
	"writ/internal/oauth"
	"writ/internal/principal"
)

// Handlers serve the endpoint.
type Handlers struct {
	Gateway *gateway.Gateway
	// Admit authenticates a request by its access token, at the address of one MCP server or of all. challenge is the
	// WWW-Authenticate of a refusal.
	Admit func(r *http.Request, mcpID string) (granted oauth.Granted, challenge string, err error)
}

// MCPMessageBody is a message of MCP: JSON-RPC 2.0.
type MCPMessageBody struct {
	Version string         `json:"jsonrpc" enum:"2.0"`
	ID      string         `json:"id,omitempty" doc:"Or a number; absent of a notification."`
	Method  string         `json:"method,omitempty" example:"tools/call"`
	Params  map[string]any `json:"params,omitempty"`
	Result  map[string]any `json:"result,omitempty"`
	Error   map[string]any `json:"error,omitempty"`
}

// Mount serves the routes. Where the path names no server they are about all that are permitted.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("proxy")
	h.mount(r, posting(route.Post("/proxy/mcp", "Send an MCP message to all permitted MCP servers")),
		route.Get("/proxy/mcp", "The stream of an MCP session, or a session of the SSE transport"),
		ending(route.Delete("/proxy/mcp", "End an MCP session")))
	h.mount(r, posting(route.Post("/proxy/mcp/{mcpId}", "Send an MCP message to one MCP server, under its own names")),
		route.Get("/proxy/mcp/{mcpId}", "The stream of an MCP session with one server, or one of the SSE transport"),
		ending(route.Delete("/proxy/mcp/{mcpId}", "End an MCP session with one server")), &huma.Param{
			Name: "mcpId", In: "path", Required: true, Description: "The server, by its id or name.",
			Schema: &huma.Schema{Type: huma.TypeString},
		})
}

// posting is of a route whose decisions record themselves, with whatever they are about: a message need not have one.
func posting(rt route.Route) route.Route { return rt.Unrecorded() }

func ending(rt route.Route) route.Route { return rt.Unrecorded().Answers(http.StatusNoContent) }

func (h *Handlers) mount(r *route.Router, post, get, end route.Route, parameters ...*huma.Param) {
	answers := func(status int, response *huma.Response) huma.Operation {
		return huma.Operation{
			Parameters: parameters, Responses: map[string]*huma.Response{strconv.Itoa(status): response},
		}
	}
	posted := answers(http.StatusOK, &huma.Response{
		Description: "The answer, also as server-sent events", Content: route.Content[MCPMessageBody](r),
	})
	posted.RequestBody = &huma.RequestBody{Required: true, Content: route.Content[MCPMessageBody](r)}
	streamed := answers(http.StatusOK, &huma.Response{
		Description: "Messages, as server-sent events",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: route.Schema[MCPMessageBody](r)}},
	})
	ended := answers(http.StatusNoContent, &huma.Response{Description: "The session has ended"})
	for _, mounted := range []struct {
		rt route.Route
		op huma.Operation
	}{{post, posted}, {get, streamed}, {end, ended}} {
		rt := caller(mounted.rt)
		r.Serve(rt, h.serve)
		r.Document(rt, mounted.op, http.StatusNotFound, http.StatusRequestEntityTooLarge,
			http.StatusTooManyRequests, http.StatusInternalServerError)
	}
}

// caller says who may use the endpoint: an agent, with its key or as an OAuth client. This is the one place that says
// so.
//
// MCP clients keep to the address that a person gave them, whatever parameters it has; they filter nothing.
func caller(rt route.Route) route.Route {
	return rt.For(route.Agent).Scoped(principal.Enforce).AnyQuery()
}

func (h *Handlers) serve(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	server := r.PathValue("mcpId")
	if caller.Kind == principal.Key {
		return h.Gateway.Serve(w, r, caller, server)
	}
	granted, challenge, err := h.Admit(r, server)
	if challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	if err != nil {
		return err
	}
	ctx, end := h.whileAdmitted(r, server)
	defer end()
	return h.Gateway.Serve(w, r.WithContext(gateway.WithAgent(ctx, granted.AgentID)), granted.Caller, server)
}

// admittedEvery is how often the token of a request that runs is looked at.
const admittedEvery = time.Second

// whileAdmitted is the context of a request until its access token expires or is revoked: a stream must not outlive it.
// Where nobody knows the stream stays, and calls are denied.
func (h *Handlers) whileAdmitted(r *http.Request, server string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	look := r.Clone(ctx) // what serves the request changes its headers
	go func() {
		ticker := time.NewTicker(admittedEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			_, _, err := h.Admit(look, server)
			if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Forbidden) {
				cancel()
				return
			}
		}
	}()
	return ctx, cancel
}
