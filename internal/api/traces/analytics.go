package traces

import (
	"context"
	"strings"

	"writ/internal/api/route"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

type policyStatsInput struct {
	route.OrgInput
	DaysInput
	PolicyID      string `path:"policyId" doc:"The policy, as spans name it."`
	ShadowVersion int    `query:"shadowVersion" minimum:"1" doc:"The version that shadow is about; absent: all that ran as shadows."`
}

// PolicyStatsBody is how a policy decided.
type PolicyStatsBody struct {
	PolicyID        string          `json:"policyId" doc:"The policy that was asked for."`
	PolicyName      string          `json:"policyName" doc:"The last name it was seen under, or the name it has if it was never seen; empty when there is no such policy."`
	Calls           int64           `json:"calls" doc:"Decisions of all four verdicts."`
	Allowed         int64           `json:"allowed" doc:"Allow only."`
	Denied          int64           `json:"denied" doc:"Deny only; hold and ask are in neither."`
	AvgDurationMs   float64         `json:"avgDurationMs" doc:"Of calls whose duration is known, in milliseconds."`
	P50DurationMs   float64         `json:"p50DurationMs" doc:"The median, within 1 %."`
	P95DurationMs   float64         `json:"p95DurationMs" doc:"The 95th percentile, within 1 %."`
	TopMatchedRules []RuleCountBody `json:"topMatchedRules" nullable:"false" doc:"The ten rules that matched most, the most first."`
	Shadow          ShadowBody      `json:"shadow,omitzero" doc:"What shadows of the policy would have led to, of one version with shadowVersion; none of it is in the other statistics."`
}

// ShadowBody is what the shadows of a policy would have led to.
type ShadowBody struct {
	Calls      int64 `json:"calls" doc:"Calls that a shadow judged too."`
	Allowed    int64 `json:"allowed" doc:"Would have been allowed."`
	Asked      int64 `json:"asked" doc:"Would have been asked about."`
	Held       int64 `json:"held" doc:"Would have waited for a person."`
	Denied     int64 `json:"denied" doc:"Would have been denied."`
	WouldDeny  int64 `json:"wouldDeny" doc:"Of the denied, those that the active policies did not deny."`
	WouldHold  int64 `json:"wouldHold" doc:"Of those that would have waited, those that the active policies did not hold."`
	WouldAllow int64 `json:"wouldAllow" doc:"Of the allowed, those that the active policies did not allow."`
}

// RuleCountBody is how often a rule matched.
type RuleCountBody struct {
	RuleID string `json:"ruleId" doc:"The rule, as spans name it."`
	Count  int64  `json:"count" doc:"How often it matched."`
}

func (h *Handlers) policyStats(
	ctx context.Context, caller principal.Principal, in *policyStatsInput,
) (PolicyStatsBody, error) {
	period, err := in.period()
	if err != nil {
		return PolicyStatsBody{}, err
	}
	s, err := h.Telemetry.Policy(ctx, caller.OrgID, in.PolicyID, in.ShadowVersion, period)
	if err == nil && s.Name == "" {
		s.Name, err = h.PolicyName(ctx, caller.OrgID, in.PolicyID)
	}
	return PolicyStatsBody{
		PolicyID:      strings.ToValidUTF8(in.PolicyID, "\uFFFD"),
		PolicyName:    s.Name,
		Calls:         s.Calls,
		Allowed:       s.Allowed,
		Denied:        s.Denied,
		AvgDurationMs: s.Average,
		P50DurationMs: s.P50,
		P95DurationMs: s.P95,
		TopMatchedRules: route.ItemsOf(s.TopRules, func(rule telemetry.Count) RuleCountBody {
			return RuleCountBody{rule.ID, rule.Count}
		}).Items,
		Shadow: ShadowBody(s.Shadow),
	}, err
}

type summaryInput struct {
	route.OrgInput
	DaysInput
}

// SummaryBody is the overview of an organization.
type SummaryBody struct {
	Period             int               `json:"period" doc:"How many days it covers, rounded up."`
	TotalTraces        int64             `json:"totalTraces" doc:"Traces that began in the period."`
	TotalSessions      int64             `json:"totalSessions" doc:"Sessions that were active in the period."`
	TotalErrors        int64             `json:"totalErrors" doc:"Traces whose status is not ok."`
	TotalTokens        TokensTotalBody   `json:"totalTokens" doc:"Tokens of generation spans and of reported totals."`
	TotalCostUSD       float64           `json:"totalCostUsd" doc:"What they cost, in US dollars."`
	P50DurationMs      float64           `json:"p50DurationMs" doc:"The median of traces whose duration is known, within 1 %."`
	P95DurationMs      float64           `json:"p95DurationMs" doc:"Their 95th percentile, within 1 %."`
	TopFailingPolicies []PolicyCountBody `json:"topFailingPolicies" nullable:"false" doc:"The ten policies with the most deny decisions, the most first."`
	TracesPerMinute    float64           `json:"tracesPerMinute" doc:"Over the last 60 minutes, including the current one."`
}

// TokensTotalBody is tokens by kind.
type TokensTotalBody struct {
	Input      int64 `json:"input" doc:"Input tokens, as the vendor counts them."`
	Output     int64 `json:"output" doc:"Output tokens."`
	CacheRead  int64 `json:"cacheRead" doc:"Tokens read from a cache."`
	CacheWrite int64 `json:"cacheWrite" doc:"Tokens written to a cache."`
}

// PolicyCountBody is how often a policy denied.
type PolicyCountBody struct {
	PolicyID string `json:"policyId" doc:"The policy, as spans name it."`
	Count    int64  `json:"count" doc:"How often it denied."`
}

func (h *Handlers) summary(ctx context.Context, caller principal.Principal, in *summaryInput) (SummaryBody, error) {
	period, err := in.period()
	if err != nil {
		return SummaryBody{}, err
	}
	s, err := h.Telemetry.Summary(ctx, caller.OrgID, period)
	return SummaryBody{
		Period:        period.Length(h.Database.Now()),
		TotalTraces:   s.Traces,
		TotalSessions: s.Sessions,
		TotalErrors:   s.Errors,
		TotalTokens:   TokensTotalBody{s.Usage.Input, s.Usage.Output, s.Usage.CacheRead, s.Usage.CacheWrite},
		TotalCostUSD:  s.Usage.Dollars(),
		P50DurationMs: s.P50,
		P95DurationMs: s.P95,
		TopFailingPolicies: route.ItemsOf(s.TopFailing, func(policy telemetry.Count) PolicyCountBody {
			return PolicyCountBody{policy.ID, policy.Count}
		}).Items,
		TracesPerMinute: s.TracesPerMinute,
	}, err
}

type tokensInput struct {
	route.OrgInput
	DaysInput
	GroupBy string `query:"groupBy" enum:"model,tool,session,agent" default:"model" doc:"What the items are."`
}

// TokensGroupedBody is usage by model, tool, session or agent.
type TokensGroupedBody struct {
	GroupBy string          `json:"groupBy" enum:"model,tool,session,agent" doc:"What the items are."`
	Items   []UsageItemBody `json:"items" nullable:"false" doc:"By cost, the most first; at most 1,000, the rest is one item with the key (other)."`
}

// UsageItemBody is the usage of one model, tool, session or agent.
type UsageItemBody struct {
	Key              string  `json:"key" doc:"The model, tool, session or agent."`
	InputTokens      int64   `json:"inputTokens" doc:"Input tokens, as the vendor counts them."`
	OutputTokens     int64   `json:"outputTokens" doc:"Output tokens."`
	CacheReadTokens  int64   `json:"cacheReadTokens" doc:"Tokens read from a cache."`
	CacheWriteTokens int64   `json:"cacheWriteTokens" doc:"Tokens written to a cache."`
	CostUSD          float64 `json:"costUsd" doc:"What they cost, in US dollars."`
}

func usageItemBody(i telemetry.UsageItem) UsageItemBody {
	return UsageItemBody{
		Key:              i.Key,
		InputTokens:      i.Usage.Input,
		OutputTokens:     i.Usage.Output,
		CacheReadTokens:  i.Usage.CacheRead,
		CacheWriteTokens: i.Usage.CacheWrite,
		CostUSD:          i.Usage.Dollars(),
	}
}

func (h *Handlers) tokens(ctx context.Context, caller principal.Principal, in *tokensInput) (TokensGroupedBody, error) {
	period, err := in.period()
	if err != nil {
		return TokensGroupedBody{}, err
	}
	items, err := h.Telemetry.Tokens(ctx, caller.OrgID, in.GroupBy, period)
	return TokensGroupedBody{in.GroupBy, route.ItemsOf(items, usageItemBody).Items}, err
}
