package traces

import (
	"context"
	"math"
	"strings"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// DaysInput is the period of a query.
type DaysInput struct {
	Days  int       `query:"days" minimum:"1" maximum:"90" default:"7" doc:"How many days back."`
	From  time.Time `query:"from" doc:"From then on, instead of days back. Statistics begin with its hour."`
	Until time.Time `query:"until" doc:"Before then; absent: until now. Statistics end with its hour."`
}

func (in *DaysInput) period() (telemetry.Period, error) {
	if !in.From.IsZero() && !in.Until.IsZero() && !in.From.Before(in.Until) {
		return telemetry.Period{}, fault.Field("until", "must be after from")
	}
	return telemetry.Period{Days: in.Days, From: in.From, Until: in.Until}, nil
}

// TraceHeadBody is what a trace says of itself in every form.
type TraceHeadBody struct {
	ID         string     `json:"id" format:"uuid" doc:"The id it was sent with."`
	SessionID  *string    `json:"sessionId" format:"uuid" doc:"The session it belongs to; null when it has none."`
	Name       string     `json:"name" doc:"What was done, 1-200 characters."`
	StartTime  time.Time  `json:"startTime" doc:"When it began, by the client's clock."`
	EndTime    *time.Time `json:"endTime" doc:"When it ended, by the client's clock; null when that was not sent."`
	DurationMs *int64     `json:"durationMs" doc:"How long it took, in milliseconds; null when that is not known."`
	Status     string     `json:"status" enum:"ok,error,denied" doc:"How it ended."`
	UserID     *string    `json:"userId" format:"uuid" doc:"The person the agent worked for; null when that was not sent."`
	AgentID    string     `json:"agentId" doc:"The agent, in the client's own words."`
}

func traceHead(t *telemetry.TraceItem) TraceHeadBody {
	return TraceHeadBody{
		ID:         t.ID,
		SessionID:  orNull(t.SessionID),
		Name:       t.Name,
		StartTime:  t.Start,
		EndTime:    t.End,
		DurationMs: t.DurationMs,
		Status:     t.Status,
		UserID:     orNull(t.UserID),
		AgentID:    t.AgentID,
	}
}

// TraceBody is a trace.
type TraceBody struct {
	TraceHeadBody
	Attributes route.StoredObject `json:"attributes" doc:"As they were sent; empty for callers who may not read payloads."`
	Tags       route.StoredTexts  `json:"tags" doc:"As they were sent."`
}

func traceBody(t *telemetry.TraceItem) TraceBody {
	return TraceBody{traceHead(t), route.StoredObject(t.Attributes), route.StoredTexts(t.Tags)}
}

// visible is a trace without what the caller may not read: viewers see that something happened, not what was said.
func visible(caller principal.Principal, t telemetry.TraceItem) telemetry.TraceItem {
	if !caller.May(principal.ReadPayloads) {
		t.Attributes, t.InputPreview, t.OutputPreview = noAttributes, nil, nil
	}
	return t
}

const noAttributes = "{}"

// orNull is null for the empty string.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return new(text)
}

// TraceTotalsBody sums up the spans of a trace.
type TraceTotalsBody struct {
	TotalInputTokens  int64   `json:"totalInputTokens" doc:"Of its generation spans."`
	TotalOutputTokens int64   `json:"totalOutputTokens" doc:"Of its generation spans."`
	TotalCostUSD      float64 `json:"totalCostUsd" doc:"Of its generation spans, in US dollars."`
	SpanCount         int64   `json:"spanCount" doc:"How many spans it has."`
	ErrorCount        int64   `json:"errorCount" doc:"Spans whose status is not ok."`
	InputPreview      *string `json:"inputPreview" doc:"The first 200 characters of attributes.input, or of its JSON; null when there is none, and for callers who may not read payloads."`
	OutputPreview     *string `json:"outputPreview" doc:"Likewise, of attributes.output."`
}

func traceTotals(t *telemetry.TraceItem) TraceTotalsBody {
	return TraceTotalsBody{
		TotalInputTokens:  t.Usage.Input,
		TotalOutputTokens: t.Usage.Output,
		TotalCostUSD:      t.Usage.Dollars(),
		SpanCount:         t.SpanCount,
		ErrorCount:        t.ErrorCount,
		InputPreview:      t.InputPreview,
		OutputPreview:     t.OutputPreview,
	}
}

// TraceItemBody is a trace in a list.
type TraceItemBody struct {
	TraceBody
	TraceTotalsBody
}

// traceItems shows traces to a caller.
func traceItems(caller principal.Principal) func(telemetry.TraceItem) TraceItemBody {
	return func(t telemetry.TraceItem) TraceItemBody {
		t = visible(caller, t)
		return TraceItemBody{traceBody(&t), traceTotals(&t)}
	}
}

// TraceDetailBody is a trace with its spans.
type TraceDetailBody struct {
	TraceBody
	Product string           `json:"product" doc:"The client product: the API key's own, else the one sent."`
	Source  string           `json:"source" doc:"The client that sent it: attributes.source, else the product."`
	Totals  *TraceTotalsBody `json:"totals,omitzero" doc:"Sums of its spans; only where fields were chosen."`
	Spans   []SpanBody       `json:"spans" nullable:"false" doc:"In the order they were sent; the first 5,000, or 20,000 of an outline."`

	// What Spans are made of, when they are written: there are thousands.
	stored   []telemetry.StoredSpan
	outlined []telemetry.OutlinedSpan
}

