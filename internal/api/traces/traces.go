// Package traces serves telemetry: it takes what agents did, in Writ's own form or in OpenTelemetry's, and shows it.
//
// Agents send traces with their spans (ingest.go, otlp.go). People read them back as traces and sessions (trace.go,
// sessions.go), piece by piece where they are large (outline.go), as statistics (analytics.go), as files of any size
// (export.go), and live as they arrive, together with decisions (tail.go). An organization may also have all of it
// sent to a collector of its own (forwarding.go).
//
// Every reader may see that something happened. What was said, in attributes and previews, is shown only to roles that
// may read payloads; every trace passes through visible on its way out.
package traces

import (
	"context"
	"log/slog"
	"time"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/forwarding"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// Handlers serve telemetry.
type Handlers struct {
	Telemetry  *telemetry.Service
	Forwarding *forwarding.Service
	// Agents tells under which ids a stopped key may still send traces.
	Agents interface {
		NotOwn(ctx context.Context, orgID, keyID string, ids []string) (string, error)
	}
	// has the decisions that a live tail shows
	Database *database.DB
	// Audit has the decisions of a trace.
	Audit *audit.Service
	// PolicyName is the name of a stored policy; empty: there is none.
	PolicyName func(ctx context.Context, orgID, policyID string) (string, error)
	// Behind is how far telemetry may lag behind decisions.
	Behind         func() time.Duration
	Bodies         *route.Bodies
	Logger         *slog.Logger
	MaxIngestBytes int64 // of a request, decompressed
	Kept           Kept

	router  *route.Router
	exports route.Slots
	tails   route.Slots
}

// Mount serves the routes of telemetry.
func (h *Handlers) Mount(r *route.Router) {
	h.router = r.Tagged("observability")
	h.mountIngest(h.router)
	h.mountReads(h.router)
	h.mountOTLP(h.router)
	h.mountExports(h.router)
	h.mountTail(h.router)
	h.mountOutlines(h.router)
	h.mountRetention(h.router)
}

// read adds what every route needs that shows telemetry.
func read(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ReadTelemetry) }

func (h *Handlers) mountReads(r *route.Router) {
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/sessions",
		"Sessions, latest activity first")), h.listSessions)
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/sessions/{id}",
		"One session with its traces; null if there is none")), h.getSession)
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/traces", "Traces, newest first")), h.listTraces)
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/traces/{id}",
		"One trace with its spans; null if there is none")), h.getTrace)
	r.DocumentNull("/organization/{orgId}/observability/sessions/{id}")
	r.DocumentNull("/organization/{orgId}/observability/traces/{id}")
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/policies/{policyId}",
		"How a policy decided")), h.policyStats)
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/analytics/summary", "Overview")), h.summary)
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/analytics/series",
		"A metric over time, by hour or day")), h.series)
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/analytics/denials",
		"What denied calls, by decider and rule")), h.denials)
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/tokens",
		"Token and cost usage, grouped")), h.tokens)
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/prices",
		"What a model costs, and why")), h.price)
}
