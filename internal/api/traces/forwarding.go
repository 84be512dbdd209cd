package traces

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/forwarding"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

// MountForwarding serves the settings of forwarding, and how it goes.
func (h *Handlers) MountForwarding(r *route.Router) {
	r = r.Tagged("forwarding")
	manage := func(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ManageForwarding) }
	route.Handle(r, manage(route.Get("/organization/{orgId}/forwarding",
		"Where traces and decisions are sent")), h.getForwarding)
	route.Handle(r, manage(route.Put("/organization/{orgId}/forwarding",
		"Send traces and decisions to a collector (OTLP over HTTP), or change how")).
		Records("forwarding.set").Configures(), h.putForwarding)
	route.Handle(r, manage(route.Delete("/organization/{orgId}/forwarding", "Stop sending, and delete the settings")).
		Records("forwarding.deleted").Answers(http.StatusNoContent), h.deleteForwarding)
	route.Handle(r, manage(route.Get("/organization/{orgId}/forwarding/status",
		"How far sending is: what waits, the last problem, what was lost")), h.forwardingStatus)
	route.Handle(r, manage(route.Post("/organization/{orgId}/forwarding/test",
		"Send one made-up span at once, and say what came of it")).
		Throttled(throttle.TestForwarding).Unrecorded(), h.testForwarding)
}

// ForwardingBody is where traces and decisions are sent.
type ForwardingBody struct {
	Endpoint       string             `json:"endpoint" example:"https://collector.example.com/v1/traces"`
	Headers        []string           `json:"headers" nullable:"false" doc:"Names; values are not shown." example:"[\"x-api-key\"]"`
	Traces         bool               `json:"traces"`
	Decisions      bool               `json:"decisions"`
	Content        forwarding.Content `json:"content" enum:"none,redacted,full"`
	MaxAgeHours    int                `json:"maxAgeHours" doc:"How long something waits for the collector before it is lost."`
	Enabled        bool               `json:"enabled"`
	DisabledReason string             `json:"disabledReason" doc:"Why it is not enabled, if no person disabled it; else empty."`
	CreatedAt      time.Time          `json:"createdAt"`
	UpdatedAt      time.Time          `json:"updatedAt"`
}

func forwardingAnswer(f forwarding.Forwarding, err error) (ForwardingBody, error) {
	return ForwardingBody{
		Endpoint:       f.Endpoint,
		Headers:        f.HeaderNames,
		Traces:         f.Traces,
		Decisions:      f.Decisions,
		Content:        f.Content,
		MaxAgeHours:    int(f.MaxAge.Hours()),
		Enabled:        f.Enabled,
		DisabledReason: f.DisabledReason,
		CreatedAt:      f.CreatedAt,
		UpdatedAt:      f.UpdatedAt,
	}, err
}

