package api

import (
	"context"
	"strings"
	"time"

	"writ/internal/api/route"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// TelemetrySessionBody is a session of an agent.
type TelemetrySessionBody struct {
	ID                    string    `json:"id" format:"uuid" doc:"As its traces name it."`
	OrgID                 string    `json:"orgId" format:"uuid" doc:"The organization it belongs to."`
	UserID                *string   `json:"userId" format:"uuid" doc:"The first person its traces named; null when none did."`
	AgentID               string    `json:"agentId" doc:"The first agent its traces named."`
	Product               string    `json:"product" doc:"The client product of its first trace."`
	StartedAt             time.Time `json:"startedAt" doc:"When its earliest trace began."`
	LastActivityAt        time.Time `json:"lastActivityAt" doc:"When its latest trace ended (or began), never later than its receipt."`
	TraceCount            int64     `json:"traceCount" doc:"Over its whole life, like all its totals."`
	TotalInputTokens      int64     `json:"totalInputTokens" doc:"Of its generation spans."`
	TotalOutputTokens     int64     `json:"totalOutputTokens" doc:"Of its generation spans."`
	TotalCacheReadTokens  int64     `json:"totalCacheReadTokens" doc:"Of its generation spans."`
	TotalCacheWriteTokens int64     `json:"totalCacheWriteTokens" doc:"Of its generation spans."`
	TotalCostUSD          float64   `json:"totalCostUsd" doc:"Of its generation spans, in US dollars."`
	Status                string    `json:"status" enum:"active,completed,expired,error" doc:"completed and error by a session.end event, expired after a time without activity; later activity makes it active again."`
}

func telemetrySessionBody(s telemetry.Session) TelemetrySessionBody {
	return TelemetrySessionBody{
		ID:                    s.ID,
		OrgID:                 s.OrgID,
		UserID:                orNull(s.UserID),
		AgentID:               s.AgentID,
		Product:               s.Product,
		StartedAt:             s.StartedAt,
		LastActivityAt:        s.LastActivityAt,
		TraceCount:            s.TraceCount,
		TotalInputTokens:      s.Usage.Input,
		TotalOutputTokens:     s.Usage.Output,
		TotalCacheReadTokens:  s.Usage.CacheRead,
		TotalCacheWriteTokens: s.Usage.CacheWrite,
		TotalCostUSD:          s.Usage.Dollars(),
		Status:                s.Status,
	}
}

// TelemetrySessionDetailBody is a session with its traces in chronological order.
type TelemetrySessionDetailBody struct {
	TelemetrySessionBody
	Traces []TraceItemBody `json:"traces" nullable:"false" doc:"In chronological order; at most 50,000, the most recent."`
}

// SessionFilterInput chooses sessions.
type SessionFilterInput struct {
	Status  string `query:"status" enum:"active,completed,expired,error" doc:"Sessions of this status."`
	UserID  string `query:"userId" format:"uuid" doc:"Sessions of this person."`
	AgentID string `query:"agentId" doc:"Sessions of exactly this agent."`
}

func (in *SessionFilterInput) filter() telemetry.SessionFilter {
	return telemetry.SessionFilter{Status: in.Status, UserID: lower(in.UserID), AgentID: in.AgentID}
}

type listTelemetrySessionsInput struct {
	OrgInput
	DaysInput
	PageInput
	SessionFilterInput
}

type telemetrySessionsOutput struct {
	Body page.Page[TelemetrySessionBody]
}

func (a *API) listTelemetrySessions(
	ctx context.Context, caller principal.Principal, in *listTelemetrySessionsInput,
) (*telemetrySessionsOutput, error) {
	f := in.filter()
	f.Days, f.Limit, f.Cursor = in.Days, in.Limit, in.Cursor
	sessions, err := a.Telemetry.ListSessions(ctx, caller.OrgID, f)
	if err != nil {
		return nil, err
	}
	return &telemetrySessionsOutput{route.MapPage(sessions, telemetrySessionBody)}, nil
}

// lower is the one spelling of a UUID.
func lower(text string) string { return strings.ToLower(text) }

// telemetrySessionOutput holds null where there is no such session
// (specification 4.1).
type telemetrySessionOutput struct{ Body *TelemetrySessionDetailBody }

func (a *API) getTelemetrySession(
	ctx context.Context, caller principal.Principal, in *orgItemInput,
) (*telemetrySessionOutput, error) {
	s, err := a.Telemetry.Session(ctx, caller.OrgID, in.ID)
	if err != nil || s == nil {
		return &telemetrySessionOutput{}, err
	}
	body := &TelemetrySessionDetailBody{TelemetrySessionBody: telemetrySessionBody(s.Session)}
	for _, t := range s.Traces {
		body.Traces = append(body.Traces, traceItemBody(visible(caller, t)))
	}
	return &telemetrySessionOutput{body}, nil
}
