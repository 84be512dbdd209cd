package traces

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

type seriesInput struct {
	route.OrgInput
	DaysInput
	Metric string `query:"metric" required:"true" enum:"decisions,traces,errors,tokens,cost,p50,p95" doc:"What is counted. decisions: of calls, and of steps of plans before their call. errors: traces whose status is not ok. tokens and cost: of generations and reported totals. p50, p95: of the durations of traces, in milliseconds."`
	By     string `query:"by" enum:"verdict,agent,tool,kind,model" doc:"What the values are of. decisions: verdict (default), agent or tool. tokens: kind (default), model, tool or agent. cost: absent, model, tool or agent. Other metrics: absent."`
	Bucket string `query:"bucket" enum:"hour,day" default:"day" doc:"How long a bucket is; days are of UTC."`
	Agent  string `query:"agent" maxLength:"500" doc:"Only of this agent; decisions by verdict, tokens by kind, and cost."`
	Tool   string `query:"tool" maxLength:"500" doc:"Only of this tool; as agent, and not beside it."`
}

// groupings are what the values of a metric may be of; the first is the default.
var groupings = map[telemetry.Metric][]string{
	telemetry.MetricDecisions: {"verdict", "agent", "tool"},
	telemetry.MetricTokens:    {"kind", "model", "tool", "agent"},
	telemetry.MetricCost:      {"", "model", "tool", "agent"},
}

// query reads the query as it is asked of telemetry.
func (in *seriesInput) query(now time.Time) (telemetry.SeriesQuery, error) {
	period, err := in.period()
	if err != nil {
		return telemetry.SeriesQuery{}, err
	}
	q := telemetry.SeriesQuery{
		Metric: telemetry.Metric(in.Metric),
		By:     in.By,
		Agent:  in.Agent,
		Tool:   in.Tool,
		Daily:  in.Bucket == "day",
	}
	q.From, q.Until = period.Bounds(now)
	by := groupings[q.Metric]
	if q.By != "" && !slices.Contains(by, q.By) {
		if len(by) == 0 {
			return q, fault.Field("by", "must be absent: %s have no parts", in.Metric)
		}
		return q, fault.Field("by", "must be %s for %s", strings.TrimPrefix(strings.Join(by, ", "), ", "), in.Metric)
	}
	if in.Agent+in.Tool != "" && (len(by) == 0 || q.By != "" && q.By != by[0] || in.Agent != "" && in.Tool != "") {
		return q, fault.Field("agent", "must be alone, with decisions by verdict, tokens by kind, or cost")
	}
	width := time.Hour
	if q.Daily {
		width *= 24
	}
	if q.Until.Sub(q.From) > telemetry.MaxBuckets*width {
		return q, fault.Field("from", "must be at most %d buckets before until", telemetry.MaxBuckets)
	}
	return q, nil
}

// SeriesBody is a metric over time.
type SeriesBody struct {
	Metric   string             `json:"metric" enum:"decisions,traces,errors,tokens,cost,p50,p95" doc:"As asked for."`
	By       string             `json:"by" enum:",verdict,agent,tool,kind,model" doc:"What the values are of; empty: of the metric itself."`
	Bucket   string             `json:"bucket" enum:"hour,day" doc:"As asked for."`
	Buckets  []SeriesBucketBody `json:"buckets" nullable:"false" doc:"Every bucket of the time asked for, in order."`
	Complete bool               `json:"complete" doc:"Whether every bucket is complete."`
}

// SeriesBucketBody is an hour or a day.
type SeriesBucketBody struct {
	At       time.Time             `json:"at" doc:"When it begins."`
	Values   map[string]NumberBody `json:"values" doc:"By verdict: allow, ask, hold and deny. By kind: input, output, cacheRead and cacheWrite. By agent, tool or model: the 20 largest of the whole time, where they are not zero, and the rest as (other). Else one with the metric's name; p50 and p95 are missing where no duration is known."`
	Complete bool                  `json:"complete" doc:"Whether it is over and all of it is counted and kept. Traces may still come late."`
}

// NumberBody is an exact decimal number.
type NumberBody telemetry.Number

// MarshalJSONTo writes the number.
func (v NumberBody) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(v))
}

// Schema documents what it is: the type alone says text.
func (NumberBody) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }

func (h *Handlers) series(ctx context.Context, caller principal.Principal, in *seriesInput) (SeriesBody, error) {
	q, err := in.query(h.Database.Now())
	if err != nil {
		return SeriesBody{}, err
	}
	q.Behind = h.Behind()
	found, err := h.Telemetry.Series(ctx, caller.OrgID, q)
	if by := groupings[q.Metric]; in.By == "" && len(by) > 0 {
		in.By = by[0]
	}
	body := SeriesBody{
		Metric:   in.Metric,
		By:       in.By,
		Bucket:   in.Bucket,
		Buckets:  make([]SeriesBucketBody, len(found.Buckets)),
		Complete: found.Complete,
	}
	for i, b := range found.Buckets {
		values := make(map[string]NumberBody, len(b.Values))
		for name, value := range b.Values {
			values[name] = NumberBody(value)
		}
		body.Buckets[i] = SeriesBucketBody{At: b.At, Values: values, Complete: b.Complete}
	}
	return body, err
}

type denialsInput struct {
	route.OrgInput
	DaysInput
}

// DenialsBody is what denied calls.
type DenialsBody struct {
	Items    []DenialBody `json:"items" nullable:"false" doc:"The most first; at most 100."`
	Total    int64        `json:"total" doc:"All denials of the time, also of what is not listed."`
	Complete bool         `json:"complete" doc:"Whether all of the time is counted and kept. The present hour goes on."`
}

// DenialBody is how often something denied by one rule.
type DenialBody struct {
	DecidedBy string `json:"decidedBy" doc:"The policy, or the part of Writ, as in decisions."`
	Rule      string `json:"rule" doc:"Empty: none."`
	Count     int64  `json:"count" doc:"How often it refused."`
	LastIndex int64  `json:"lastIndex" doc:"Number of the latest one's entry in the organization's log."`
}

func (h *Handlers) denials(ctx context.Context, caller principal.Principal, in *denialsInput) (DenialsBody, error) {
	period, err := in.period()
	if err != nil {
		return DenialsBody{}, err
	}
	found, err := h.Telemetry.Denials(ctx, caller.OrgID, period)
	return DenialsBody{
		Items:    route.ItemsOf(found.Items, func(d telemetry.Denial) DenialBody { return DenialBody(d) }).Items,
		Total:    found.Total,
		Complete: found.Complete,
	}, err
}
