package traces

import (
	"context"
	"strings"
	"time"

	"writ/internal/api/route"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// UsageTotalsBody is tokens, and what they cost.
type UsageTotalsBody struct {
	TotalInputTokens      int64   `json:"totalInputTokens" doc:"Of its generation spans."`
	TotalOutputTokens     int64   `json:"totalOutputTokens" doc:"Of its generation spans."`
	TotalCacheReadTokens  int64   `json:"totalCacheReadTokens" doc:"Of its generation spans."`
	TotalCacheWriteTokens int64   `json:"totalCacheWriteTokens" doc:"Of its generation spans."`
	TotalCostUSD          float64 `json:"totalCostUsd" doc:"Of its generation spans, in US dollars."`
}

func usageTotals(u telemetry.Usage) UsageTotalsBody {
	return UsageTotalsBody{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Dollars()}
}

// TelemetrySessionBody is a session of an agent.
type TelemetrySessionBody struct {
	ID             string    `json:"id" format:"uuid" doc:"As its traces name it."`
	OrgID          string    `json:"orgId" format:"uuid" doc:"The organization it belongs to."`
	UserID         *string   `json:"userId" format:"uuid" doc:"The first person its traces named; null when none did."`
	AgentID        string    `json:"agentId" doc:"The first agent its traces named."`
	Product        string    `json:"product" doc:"The client product of its first trace."`
	StartedAt      time.Time `json:"startedAt" doc:"When its earliest trace began."`
	LastActivityAt time.Time `json:"lastActivityAt" doc:"When its latest trace ended (or began), never later than its receipt."`
	TraceCount     int64     `json:"traceCount" doc:"Over its whole life, like all its totals."`
	UsageTotalsBody
	Status string `json:"status" enum:"active,completed,expired,error" doc:"completed and error by a session.end event, expired after a time without activity; later activity makes it active again."`
}

func sessionBody(s telemetry.Session) TelemetrySessionBody {
	return TelemetrySessionBody{
		ID:              s.ID,
		OrgID:           s.OrgID,
		UserID:          orNull(s.UserID),
		AgentID:         s.AgentID,
		Product:         s.Product,
		StartedAt:       s.StartedAt,
		LastActivityAt:  s.LastActivityAt,
		TraceCount:      s.TraceCount,
		UsageTotalsBody: usageTotals(s.Usage),
		Status:          s.Status,
	}
}

// TelemetrySessionDetailBody is a session with its traces in chronological order.
type TelemetrySessionDetailBody struct {
	TelemetrySessionBody
	Traces []TraceItemBody `json:"traces" nullable:"false" doc:"In chronological order; at most 50,000, the most recent."`
}

// SessionFilterInput chooses sessions.
type SessionFilterInput struct {
	DaysInput
	Status  string `query:"status" enum:"active,completed,expired,error" doc:"Sessions of this status."`
	UserID  string `query:"userId" format:"uuid" doc:"Sessions of this person."`
	AgentID string `query:"agentId" doc:"Sessions of exactly this agent."`
}

func (in *SessionFilterInput) filter() (telemetry.SessionFilter, error) {
	_, err := in.period()
	return telemetry.SessionFilter{
		Days:    in.Days,
		From:    in.From,
		Until:   in.Until,
		Status:  in.Status,
		UserID:  strings.ToLower(in.UserID),
		AgentID: in.AgentID,
	}, err
}

type listSessionsInput struct {
	route.OrgInput
	route.PageInput
	SessionFilterInput
}

func (h *Handlers) listSessions(
	ctx context.Context, caller principal.Principal, in *listSessionsInput,
) (page.Page[TelemetrySessionBody], error) {
	f, err := in.filter()
	if err != nil {
		return page.Page[TelemetrySessionBody]{}, err
	}
	f.Limit, f.Cursor = in.Limit, in.Cursor
	sessions, err := h.Telemetry.ListSessions(ctx, caller.OrgID, f)
	return route.MapPage(sessions, sessionBody), err
}

type sessionInput struct {
	route.OrgInput
	route.IDInput
	Fields string `query:"fields" enum:"head" doc:"head: the session with an empty list of traces. The list of traces with its sessionId has them page by page."`
}

// getSession answers null where there is no such session (specification 4.1).
func (h *Handlers) getSession(
	ctx context.Context, caller principal.Principal, in *sessionInput,
) (*TelemetrySessionDetailBody, error) {
	if in.Fields == fieldsHead {
		head, err := h.Telemetry.FindSession(ctx, caller.OrgID, in.ID)
		if err != nil || head == nil {
			return nil, err
		}
		return &TelemetrySessionDetailBody{sessionBody(*head), []TraceItemBody{}}, nil
	}
	s, err := h.Telemetry.Session(ctx, caller.OrgID, in.ID)
	if err != nil || s == nil {
		return nil, err
	}
	return &TelemetrySessionDetailBody{
		sessionBody(s.Session), route.ItemsOf(s.Traces, traceItems(caller)).Items,
	}, nil
}
