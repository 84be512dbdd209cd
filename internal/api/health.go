package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/fault"
	"writ/internal/principal"
)

// Stopping makes /ready answer 503 from now on, so that a load balancer sends no more, and ends the streams.
func (a *API) Stopping() { a.router.Stop() }

type statusOutput struct {
	Body struct {
		Status  string `json:"status" doc:"ok, or ready" example:"ok"`
		Version string `json:"version" doc:"Of the server." example:"v0.1.0"`
	}
}

func (a *API) newStatus(status string) *statusOutput {
	out := &statusOutput{}
	out.Body.Status, out.Body.Version = status, a.Version
	return out
}

// readyWait bounds how long a probe waits for the database.
const readyWait = 2 * time.Second

func (a *API) mountHealth() {
	// Always 200, whatever the credentials: published clients exit on a 401 here.
	handle(a, Route{
		Method:  http.MethodGet,
		Path:    "/health",
		Tag:     "operation",
		Summary: "Whether the process is alive",
		Mode:    Public,
	},
		func(context.Context, principal.Principal, *struct{}) (*statusOutput, error) {
			return a.newStatus("ok"), nil
		})
	handle(a, Route{
		Method:  http.MethodGet,
		Path:    "/ready",
		Tag:     "operation",
		Summary: "Whether requests can be served",
		Mode:    Public,
	},
		func(ctx context.Context, _ principal.Principal, _ *struct{}) (*statusOutput, error) {
			select {
			case <-a.router.Stopping():
				return nil, fault.New(fault.Unavailable, "the server is stopping")
			default:
			}
			ctx, cancel := context.WithTimeout(ctx, readyWait)
			defer cancel()
			if err := a.Database.Ping(ctx); err != nil {
				return nil, fault.Wrap(err, fault.Unavailable, "the database cannot be reached")
			}
			return a.newStatus("ready"), nil
		})
	a.mountMetrics()
}
