// Package auditlog serves the audit log of an organization: its entries with their proofs, the whole log for
// a verifier, the reports of what agents did, and the findings about what does not fit together.
package auditlog

import (
	"context"
	"log/slog"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/execution"
	"writ/internal/principal"
)

// Handlers serve the audit log.
type Handlers struct {
	Audit      *audit.Service
	Executions *execution.Service
	// CheckpointKeys are the keys of checkpoints, newest first.
	CheckpointKeys func(ctx context.Context) ([]string, error)
	// CheckLog compares a log with what is stored of it and beside it.
	CheckLog func(ctx context.Context, log string, found func(audit.Problem)) (entries int64, err error)

	Bodies         *route.Bodies
	MaxBodyBytes   int64 // of a report without an API key
	MaxReportBytes int64
	Logger         *slog.Logger
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	h.mountExecutions(r.Tagged("enforcement"))
	log := r.Tagged("audit log")
	h.mountEntries(log)
	h.mountProofs(log)
	h.mountFindings(log)
	h.mountExport(log)
	h.mountErasure(log)
	h.mountCheck(log)
}

// read is a route for everyone who may read what agents do.
func read(rt route.Route) route.Route {
	return rt.For(route.Person).Needs(principal.ReadTelemetry)
}