// SpanBody is a span of a trace.
type SpanBody struct {
	ID           string             `json:"id" format:"uuid" doc:"The id it was sent with."`
	ParentSpanID *string            `json:"parentSpanId" format:"uuid" doc:"The span it is part of; null for one of the first."`
	SessionID    *string            `json:"sessionId" format:"uuid" doc:"As it was sent; totals go by the trace's session."`
	Kind         string             `json:"kind" doc:"span, policy_call, generation, event, or whatever was sent."`
	Name         string             `json:"name" doc:"What was done, 1-200 characters."`
	StartTime    time.Time          `json:"startTime" doc:"When it began, by the client's clock."`
	EndTime      *time.Time         `json:"endTime" doc:"When it ended, by the client's clock; null when that was not sent."`
	DurationMs   *int64             `json:"durationMs" doc:"How long it took, in milliseconds; null when that is not known."`
	Status       string             `json:"status" enum:"ok,error,denied" doc:"How it ended."`
	CostUSD      *float64           `json:"costUsd" doc:"What a generation counts with, in US dollars: attributes.costUsd, or the price table's if that is missing or 0; null for other spans."`
	Attributes   route.StoredObject `json:"attributes" doc:"As they were sent; empty for callers who may not read payloads."`
	Facts        *SpanFactsBody     `json:"facts,omitzero" doc:"What Writ knows of the attributes; only in outlines, and of one span."`
}

// spanBody shares the texts of the span: a trace has hundreds.
func spanBody(s *telemetry.StoredSpan) SpanBody {
	return SpanBody{
		ID:           s.ID,
		ParentSpanID: sharedOrNull(&s.ParentID),
		SessionID:    sharedOrNull(&s.SessionID),
		Kind:         s.Kind,
		Name:         s.Name,
		StartTime:    s.Start,
		EndTime:      s.End,
		DurationMs:   s.DurationMs,
		Status:       s.Status,
		CostUSD:      s.Cost(),
		Attributes:   route.StoredObject(s.Attributes),
	}
}

// sharedOrNull is orNull without a copy of the text.
func sharedOrNull(text *string) *string {
	if *text == "" {
		return nil
	}
	return text
}

// TraceFilterInput chooses traces.
type TraceFilterInput struct {
	DaysInput
	SessionID     string                  `query:"sessionId" format:"uuid" doc:"Traces of this session."`
	Name          string                  `query:"name" doc:"Traces of exactly this name."`
	Status        string                  `query:"status" enum:"ok,error,denied" doc:"Traces of this status."`
	UserID        string                  `query:"userId" format:"uuid" doc:"Traces of this person."`
	AgentID       string                  `query:"agentId" doc:"Traces of exactly this agent."`
	MinDurationMs route.Optional[int64]   `query:"minDurationMs" minimum:"0" doc:"Traces that took at least so many milliseconds."`
	MinCostUSD    route.Optional[float64] `query:"minCostUsd" minimum:"0" maximum:"1000000000" doc:"Traces that cost at least so many US dollars."`
	Model         string                  `query:"model" maxLength:"500" doc:"Traces with a generation of exactly this model."`
	Tool          string                  `query:"tool" maxLength:"500" doc:"Traces with a span of exactly this tool."`
	HasError      string                  `query:"hasError" enum:"true,false" doc:"true: status is not ok; false: status is ok. Wins over status."`
}

func (in *TraceFilterInput) filter() (telemetry.TraceFilter, error) {
	f := telemetry.TraceFilter{
		Days:      in.Days,
		From:      in.From,
		Until:     in.Until,
		Name:      in.Name,
		Status:    in.Status,
		AgentID:   in.AgentID,
		Model:     in.Model,
		Tool:      in.Tool,
		SessionID: strings.ToLower(in.SessionID),
		UserID:    strings.ToLower(in.UserID),
	}
	if in.MinDurationMs.IsSet {
		f.MinDurationMs = &in.MinDurationMs.Value
	}
	if in.MinCostUSD.IsSet {
		if math.IsNaN(in.MinCostUSD.Value) {
			return f, fault.Field("minCostUsd", "must be a number")
		}
		f.MinCostNanos = new(int64(math.Round(in.MinCostUSD.Value * 1e9)))
	}
	if in.HasError != "" {
		f.HasError = new(in.HasError == "true")
	}
	_, err := in.period()
	return f, err
}

type listTracesInput struct {
	route.OrgInput
	route.PageInput
	TraceFilterInput
}

func (h *Handlers) listTraces(
	ctx context.Context, caller principal.Principal, in *listTracesInput,
) (page.Page[TraceItemBody], error) {
	f, err := in.filter()
	if err != nil {
		return page.Page[TraceItemBody]{}, err
	}
	f.Limit, f.Cursor = in.Limit, in.Cursor
	traces, err := h.Telemetry.ListTraces(ctx, caller.OrgID, f)
	return route.MapPage(traces, traceItems(caller)), err
}

// itemInput is the path of a route about one trace or session.
type itemInput struct {
	route.OrgInput
	route.IDInput
}

// getTrace answers null where there is no such trace (specification 4.1).
func (h *Handlers) getTrace(ctx context.Context, caller principal.Principal, in *traceInput) (*TraceDetailBody, error) {
	switch in.Fields {
	case fieldsHead:
		return h.traceHead(ctx, caller, in.ID)
	case fieldsOutline:
		return h.traceOutline(ctx, caller, in.ID)
	}
	t, err := h.Telemetry.Trace(ctx, caller.OrgID, in.ID)
	if err != nil || t == nil {
		return nil, err
	}
	if !caller.May(principal.ReadPayloads) {
		for i := range t.Spans {
			t.Spans[i].Attributes = noAttributes
		}
	}
	item := visible(caller, t.TraceItem)
	return &TraceDetailBody{
		TraceBody: traceBody(&item), Product: t.Product, Source: t.Source, stored: t.Spans,
	}, nil
}
