package api

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Stopping makes /ready answer 503 from now on, so that a load balancer sends no more, and ends the streams.
func (a *API) Stopping() {
	a.router.Stop()
	a.gateway.Close()
}

// HealthBody says that the server works.
type HealthBody struct {
	Status  string `json:"status" doc:"ok, or ready" example:"ok"`
	Version string `json:"version" doc:"Of the server." example:"v0.1.0"`
	// What does not keep requests from being served, and an operator must know.
	AuditLog string `json:"auditLog,omitzero" doc:"Of /ready: altered, where the last check found that what is stored is not what was signed."`
	Witness  string `json:"witness,omitzero" doc:"Of /ready, where checkpoints go to a witness: ok, or behind while it cannot be reached." example:"ok"`
}

// ReadyBody says that requests can be served.
type ReadyBody struct {
	HealthBody
	Telemetry string `json:"telemetry" enum:"ok,down" doc:"down: telemetry is refused, and rules about cost, tokens and sessions deny." example:"ok"`
}

// readyWait bounds how long a probe waits for the database.
const readyWait = 2 * time.Second

func (a *API) mountHealth(r *route.Router) {
	// Always 200, whatever the credentials: published clients exit on a 401 here.
	route.Handle(r, route.Get("/health", "Whether the process is alive").For(route.Public), a.health)
	route.Handle(r, route.Get("/ready", "Whether requests can be served").For(route.Public), a.readiness)
	a.mountMetrics()
}

func (a *API) health(context.Context, principal.Principal, *route.None) (HealthBody, error) {
	return HealthBody{Status: "ok", Version: a.version}, nil
}

// readiness is 200 only while decisions can be recorded, because all others are denied. Telemetry may be down.
func (a *API) readiness(ctx context.Context, _ principal.Principal, _ *route.None) (ReadyBody, error) {
	select {
	case <-a.router.Stopping():
		return ReadyBody{}, fault.New(fault.Unavailable, "the server is stopping")
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	if err := a.database.Ping(ctx); err != nil {
		return ReadyBody{}, fault.Wrap(err, fault.Unavailable, "the database cannot be reached")
	}
	if err := a.database.CheckWritable(ctx); err != nil {
		return ReadyBody{}, fault.Wrap(err, fault.Unavailable, "the database cannot be written")
	}
	body := ReadyBody{HealthBody{Status: "ready", Version: a.version}, "ok"}
	if a.telemetry != nil && (a.telemetry.IsFailing() || a.telemetry.Ping(ctx) != nil) {
		body.Telemetry = "down"
	}
	a.addEvidence(&body.HealthBody)
	return body, nil
}

// addEvidence says what is wrong with the evidence. It never makes the server unready: it would deny everybody.
func (a *API) addEvidence(body *HealthBody) {
	if a.auditProblems != nil {
		if problems, _ := a.auditProblems(); problems > 0 {
			body.AuditLog = "altered"
		}
	}
	if a.witnessBehind != nil {
		if body.Witness = "ok"; a.witnessBehind() > 0 {
			body.Witness = "behind"
		}
	}
}
