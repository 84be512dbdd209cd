package client

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

// Spans is an ingest request. Batches are any JSON, so that a caller can send what
// it has recorded.
type Spans struct {
	Product   string            `json:"product"`
	SessionID string            `json:"sessionId,omitempty"`
	Batches   []json.RawMessage `json:"batches"`
}

// Ingested is the answer to an ingest request.
type Ingested struct {
	Accepted   int         `json:"accepted"`
	Rejected   int         `json:"rejected"`
	Duplicate  int         `json:"duplicate"`
	TraceIDs   []string    `json:"traceIds"`
	Rejections []Rejection `json:"rejections"`
}

// Rejection says why a batch was rejected.
type Rejection struct {
	Index  int    `json:"index"`
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// Ingest sends traces with their spans.
func (c *Client) Ingest(ctx context.Context, s Spans) (Ingested, error) {
	return post[Ingested](ctx, c, "/observability/spans", nil, s)
}

// Trace is a trace in a list.
type Trace struct {
	ID         string          `json:"id"`
	SessionID  *string         `json:"sessionId"`
	Name       string          `json:"name"`
	StartTime  time.Time       `json:"startTime"`
	EndTime    *time.Time      `json:"endTime"`
	DurationMs *int64          `json:"durationMs"`
	Status     string          `json:"status"`
	UserID     *string         `json:"userId"`
	AgentID    string          `json:"agentId"`
	Attributes json.RawMessage `json:"attributes"`
	Tags       []string        `json:"tags"`
	TraceTotals
}

// TraceTotals sums up the spans of a trace.
type TraceTotals struct {
	TotalInputTokens  int64   `json:"totalInputTokens"`
	TotalOutputTokens int64   `json:"totalOutputTokens"`
	TotalCostUSD      float64 `json:"totalCostUsd"`
	SpanCount         int64   `json:"spanCount"`
	ErrorCount        int64   `json:"errorCount"`
	InputPreview      *string `json:"inputPreview"`
	OutputPreview     *string `json:"outputPreview"`
}

// TraceDetail is a trace with its spans. Its totals are zero: TraceTotals reads them.
type TraceDetail struct {
	Trace
	Product string `json:"product"`
	Source  string `json:"source"`
	Spans   []Span `json:"spans"`
}

// Span is a span of a trace.
type Span struct {
	ID           string          `json:"id"`
	ParentSpanID *string         `json:"parentSpanId"`
	SessionID    *string         `json:"sessionId"`
	Kind         string          `json:"kind"`
	Name         string          `json:"name"`
	StartTime    time.Time       `json:"startTime"`
	EndTime      *time.Time      `json:"endTime"`
	DurationMs   *int64          `json:"durationMs"`
	Status       string          `json:"status"`
	CostUSD      *float64        `json:"costUsd"` // what a generation counts with; nil for other spans
	Attributes   json.RawMessage `json:"attributes"`
}

// TraceFilter chooses traces. A zero field chooses all.
type TraceFilter struct {
	List
	Days          int
	SessionID     string
	Name          string
	Status        string
	UserID        string
	AgentID       string
	MinDurationMs *int64
	MinCostUSD    *float64
	Model         string
	Tool          string
	HasError      *bool
}

func (f TraceFilter) values(more ...any) url.Values {
	return f.with(append(more, "days", f.Days, "sessionId", f.SessionID, "name", f.Name, "status", f.Status,
		"userId", f.UserID, "agentId", f.AgentID, "minDurationMs", f.MinDurationMs,
		"minCostUsd", f.MinCostUSD, "model", f.Model, "tool", f.Tool, "hasError", f.HasError)...)
}

func telemetryPath(orgID, path string) string {
	return organizationPath(orgID) + "/observability" + path
}

// Traces lists a page of traces, newest first.
func (c *Client) Traces(ctx context.Context, orgID string, f TraceFilter) (Page[Trace], error) {
	return get[Page[Trace]](ctx, c, telemetryPath(orgID, "/traces"), f.values())
}

// Trace reads a trace with its spans; nil when there is none.
func (c *Client) Trace(ctx context.Context, orgID, id string) (*TraceDetail, error) {
	return get[*TraceDetail](ctx, c, telemetryPath(orgID, "/traces/"+segment(id)), nil)
}

// TraceTotals reads what a trace took; nil: there is no such trace.
func (c *Client) TraceTotals(ctx context.Context, orgID, id string) (*TraceTotals, error) {
	type head struct {
		Totals TraceTotals `json:"totals"`
	}
	found, err := get[*head](ctx, c, telemetryPath(orgID, "/traces/"+segment(id)), query("fields", "head"))
	if err != nil || found == nil {
		return nil, err
	}
	return &found.Totals, nil
}

// TelemetrySession is a session of an agent.
type TelemetrySession struct {
	ID                    string    `json:"id"`
	OrgID                 string    `json:"orgId"`
	UserID                *string   `json:"userId"`
	AgentID               string    `json:"agentId"`
	Product               string    `json:"product"`
	StartedAt             time.Time `json:"startedAt"`
	LastActivityAt        time.Time `json:"lastActivityAt"`
	TraceCount            int64     `json:"traceCount"`
	TotalInputTokens      int64     `json:"totalInputTokens"`
	TotalOutputTokens     int64     `json:"totalOutputTokens"`
	TotalCacheReadTokens  int64     `json:"totalCacheReadTokens"`
	TotalCacheWriteTokens int64     `json:"totalCacheWriteTokens"`
	TotalCostUSD          float64   `json:"totalCostUsd"`
	Status                string    `json:"status"`
	Traces                []Trace   `json:"traces"` // in the detail only
}

// SessionFilter chooses sessions. A zero field chooses all.
type SessionFilter struct {
	List
	Days    int
	Status  string
	UserID  string
	AgentID string
}

func (f SessionFilter) values(more ...any) url.Values {
	return f.with(append(more, "days", f.Days, "status", f.Status, "userId", f.UserID, "agentId", f.AgentID)...)
}

// TelemetrySessions lists a page of sessions, latest activity first.
func (c *Client) TelemetrySessions(ctx context.Context, orgID string, f SessionFilter) (Page[TelemetrySession], error) {
	return get[Page[TelemetrySession]](ctx, c, telemetryPath(orgID, "/sessions"), f.values())
}

// TelemetrySession reads a session with its traces; nil when there is none.
func (c *Client) TelemetrySession(ctx context.Context, orgID, id string) (*TelemetrySession, error) {
	return get[*TelemetrySession](ctx, c, telemetryPath(orgID, "/sessions/"+segment(id)), nil)
}

// PolicyStats counts what a policy decided.
type PolicyStats struct {
	PolicyID        string      `json:"policyId"`
	PolicyName      string      `json:"policyName"`
	Calls           int64       `json:"calls"`
	Allowed         int64       `json:"allowed"`
	Denied          int64       `json:"denied"`
	AvgDurationMs   float64     `json:"avgDurationMs"`
	P50DurationMs   float64     `json:"p50DurationMs"`
	P95DurationMs   float64     `json:"p95DurationMs"`
	TopMatchedRules []RuleCount `json:"topMatchedRules"`
	Shadow          ShadowStats `json:"shadow"`
}

// ShadowStats counts what a policy would have decided as a shadow.
type ShadowStats struct {
	Calls      int64 `json:"calls"`
	Allowed    int64 `json:"allowed"`
	Asked      int64 `json:"asked"`
	Held       int64 `json:"held"`
	Denied     int64 `json:"denied"`
	WouldDeny  int64 `json:"wouldDeny"`  // denied, where the active policies did not deny
	WouldHold  int64 `json:"wouldHold"`  // held, where they allowed, asked or denied
	WouldAllow int64 `json:"wouldAllow"` // allowed, where they did not allow
}

// RuleCount is how often a rule matched.
type RuleCount struct {
	RuleID string `json:"ruleId"`
	Count  int64  `json:"count"`
}

// PolicyStats reads what a policy decided in the last days (0: the server's
// default).
func (c *Client) PolicyStats(ctx context.Context, orgID, policyID string, days int) (PolicyStats, error) {
	return get[PolicyStats](ctx, c, telemetryPath(orgID, "/policies/"+segment(policyID)), query("days", days))
}

// ShadowStats reads what a version of a policy would have decided as a shadow in the last days.
func (c *Client) ShadowStats(ctx context.Context, orgID, policyID string, version, days int) (ShadowStats, error) {
	stats, err := get[PolicyStats](ctx, c, telemetryPath(orgID, "/policies/"+segment(policyID)),
		query("days", days, "shadowVersion", version))
	return stats.Shadow, err
}

// Summary is the overview of an organization.
type Summary struct {
	Period             int           `json:"period"`
	TotalTraces        int64         `json:"totalTraces"`
	TotalSessions      int64         `json:"totalSessions"`
	TotalErrors        int64         `json:"totalErrors"`
	TotalTokens        TokenTotals   `json:"totalTokens"`
	TotalCostUSD       float64       `json:"totalCostUsd"`
	P50DurationMs      float64       `json:"p50DurationMs"`
	P95DurationMs      float64       `json:"p95DurationMs"`
	TopFailingPolicies []PolicyCount `json:"topFailingPolicies"`
	TracesPerMinute    float64       `json:"tracesPerMinute"`
}

// TokenTotals is tokens by kind.
type TokenTotals struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
}

