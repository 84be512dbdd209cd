package traces

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

func (h *Handlers) mountIngest(r *route.Router) {
	route.Raw[IngestBody, IngestedBody](r, route.Post("/observability/spans", "Ingest traces, each with its spans").
		For(route.Key).Scoped(principal.Ingest).StoppedToo().Unrecorded().MayAskForPayment(), h.ingest)
	route.Handle(r, route.Post("/dashboard/token-usage", "Report the running token totals of a session's models").
		For(route.Key).Scoped(principal.Ingest).Unrecorded().MayAskForPayment(), h.reportUsage)
}

// IngestBody documents what ingest takes; it is read by hand, batch by batch.
type IngestBody struct {
	Product   string      `json:"product" doc:"The client product, 1-100 characters; the API key's own product wins." example:"my-agent"`
	SessionID *string     `json:"sessionId,omitempty" format:"uuid" nullable:"true" doc:"The session of traces that name none."`
	Batches   []BatchBody `json:"batches" minItems:"1" maxItems:"500" nullable:"false" doc:"1-500 traces, each with its spans."`
}

// BatchBody is one trace with its spans: taken or rejected as a whole.
type BatchBody struct {
	Trace TraceInput  `json:"trace" doc:"The trace."`
	Spans []SpanInput `json:"spans,omitempty" maxItems:"500" doc:"Its spans, at most 500."`
}

// TraceInput is a trace as it is sent.
type TraceInput struct {
	ID         string         `json:"id" format:"uuid" doc:"Idempotency key: an id that is stored already is counted as a duplicate and ignored."`
	SessionID  *string        `json:"sessionId,omitempty" format:"uuid" nullable:"true" doc:"The session it belongs to; without one that of the request, else none."`
	Name       string         `json:"name" minLength:"1" maxLength:"200" doc:"What was done." example:"iap.plan"`
	StartTime  string         `json:"startTime" format:"date-time" doc:"When it began, ISO 8601; without a zone it is UTC."`
	EndTime    *string        `json:"endTime,omitempty" format:"date-time" nullable:"true" doc:"When it ended, ISO 8601."`
	DurationMs *int64         `json:"durationMs,omitempty" minimum:"0" maximum:"1000000000000" nullable:"true" doc:"In milliseconds; computed from the times when it is not sent."`
	Status     string         `json:"status" enum:"ok,error,denied" doc:"How it ended."`
	UserID     *string        `json:"userId,omitempty" format:"uuid" nullable:"true" doc:"The person the agent works for."`
	AgentID    string         `json:"agentId,omitempty" doc:"The agent, in the client's own words, at most 500 bytes." example:"codex"`
	Attributes map[string]any `json:"attributes,omitempty" doc:"Free-form; source, input and output are shown in lists."`
	Tags       []string       `json:"tags,omitempty" doc:"Free-form."`
}

// SpanInput is a span as it is sent.
type SpanInput struct {
	ID           string         `json:"id" format:"uuid" doc:"Of this span within its trace."`
	ParentSpanID *string        `json:"parentSpanId,omitempty" format:"uuid" nullable:"true" doc:"The span it is part of."`
	SessionID    *string        `json:"sessionId,omitempty" format:"uuid" nullable:"true" doc:"Kept as it is; totals go by the trace's session."`
	Kind         string         `json:"kind" doc:"span, policy_call, generation, event; others are kept as they are." example:"generation"`
	Name         string         `json:"name" minLength:"1" maxLength:"200" doc:"What was done; an event named session.end ends the session." example:"policy.allow"`
	StartTime    string         `json:"startTime" format:"date-time" doc:"When it began, ISO 8601; without a zone it is UTC."`
	EndTime      *string        `json:"endTime,omitempty" format:"date-time" nullable:"true" doc:"When it ended, ISO 8601."`
	DurationMs   *int64         `json:"durationMs,omitempty" minimum:"0" maximum:"1000000000000" nullable:"true" doc:"In milliseconds; computed from the times when it is not sent."`
	Status       string         `json:"status,omitempty" enum:"ok,error,denied" default:"ok" doc:"How it ended."`
	Attributes   map[string]any `json:"attributes,omitempty" doc:"Free-form. generation: model, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd. policy_call: policyId, policyName, decision, matchedRuleId. Tools: toolName."`
}

// IngestedBody is the answer of ingest.
type IngestedBody struct {
	Accepted   int             `json:"accepted" doc:"Batches that are stored now."`
	Rejected   int             `json:"rejected" doc:"Batches that break a rule; rejections says which."`
	Duplicate  int             `json:"duplicate" doc:"Traces that were stored already."`
	TraceIDs   []string        `json:"traceIds" nullable:"false" doc:"Newly accepted traces."`
	Rejections []RejectionBody `json:"rejections" nullable:"false" doc:"Why batches were rejected."`
}

