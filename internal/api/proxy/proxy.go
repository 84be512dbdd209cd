// Package proxy serves the MCP endpoint of the enforcement proxy.
package proxy

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/decision"
	"writ/internal/gateway"
	"writ/internal/principal"
)

// Handlers serve the endpoint.
type Handlers struct {
	Gateway *gateway.Gateway
}

// MCPMessageBody is a message of MCP: JSON-RPC 2.0.
type MCPMessageBody struct {
	Version string `json:"jsonrpc" enum:"2.0"`
	ID      any    `json:"id,omitempty" doc:"A text or a number; absent of a notification."`
	Method  string `json:"method,omitempty" example:"tools/call"`
	Params  any    `json:"params,omitempty"`
	Result  any    `json:"result,omitempty"`
	Error   any    `json:"error,omitempty"`
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("proxy")
	const all, one = "/proxy/mcp", "/proxy/mcp/{mcpId}"
	for _, path := range []string{all, one} {
		which := "all permitted MCP servers; names of tools begin with their server's"
		if path == one {
			which = "one MCP server, by its id or name, under its own names"
		}
		post := caller(route.Post(path, "Send an MCP message to "+which)).Records(decision.Action)
		get := caller(route.Get(path, "The stream of an MCP session, or a session of the SSE transport: "+which))
		end := caller(route.Delete(path, "End an MCP session: "+which)).Unrecorded().Answers(http.StatusNoContent)
		route.Raw[MCPMessageBody, MCPMessageBody](r, post, h.serve)
		documentRefusals(r, path)
		r.Serve(get, h.serve)
		r.Document(get, streamed("Messages, as server-sent events"), http.StatusNotFound,
			http.StatusInternalServerError)
		r.Serve(end, h.serve)
		r.Document(end, ended(), http.StatusNotFound, http.StatusInternalServerError)
	}
}

// caller says who may use the endpoint: an agent, with its key. This is the one place that says so.
func caller(rt route.Route) route.Route { return rt.For(route.Key).Scoped(principal.Enforce) }

func (h *Handlers) serve(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	return h.Gateway.Serve(w, r, caller, r.PathValue("mcpId"))
}

// documentRefusals says that a message which is not taken is answered as JSON-RPC has it.
func documentRefusals(r *route.Router, path string) {
	responses := r.OpenAPI().Paths[path].Post.Responses
	for _, status := range []int{
		http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	} {
		responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Content: route.Content[MCPMessageBody](r),
		}
	}
}

func streamed(what string) huma.Operation {
	return huma.Operation{Responses: map[string]*huma.Response{strconv.Itoa(http.StatusOK): {
		Description: what, Content: map[string]*huma.MediaType{"text/event-stream": {}},
	}}}
}

func ended() huma.Operation {
	return huma.Operation{Responses: map[string]*huma.Response{
		strconv.Itoa(http.StatusNoContent): {Description: "The session has ended"},
	}}
}