// PolicyCount is how often a policy denied.
type PolicyCount struct {
	PolicyID string `json:"policyId"`
	Count    int64  `json:"count"`
}

// Summary reads the overview of the last days (0: the server's default).
func (c *Client) Summary(ctx context.Context, orgID string, days int) (Summary, error) {
	return get[Summary](ctx, c, telemetryPath(orgID, "/analytics/summary"), query("days", days))
}

// GroupedTokens is usage by model, tool or session.
type GroupedTokens struct {
	GroupBy string      `json:"groupBy"`
	Items   []UsageItem `json:"items"`
}

// UsageItem is the usage of one model, tool or session.
type UsageItem struct {
	Key              string  `json:"key"`
	InputTokens      int64   `json:"inputTokens"`
	OutputTokens     int64   `json:"outputTokens"`
	CacheReadTokens  int64   `json:"cacheReadTokens"`
	CacheWriteTokens int64   `json:"cacheWriteTokens"`
	CostUSD          float64 `json:"costUsd"`
}

// Tokens reads usage by model (the default), tool or session.
func (c *Client) Tokens(ctx context.Context, orgID, groupBy string, days int) (GroupedTokens, error) {
	return get[GroupedTokens](ctx, c, telemetryPath(orgID, "/tokens"), query("days", days, "groupBy", groupBy))
}

// UsageReport is the running token totals of a session.
type UsageReport struct {
	Product   string       `json:"product"`
	SessionID string       `json:"sessionId"`
	Entries   []ModelUsage `json:"entries"`
}

// ModelUsage is the running total of one model.
type ModelUsage struct {
	Model            string `json:"model"`
	InputTokens      int64  `json:"inputTokens"`
	OutputTokens     int64  `json:"outputTokens"`
	CacheReadTokens  int64  `json:"cacheReadTokens"`
	CacheWriteTokens int64  `json:"cacheWriteTokens"`
}

// ReportUsage replaces the running totals of a session, and counts the models that
// were recorded.
func (c *Client) ReportUsage(ctx context.Context, r UsageReport) (int, error) {
	out, err := post[struct{ Recorded int }](ctx, c, "/dashboard/token-usage", nil, r)
	return out.Recorded, err
}
