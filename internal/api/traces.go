package api

import (
	"context"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// DaysInput is the period of a query.
type DaysInput struct {
	Days int `query:"days" minimum:"1" maximum:"90" default:"7" doc:"How many days back."`
}

// TraceBody is a trace.
type TraceBody struct {
	ID         string       `json:"id" format:"uuid" doc:"The id it was sent with."`
	SessionID  *string      `json:"sessionId" format:"uuid" doc:"The session it belongs to; null when it has none."`
	Name       string       `json:"name" doc:"What was done, 1-200 characters."`
	StartTime  time.Time    `json:"startTime" doc:"When it began, by the client's clock."`
	EndTime    *time.Time   `json:"endTime" doc:"When it ended, by the client's clock; null when that was not sent."`
	DurationMs *int64       `json:"durationMs" doc:"How long it took, in milliseconds; null when that is not known."`
	Status     string       `json:"status" enum:"ok,error,denied" doc:"How it ended."`
	UserID     *string      `json:"userId" format:"uuid" doc:"The person the agent worked for; null when that was not sent."`
	AgentID    string       `json:"agentId" doc:"The agent, in the client's own words."`
	Attributes storedObject `json:"attributes" doc:"As they were sent; empty for callers who may not read payloads."`
	Tags       storedTexts  `json:"tags" doc:"As they were sent."`
}

func traceBody(t telemetry.TraceItem) TraceBody {
	return TraceBody{
		ID:         t.ID,
		SessionID:  orNull(t.SessionID),
		Name:       t.Name,
		StartTime:  t.Start,
		EndTime:    t.End,
		DurationMs: t.DurationMs,
		Status:     t.Status,
		UserID:     orNull(t.UserID),
		AgentID:    t.AgentID,
		Attributes: storedObject(t.Attributes),
		Tags:       storedTexts(t.Tags),
	}
}

// visible is a trace without what the caller's role may not read: viewers see
// that something happened, not what was said.
func visible(caller principal.Principal, t telemetry.TraceItem) telemetry.TraceItem {
	if !caller.May(principal.ReadPayloads) {
		t.Attributes, t.InputPreview, t.OutputPreview = noAttributes, nil, nil
	}
	return t
}

const noAttributes = "{}"

// orNull is null for the empty string.
func orNull(text string) *string { return textOrNull(&text) }

func textOrNull(text *string) *string {
	if *text == "" {
		return nil
	}
	return text
}

// TraceItemBody is a trace in a list.
type TraceItemBody struct {
	TraceBody
	TotalInputTokens  int64   `json:"totalInputTokens" doc:"Of its generation spans."`
	TotalOutputTokens int64   `json:"totalOutputTokens" doc:"Of its generation spans."`
	TotalCostUSD      float64 `json:"totalCostUsd" doc:"Of its generation spans, in US dollars."`
	SpanCount         int64   `json:"spanCount" doc:"How many spans it has."`
	ErrorCount        int64   `json:"errorCount" doc:"Spans whose status is not ok."`
	InputPreview      *string `json:"inputPreview" doc:"The first 200 characters of attributes.input, or of its JSON; null when there is none."`
	OutputPreview     *string `json:"outputPreview" doc:"The first 200 characters of attributes.output, or of its JSON; null when there is none."`
}

func traceItemBody(t telemetry.TraceItem) TraceItemBody {
	return TraceItemBody{
		TraceBody: traceBody(t), TotalInputTokens: t.Usage.Input, TotalOutputTokens: t.Usage.Output,
		TotalCostUSD: t.Usage.Dollars(),
		SpanCount:    t.SpanCount, ErrorCount: t.ErrorCount, InputPreview: t.InputPreview,
		OutputPreview: t.OutputPreview,
	}
}

// TraceDetailBody is a trace with its spans.
type TraceDetailBody struct {
	TraceBody
	Product string      `json:"product" doc:"The client product: the API key's own, else the one sent."`
	Source  string      `json:"source" doc:"The client that sent it: attributes.source, else the product."`
	Spans   storedSpans `json:"spans" doc:"In the order they were sent."`
}

// SpanBody is a span of a trace.
type SpanBody struct {
	ID           string       `json:"id" format:"uuid" doc:"The id it was sent with."`
	ParentSpanID *string      `json:"parentSpanId" format:"uuid" doc:"The span it is part of; null for one of the first."`
	SessionID    *string      `json:"sessionId" format:"uuid" doc:"As it was sent; totals go by the trace's session."`
	Kind         string       `json:"kind" doc:"span, policy_call, generation, event, or whatever was sent."`
	Name         string       `json:"name" doc:"What was done, 1-200 characters."`
	StartTime    time.Time    `json:"startTime" doc:"When it began, by the client's clock."`
	EndTime      *time.Time   `json:"endTime" doc:"When it ended, by the client's clock; null when that was not sent."`
	DurationMs   *int64       `json:"durationMs" doc:"How long it took, in milliseconds; null when that is not known."`
	Status       string       `json:"status" enum:"ok,error,denied" doc:"How it ended."`
	Attributes   storedObject `json:"attributes" doc:"As they were sent; empty for callers who may not read payloads."`
}

// spanBody shares the texts of the span, of which there are hundreds.
func spanBody(s *telemetry.StoredSpan) SpanBody {
	return SpanBody{
		ID:           s.ID,
		ParentSpanID: textOrNull(&s.ParentID),
		SessionID:    textOrNull(&s.SessionID),
		Kind:         s.Kind,
		Name:         s.Name,
		StartTime:    s.Start,
		EndTime:      s.End,
		DurationMs:   s.DurationMs,
		Status:       s.Status,
		Attributes:   storedObject(s.Attributes),
	}
}

// TraceFilterInput chooses traces.
type TraceFilterInput struct {
	SessionID     string          `query:"sessionId" format:"uuid" doc:"Traces of this session."`
	Name          string          `query:"name" doc:"Traces of exactly this name."`
	Status        string          `query:"status" enum:"ok,error,denied" doc:"Traces of this status."`
	UserID        string          `query:"userId" format:"uuid" doc:"Traces of this person."`
	AgentID       string          `query:"agentId" doc:"Traces of exactly this agent."`
	MinDurationMs Optional[int64] `query:"minDurationMs" minimum:"0" doc:"Traces that took at least so many milliseconds."`
	HasError      string          `query:"hasError" enum:"true,false" doc:"true: status is not ok; false: status is ok. Wins over status."`
}

func (in *TraceFilterInput) filter() telemetry.TraceFilter {
	f := telemetry.TraceFilter{
		Name:      in.Name,
		Status:    in.Status,
		AgentID:   in.AgentID,
		SessionID: lower(in.SessionID),
		UserID:    lower(in.UserID),
	}
	if in.MinDurationMs.IsSet {
		f.MinDurationMs = &in.MinDurationMs.Value
	}
	if in.HasError != "" {
		wanted := in.HasError == "true"
		f.HasError = &wanted
	}
	return f
}

type listTracesInput struct {
	OrgInput
	DaysInput
	PageInput
	TraceFilterInput
}

type tracesOutput struct{ Body page.Page[TraceItemBody] }

func (a *API) listTraces(ctx context.Context, caller principal.Principal, in *listTracesInput) (*tracesOutput, error) {
	f := in.filter()
	f.Days, f.Limit, f.Cursor = in.Days, in.Limit, in.Cursor
	traces, err := a.Telemetry.ListTraces(ctx, caller.OrgID, f)
	if err != nil {
		return nil, err
	}
	return &tracesOutput{route.MapPage(traces, func(t telemetry.TraceItem) TraceItemBody {
		return traceItemBody(visible(caller, t))
	})}, nil
}

type orgItemInput struct {
	OrgInput
	IDInput
}

// traceOutput holds null where there is no such trace (specification 4.1).
type traceOutput struct{ Body *TraceDetailBody }

func (a *API) getTrace(ctx context.Context, caller principal.Principal, in *orgItemInput) (*traceOutput, error) {
	t, err := a.Telemetry.Trace(ctx, caller.OrgID, in.ID)
	if err != nil || t == nil {
		return &traceOutput{}, err
	}
	body := &TraceDetailBody{TraceBody: traceBody(visible(caller, t.TraceItem)), Product: t.Product, Source: t.Source}
	if !caller.May(principal.ReadPayloads) {
		for i := range t.Spans {
			t.Spans[i].Attributes = noAttributes
		}
	}
	body.Spans = t.Spans
	return &traceOutput{body}, nil
}

// storedSpans are sent as a list of SpanBody. Each is made when it is written: there
// are hundreds, and none is needed longer.
type storedSpans []telemetry.StoredSpan

// MarshalJSONTo writes the list.
func (v storedSpans) MarshalJSONTo(enc *jsontext.Encoder) error {
	bodies := make([]SpanBody, len(v))
	for i := range v {
		bodies[i] = spanBody(&v[i])
	}
	return json.MarshalEncode(enc, bodies)
}

// Schema documents what is sent.
func (storedSpans) Schema(registry huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: registry.Schema(reflect.TypeFor[SpanBody](), true, "")}
}