func (h *Handlers) getForwarding(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (ForwardingBody, error) {
	return forwardingAnswer(h.Forwarding.Get(ctx, caller))
}

type putForwardingInput struct {
	route.OrgInput
	Body struct {
		Endpoint    string             `json:"endpoint" minLength:"1" maxLength:"2048" doc:"A URL; without a path, /v1/traces is added." example:"https://collector.example.com/v1/traces"`
		Headers     map[string]string  `json:"headers,omitempty" doc:"Sent with every request, such as a key. Stored sealed, and not shown again. Absent: as before; {}: none."`
		Traces      *bool              `json:"traces,omitempty" doc:"Absent: true."`
		Decisions   *bool              `json:"decisions,omitempty" doc:"Absent: true."`
		Content     forwarding.Content `json:"content,omitempty" default:"redacted" enum:"none,redacted,full" doc:"How much of what agents read and wrote is sent: nothing, all but known secrets, or all."`
		MaxAgeHours int                `json:"maxAgeHours,omitempty" default:"24" minimum:"1" maximum:"168" doc:"How long something waits for the collector before it is lost."`
		Enabled     *bool              `json:"enabled,omitempty" doc:"Absent: true. Only what comes after it was enabled is sent."`
	}
}

// settings is the body as the service takes it.
func (in *putForwardingInput) settings() (forwarding.Settings, error) {
	b := &in.Body
	s := forwarding.Settings{
		Endpoint:  b.Endpoint,
		Traces:    orTrue(b.Traces),
		Decisions: orTrue(b.Decisions),
		Content:   b.Content,
		MaxAge:    time.Duration(b.MaxAgeHours) * time.Hour,
		Enabled:   orTrue(b.Enabled),
	}
	if len(b.Headers) > forwarding.MaxHeaders {
		return s, fault.Field("headers", "must be at most %d", forwarding.MaxHeaders)
	}
	if b.Headers != nil {
		s.Headers = map[string]secret.Text{}
		for name, value := range b.Headers {
			s.Headers[name] = secret.NewText(value)
		}
	}
	return s, nil
}

func orTrue(is *bool) bool { return is == nil || *is }

func (h *Handlers) putForwarding(
	ctx context.Context, caller principal.Principal, in *putForwardingInput,
) (ForwardingBody, error) {
	s, err := in.settings()
	if err != nil {
		return ForwardingBody{}, err
	}
	return forwardingAnswer(h.Forwarding.Put(ctx, caller, s))
}

func (h *Handlers) deleteForwarding(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (route.None, error) {
	return route.None{}, h.Forwarding.Delete(ctx, caller)
}

// ForwardingPositionBody is the position up to which everything was sent.
type ForwardingPositionBody struct {
	TracesUntil  *time.Time `json:"tracesUntil" doc:"Traces received until then were sent; null: traces are not sent."`
	NextDecision *int64     `json:"nextDecision" doc:"Index in the audit log before which all decisions were sent; null: decisions are not sent."`
}

// ForwardingLostBody counts what waited too long.
type ForwardingLostBody struct {
	Traces    int64      `json:"traces"`
	Decisions int64      `json:"decisions"`
	Until     *time.Time `json:"until" doc:"What was received before then may be lost; null: nothing was lost."`
}

// ForwardingStatusBody is how far sending is.
type ForwardingStatusBody struct {
	Enabled               bool                   `json:"enabled"`
	Position              ForwardingPositionBody `json:"position"`
	TracesWaitingSince    *time.Time             `json:"tracesWaitingSince" doc:"When the oldest trace that waits arrived; null: none waits."`
	DecisionsWaitingSince *time.Time             `json:"decisionsWaitingSince" doc:"When the oldest decision that waits was made; null: none waits."`
	LagSeconds            int64                  `json:"lagSeconds" doc:"How long the oldest of them has waited."`
	SentSpans             int64                  `json:"sentSpans" doc:"Of traces."`
	SentDecisions         int64                  `json:"sentDecisions"`
	Refused               int64                  `json:"refused" doc:"Spans and decisions that the collector refused."`
	Lost                  ForwardingLostBody     `json:"lost"`
	LastSentAt            *time.Time             `json:"lastSentAt" doc:"null: never."`
	FailingSince          *time.Time             `json:"failingSince" doc:"null: the last try succeeded."`
	FailedAttempts        int64                  `json:"failedAttempts" doc:"Since the last success."`
	LastStatus            int                    `json:"lastStatus" doc:"HTTP status of the last try; 0: no answer."`
	LastProblem           string                 `json:"lastProblem" doc:"Of the last try; empty: none."`
	RetryAt               *time.Time             `json:"retryAt" doc:"When the next try is; null: sending does not wait for one."`
}

func (h *Handlers) forwardingStatus(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (ForwardingStatusBody, error) {
	s, err := h.Forwarding.Status(ctx, caller)
	body := ForwardingStatusBody{
		Enabled:               s.Enabled,
		TracesWaitingSince:    s.TracesSince,
		DecisionsWaitingSince: s.DecisionsSince,
		LagSeconds:            int64(s.Lag.Seconds()),
		SentSpans:             s.SentSpans,
		SentDecisions:         s.SentDecisions,
		Refused:               s.Refused,
		Lost:                  ForwardingLostBody{s.LostTraces, s.LostDecisions, s.LostUntil},
		LastSentAt:            s.SentAt,
		FailingSince:          s.FailingSince,
		FailedAttempts:        s.Attempts,
		LastStatus:            s.HTTPStatus,
		LastProblem:           s.Problem,
	}
	if s.Traces {
		body.Position.TracesUntil = &s.Trace.At
	}
	if s.Decisions {
		body.Position.NextDecision = &s.Decision
	}
	if s.FailingSince != nil && s.Enabled {
		body.RetryAt = &s.RetryAt
	}
	return body, err
}

// ForwardingTestBody is what came of a test.
type ForwardingTestBody struct {
	Taken      bool   `json:"taken" doc:"Whether the collector took the span."`
	HTTPStatus int    `json:"httpStatus" doc:"0: no answer."`
	Problem    string `json:"problem" doc:"Empty: none."`
}

func (h *Handlers) testForwarding(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (ForwardingTestBody, error) {
	tested, err := h.Forwarding.Test(ctx, caller)
	return ForwardingTestBody(tested), err
}
