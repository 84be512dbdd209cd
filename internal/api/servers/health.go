package servers

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/mcp"
	"writ/internal/principal"
)

func (h *Handlers) mountHealth(r *route.Router) {
	person := func(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ReadOrganization) }
	route.Handle(r, person(route.Get("/mcp/servers/{mcpId}/health",
		"How a server answers, and how it answered before")), h.health)
}

// MCPHealthBody is how a server answers.
type MCPHealthBody struct {
	MCPHealthNow
	Uptime  *float64       `json:"uptime" doc:"The share of the checks below that it answered. Null: there are none."`
	History []MCPCheckBody `json:"history" nullable:"false" doc:"The latest first, 200 at most."`
}

// MCPCheckBody is how a server answered once.
type MCPCheckBody struct {
	At        time.Time `json:"at"`
	Healthy   bool      `json:"healthy"`
	LatencyMs int64     `json:"latencyMs"`
	Problem   string    `json:"problem"`
}

func (h *Handlers) health(ctx context.Context, caller principal.Principal, in *ServerInput) (MCPHealthBody, error) {
	s, checks, err := h.Servers.History(ctx, caller, in.MCPID)
	if err != nil {
		return MCPHealthBody{}, err
	}
	healthy := 0
	body := MCPHealthBody{MCPHealthNow: healthNow(&s), History: route.ItemsOf(checks, func(c mcp.Check) MCPCheckBody {
		if c.Healthy {
			healthy++
		}
		return MCPCheckBody{c.At, c.Healthy, c.Latency.Milliseconds(), c.Problem}
	}).Items}
	if len(checks) > 0 {
		share := float64(healthy) / float64(len(checks))
		body.Uptime = &share
	}
	return body, nil
}
