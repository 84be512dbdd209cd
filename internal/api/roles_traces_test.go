package api_test

import (
	"context"
	"io"
	"net/http"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// telemetryRoleCases are the reads: every role may, though a viewer sees less.
func telemetryRoleCases() []roleCase {
	read := func(path, what string, call func(ctx context.Context, org string, p *testserver.Person) error) roleCase {
		return roleCase{"GET /organization/{orgId}/observability" + path, what, anyRole, 0,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				return call(ctx, org, p)
			}}
	}
	return []roleCase{
		read("/sessions", "list", func(ctx context.Context, org string, p *testserver.Person) error {
			_, err := p.TelemetrySessions(ctx, org, client.SessionFilter{})
			return err
		}),
		read("/sessions/{id}", "read", func(ctx context.Context, org string, p *testserver.Person) error {
			_, err := p.TelemetrySession(ctx, org, database.NewID())
			return err
		}),
		read("/traces", "list", func(ctx context.Context, org string, p *testserver.Person) error {
			_, err := p.Traces(ctx, org, client.TraceFilter{})
			return err
		}),
		read("/traces/{id}", "read", func(ctx context.Context, org string, p *testserver.Person) error {
			_, err := p.Trace(ctx, org, database.NewID())
			return err
		}),
		read("/policies/{policyId}", "read", func(ctx context.Context, org string, p *testserver.Person) error {
			_, err := p.PolicyStats(ctx, org, "p", 0)
			return err
		}),
		read("/analytics/summary", "read", func(ctx context.Context, org string, p *testserver.Person) error {
			_, err := p.Summary(ctx, org, 0)
			return err
		}),
		read("/analytics/series", "read", func(ctx context.Context, org string, p *testserver.Person) error {
			_, err := p.Series(ctx, org, client.SeriesQuery{Metric: "decisions"})
			return err
		}),
		read("/analytics/denials", "read", func(ctx context.Context, org string, p *testserver.Person) error {
			_, err := p.Denials(ctx, org, 0)
			return err
		}),
		read("/tokens", "read", func(ctx context.Context, org string, p *testserver.Person) error {
			_, err := p.Client.Tokens(ctx, org, "", 0)
			return err
		}),
		read("/sessions/export", "export", func(ctx context.Context, org string, p *testserver.Person) error {
			return closed(p.ExportSessions(ctx, org, "", client.SessionFilter{}))
		}),
		read("/traces/export", "export", func(ctx context.Context, org string, p *testserver.Person) error {
			return closed(p.ExportTraces(ctx, org, client.TraceExport{}))
		}),
		read("/sessions/{id}/export", "export one", func(ctx context.Context, org string, p *testserver.Person) error {
			return letIn(closed(p.ExportSession(ctx, org, database.NewID())))
		}),
		read("/traces/{id}/export", "export one", func(ctx context.Context, org string, p *testserver.Person) error {
			return letIn(closed(p.ExportTrace(ctx, org, database.NewID())))
		}),
	}
}

// closed reads an export to its end.
func closed(body io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}

// letIn takes it for a yes that there is nothing: who may not read learns less.
func letIn(err error) error {
	if client.StatusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// pageRoleCases are the reads of the dashboard for which the client has no method.
func pageRoleCases() []roleCase {
	var cases []roleCase
	for route, path := range map[string]string{
		"/roles":                "/roles",
		"/retention":            "/retention",
		"/observability/prices": "/observability/prices?model=gpt-4o",
		"/observability/traces/{id}/spans/{spanId}": "/observability/traces/" + database.NewID() + "/spans/x",
		"/observability/traces/{id}/decisions":      "/observability/traces/" + database.NewID() + "/decisions",
	} {
		cases = append(cases, roleCase{"GET /organization/{orgId}" + route, "read", anyRole, 0,
			func(_ context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				answer := s.Send(http.MethodGet, "/organization/"+org+path,
					testserver.WithBearer(p.Tokens.AccessToken), "")
				if answer.Status != http.StatusOK {
					return &client.Error{StatusCode: answer.Status, Message: answer.Body}
				}
				return nil
			}})
	}
	return cases
}

func tailRoleCases() []roleCase {
	return []roleCase{{"GET /organization/{orgId}/observability/stream", "watch", anyRole, 0,
		func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
			events, err := p.Tail(ctx, org, client.TailFilter{}, "")
			if err != nil {
				return err
			}
			return events.Close()
		}}}
}
