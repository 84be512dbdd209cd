package servers

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/principal"
	"writ/internal/telemetry"
	"writ/internal/toolname"
)

func (h *Handlers) mountTelemetry(r *route.Router) {
	route.Handle(r, route.Get("/mcp/servers/{mcpId}/telemetry",
		"How often the tools of a server were called, refused and failed, and how long they took").
		For(route.Person).Needs(principal.ReadTelemetry), h.telemetry)
}

// MCPTelemetryBody is what was called of a server.
type MCPTelemetryBody struct {
	Days  int                    `json:"days"`
	Tools []MCPToolTelemetryBody `json:"tools" nullable:"false" doc:"By name; those about which something was decided."`
}

// MCPToolTelemetryBody is what was called of a tool.
type MCPToolTelemetryBody struct {
	Tool    string            `json:"tool"`
	Calls   int64             `json:"calls" doc:"Decisions."`
	Denials int64             `json:"denials"`
	Holds   int64             `json:"holds"`
	Asks    int64             `json:"asks"`
	Spans   int64             `json:"spans" doc:"Calls that the latest thousand traces tell of; errors and durations are of these."`
	Errors  int64             `json:"errors"`
	P50Ms   *float64          `json:"p50Ms" doc:"Null: traces tell of none."`
	P95Ms   *float64          `json:"p95Ms"`
	Hours   []MCPHourOfServer `json:"hours" nullable:"false" doc:"Those in which something was decided."`
}

// MCPHourOfServer is what was decided about a tool in an hour.
type MCPHourOfServer struct {
	At      time.Time `json:"at"`
	Calls   int64     `json:"calls"`
	Denials int64     `json:"denials"`
	Holds   int64     `json:"holds"`
}

type serverTelemetryInput struct {
	ServerInput
	Days int `query:"days" minimum:"1" maximum:"30" default:"7"`
}

func (h *Handlers) telemetry(
	ctx context.Context, caller principal.Principal, in *serverTelemetryInput,
) (MCPTelemetryBody, error) {
	s, err := h.Servers.Get(ctx, caller, in.MCPID)
	if err != nil {
		return MCPTelemetryBody{}, err
	}
	found, err := h.Telemetry.ServerCalls(ctx, caller.OrgID, s.Name, telemetry.Days(in.Days), func(
		tool string,
	) []string {
		n := toolname.Name{Server: s.Name, Tool: tool}
		return []string{tool, toolname.Claude(n), toolname.Gemini(n), s.Name + "." + tool, s.Name + "__" + tool}
	})
	body := MCPTelemetryBody{Days: in.Days, Tools: route.ItemsOf(found, toolTelemetry).Items}
	return body, err
}

func toolTelemetry(t telemetry.ToolCalls) MCPToolTelemetryBody {
	return MCPToolTelemetryBody{
		Tool:    t.Tool,
		Calls:   t.Total(),
		Denials: t.Denied,
		Holds:   t.Held,
		Asks:    t.Asked,
		Spans:   t.Spans,
		Errors:  t.Errors,
		P50Ms:   t.P50,
		P95Ms:   t.P95,
		Hours: route.ItemsOf(t.Hours, func(h telemetry.HourOfCalls) MCPHourOfServer {
			return MCPHourOfServer{h.At, h.Total(), h.Denied, h.Held}
		}).Items,
	}
}