// RejectionBody says why a batch was rejected.
type RejectionBody struct {
	Index  int    `json:"index" doc:"Of the batch in the request."`
	Field  string `json:"field" doc:"What breaks a rule." example:"spans[3].name"`
	Reason string `json:"reason" doc:"The rule it breaks." example:"must be 1-200 characters"`
}

// decodedCopies is how often the content of a body is in memory once more while it is decoded and stored: as texts, as
// rows, and in the database's own memory.
const decodedCopies = 3

func (h *Handlers) ingest(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	if caller.OrgID == "" {
		return route.NoOrganization()
	}
	body, err := h.Bodies.Open(r, h.MaxIngestBytes)
	defer body.Release()
	if err != nil {
		return err
	}
	if err := body.Take(decodedCopies * int64(len(body.Bytes))); err != nil {
		return err
	}
	request, err := telemetry.ParseRequest(body.Bytes)
	if err != nil {
		return err
	}
	if err := h.refuseOthers(r.Context(), caller, request.Batches); err != nil {
		return err
	}
	result, err := h.Telemetry.Ingest(r.Context(), caller.OrgID, cmp.Or(caller.Product, request.Product), request)
	if err != nil {
		return err
	}
	answer := IngestedBody{
		Accepted:  result.Accepted,
		Rejected:  len(result.Rejections),
		Duplicate: result.Duplicate,
		TraceIDs:  result.TraceIDs,
	}
	for _, rejection := range result.Rejections {
		answer.Rejections = append(answer.Rejections, RejectionBody(rejection))
	}
	w.Header().Set("Content-Type", route.JSONType)
	return json.MarshalWrite(w, answer)
}

// refuseOthers refuses traces of a stopped key that name an agent of others: they would spend its budget.
func (h *Handlers) refuseOthers(ctx context.Context, caller principal.Principal, batches []jsontext.Value) error {
	var ids []string
	for _, batch := range batches {
		var named struct {
			Trace struct {
				AgentID string `json:"agentId"`
			} `json:"trace"`
		}
		// What is malformed is rejected when the batch is read.
		_ = json.Unmarshal(batch, &named, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if id := named.Trace.AgentID; id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	other, err := h.Agents.NotOwn(ctx, caller.OrgID, caller.KeyID, ids)
	if err == nil && other != "" {
		return fault.New(fault.Forbidden,
			"a person has stopped this API key: it sends traces of its own agents only, and %q is none", other)
	}
	return err
}

type reportUsageInput struct {
	Body struct {
		Product   string           `json:"product" maxLength:"500" doc:"The client product; the API key's own wins." example:"my-agent"`
		SessionID string           `json:"sessionId" format:"uuid" doc:"The session whose totals these are." example:"0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30"`
		Entries   []UsageEntryBody `json:"entries" maxItems:"1000" nullable:"false" doc:"One for each model. They replace what was reported before, and do not count where spans report the same."`
	}
}

// UsageEntryBody is the running total of one model in a session.
type UsageEntryBody struct {
	Model            string `json:"model" minLength:"1" doc:"The model, as its vendor names it." example:"claude-sonnet-4-5"`
	InputTokens      int64  `json:"inputTokens,omitempty" minimum:"0" maximum:"1000000000000" doc:"Input tokens, as the vendor counts them." example:"1200"`
	OutputTokens     int64  `json:"outputTokens,omitempty" minimum:"0" maximum:"1000000000000" doc:"Output tokens." example:"340"`
	CacheReadTokens  int64  `json:"cacheReadTokens,omitempty" minimum:"0" maximum:"1000000000000" doc:"Tokens read from a cache." example:"5000"`
	CacheWriteTokens int64  `json:"cacheWriteTokens,omitempty" minimum:"0" maximum:"1000000000000" doc:"Tokens written to a cache." example:"250"`
}

// UsageReportedBody is the answer to a report of usage.
type UsageReportedBody struct {
	Recorded int `json:"recorded" doc:"How many models were recorded."`
}

func (h *Handlers) reportUsage(
	ctx context.Context, caller principal.Principal, in *reportUsageInput,
) (UsageReportedBody, error) {
	if caller.OrgID == "" {
		return UsageReportedBody{}, route.NoOrganization()
	}
	var entries []telemetry.ReportedUsage
	for _, e := range in.Body.Entries {
		entries = append(entries, telemetry.ReportedUsage{Model: e.Model, Usage: telemetry.Usage{
			Input: e.InputTokens, Output: e.OutputTokens, CacheRead: e.CacheReadTokens, CacheWrite: e.CacheWriteTokens,
		}})
	}
	recorded, err := h.Telemetry.ReportUsage(ctx, caller.OrgID, cmp.Or(caller.Product, in.Body.Product),
		in.Body.SessionID, entries)
	return UsageReportedBody{recorded}, err
}
