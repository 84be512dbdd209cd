package traces

import (
	"context"

	"writ/internal/api/route"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// What a trace or session can be cut down to.
const (
	fieldsHead    = "head"
	fieldsOutline = "outline"
)

func (h *Handlers) mountOutlines(r *route.Router) {
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/traces/{id}/spans/{spanId}",
		"One span of a trace; null if there is none")), h.getSpan)
	r.DocumentNull("/organization/{orgId}/observability/traces/{id}/spans/{spanId}")
	route.Handle(r, read(route.Get("/organization/{orgId}/observability/traces/{id}/decisions",
		"Decisions that belong to a trace, as the log has them")), h.traceDecisions)
}

type traceInput struct {
	route.OrgInput
	route.IDInput
	Fields string `query:"fields" enum:"outline,head" doc:"outline: spans without attributes, but with facts. head: no spans. Both have totals; an outline has no attributes of the trace either."`
}

// SpanFactsBody is what Writ knows of a span's attributes.
type SpanFactsBody struct {
	ToolName         string `json:"toolName,omitzero" doc:"The tool that was called."`
	Model            string `json:"model,omitzero" doc:"Of a generation."`
	InputTokens      int64  `json:"inputTokens,omitzero" doc:"Of a generation."`
	OutputTokens     int64  `json:"outputTokens,omitzero" doc:"Of a generation."`
	CacheReadTokens  int64  `json:"cacheReadTokens,omitzero" doc:"Of a generation."`
	CacheWriteTokens int64  `json:"cacheWriteTokens,omitzero" doc:"Of a generation."`
	PolicyID         string `json:"policyId,omitzero" doc:"What decided, of a decision."`
	RuleID           string `json:"ruleId,omitzero" doc:"Its rule."`
	Decision         string `json:"decision,omitzero" doc:"As the span says: a client may say anything. Believe it beside auditIndex."`
	Shadow           bool   `json:"shadow,omitzero" doc:"It is what a shadow policy would have decided."`
	AuditIndex       *int64 `json:"auditIndex,omitzero" doc:"The decision's entry in the log. Only of spans that Writ made, never one that a client named."`
}

func spanFacts(s *telemetry.OutlinedSpan) *SpanFactsBody {
	facts := &SpanFactsBody{
		ToolName:         s.Tool,
		Model:            s.Model,
		InputTokens:      s.Usage.Input,
		OutputTokens:     s.Usage.Output,
		CacheReadTokens:  s.Usage.CacheRead,
		CacheWriteTokens: s.Usage.CacheWrite,
		PolicyID:         s.PolicyID,
		RuleID:           s.RuleID,
		Decision:         s.Decision,
		AuditIndex:       s.Index,
	}
	if s.Shadow() { // its policy and rule say how they are counted
		facts.Shadow, facts.PolicyID, facts.RuleID = true, s.PolicyID[len(telemetry.ShadowPrefix):], ""
	}
	return facts
}

// outlinedBody is a span without its attributes.
func outlinedBody(s *telemetry.OutlinedSpan) SpanBody {
	body := spanBody(&s.StoredSpan)
	body.Attributes, body.Facts = noAttributes, spanFacts(s)
	return body
}

func headBody(caller principal.Principal, t *telemetry.TraceItem) *TraceDetailBody {
	item := visible(caller, *t)
	totals := traceTotals(&item)
	return &TraceDetailBody{TraceBody: traceBody(&item), Product: t.Product, Source: t.Source, Totals: &totals}
}

func (h *Handlers) traceHead(ctx context.Context, caller principal.Principal, id string) (*TraceDetailBody, error) {
	t, err := h.Telemetry.TraceHead(ctx, caller.OrgID, id)
	if err != nil || t == nil {
		return nil, err
	}
	return headBody(caller, t), nil
}

func (h *Handlers) traceOutline(ctx context.Context, caller principal.Principal, id string) (*TraceDetailBody, error) {
	t, err := h.Telemetry.Outline(ctx, caller.OrgID, id)
	if err != nil || t == nil {
		return nil, err
	}
	t.Attributes = noAttributes
	body := headBody(caller, &t.TraceItem)
	body.outlined = t.Spans
	return body, nil
}

type spanInput struct {
	route.OrgInput
	route.IDInput
	SpanID string `path:"spanId" doc:"The id of the span."`
}

// getSpan answers null where there is no such span, as of traces.
func (h *Handlers) getSpan(ctx context.Context, caller principal.Principal, in *spanInput) (*SpanBody, error) {
	s, err := h.Telemetry.Span(ctx, caller.OrgID, in.ID, in.SpanID)
	if err != nil || s == nil {
		return nil, err
	}
	if !caller.May(principal.ReadPayloads) {
		s.Attributes = noAttributes
	}
	body := spanBody(&s.StoredSpan)
	body.Facts = spanFacts(s)
	return &body, nil
}
