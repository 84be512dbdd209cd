package client

import (
	"context"
	"encoding/json"
	"time"
)

// SeriesQuery asks for a metric over time. Zero values are the server's defaults.
type SeriesQuery struct {
	Metric      string // decisions, traces, errors, tokens, cost, p50 or p95
	By          string // what the values are of
	Bucket      string // hour or day
	Agent, Tool string
	Days        int
	From, Until time.Time
}

// Series is a metric over time.
type Series struct {
	Metric   string         `json:"metric"`
	By       string         `json:"by"`
	Bucket   string         `json:"bucket"`
	Buckets  []SeriesBucket `json:"buckets"`
	Complete bool           `json:"complete"`
}

// SeriesBucket is an hour or a day.
type SeriesBucket struct {
	At       time.Time              `json:"at"`
	Values   map[string]json.Number `json:"values"`
	Complete bool                   `json:"complete"`
}

// Series reads a metric over time.
func (c *Client) Series(ctx context.Context, orgID string, q SeriesQuery) (Series, error) {
	return get[Series](ctx, c, telemetryPath(orgID, "/analytics/series"), query("metric", q.Metric, "by", q.By,
		"bucket", q.Bucket, "agent", q.Agent, "tool", q.Tool, "days", q.Days, "from", q.From, "until", q.Until))
}

// Denials are what denied calls.
type Denials struct {
	Items    []Denial `json:"items"`
	Total    int64    `json:"total"`
	Complete bool     `json:"complete"`
}

// Denial is how often something denied by one rule.
type Denial struct {
	DecidedBy string `json:"decidedBy"`
	Rule      string `json:"rule"`
	Count     int64  `json:"count"`
	LastIndex int64  `json:"lastIndex"`
}

// Denials reads what denied calls in the last days (0: the server's default).
func (c *Client) Denials(ctx context.Context, orgID string, days int) (Denials, error) {
	return get[Denials](ctx, c, telemetryPath(orgID, "/analytics/denials"), query("days", days))
}
