package policies

import (
	"github.com/go-json-experiment/json"

	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/principal"
)

// MountPreflights serves recorded preflights to people.
func (h *Handlers) MountPreflights(r *route.Router) {
	r = r.Tagged("preflight")
	route.Handle(r, route.Get("/pap/decisions", "Preflights, newest first").
		For(route.Person).Needs(principal.ReadTelemetry), h.listPreflights)
	route.Handle(r, route.Get("/pap/stats/overview", "Statistics of preflights").
		For(route.Person).Needs(principal.ReadTelemetry), h.preflightStats)
	route.Handle(r, route.Get("/pap/policy/snapshot", "The policies that preflights are judged by now").
		For(route.Person).Needs(principal.ReadPolicies), h.policySnapshot)
}

// PreflightItemBody is a recorded preflight.
type PreflightItemBody struct {
	ID         string              `json:"id" format:"uuid"`
	At         time.Time           `json:"at"`
	Decision   string              `json:"decision" enum:"accepted,rejected,escalated,erased" doc:"erased: the log only shows that there was one."`
	KeyID      string              `json:"keyId" format:"uuid" doc:"The API key that asked."`
	AgentID    string              `json:"agentId"`
	Prompt     *string             `json:"prompt" doc:"Redacted; null for callers who may not read payloads."`
	Tools      []PreflightToolBody `json:"tools" nullable:"false"`
	Violations []string            `json:"violations" nullable:"false"`
	Index      int64               `json:"auditIndex" doc:"Number of its entry in the organization's log."`
}

// PreflightToolBody is a call of a preflight.
type PreflightToolBody struct {
	Server   string `json:"server"`
	Tool     string `json:"tool"`
	Decision string `json:"decision" enum:"allow,deny,hold,ask"`
	PolicyID string `json:"policyId"`
	Rule     string `json:"rule"`
}

type listPreflightsInput struct {
	route.OrganizationQuery
	route.PageInput
	Days int `query:"days" minimum:"1" maximum:"90" default:"7" doc:"How many days back."`
}

// preflights is a page of recorded preflights.
func (h *Handlers) preflights(
	ctx context.Context, caller principal.Principal, days int, cursor string, limit int,
) (page.Page[audit.Stored], error) {
	return h.Audit.Entries(ctx, audit.LogOf(caller.OrgID), audit.Filter{
		Action: intent.PreflightAction, From: h.Now().Add(-time.Duration(days) * 24 * time.Hour),
		Cursor: cursor, Limit: limit,
	})
}

func (h *Handlers) listPreflights(
	ctx context.Context, caller principal.Principal, in *listPreflightsInput,
) (page.Page[PreflightItemBody], error) {
	entries, err := h.preflights(ctx, caller, in.Days, in.Cursor, in.Limit)
	if err != nil {
		return page.Page[PreflightItemBody]{}, err
	}
	body := page.Page[PreflightItemBody]{
		Items: []PreflightItemBody{}, NextCursor: entries.NextCursor, HasMore: entries.HasMore,
	}
	for _, entry := range entries.Items {
		item, err := preflightItem(entry, caller.May(principal.ReadPayloads))
		if err != nil {
			return page.Page[PreflightItemBody]{}, err
		}
		body.Items = append(body.Items, item)
	}
	return body, nil
}

func preflightItem(entry audit.Stored, readsPayloads bool) (PreflightItemBody, error) {
	record, err := entry.Parse()
	if err != nil {
		return PreflightItemBody{}, err
	}
	f, err := preflightOf(entry.Payload)
	if err != nil {
		return PreflightItemBody{}, err
	}
	item := PreflightItemBody{
		ID:         record.Subject.ID,
		At:         database.Time(entry.Time),
		Decision:   orErased(f.Outcome),
		KeyID:      record.Actor.ID,
		AgentID:    f.AgentID,
		Index:      entry.Index,
		Tools:      []PreflightToolBody{},
		Violations: append([]string{}, f.Violations...),
	}
	if readsPayloads {
		item.Prompt = &f.Prompt
	}
	for _, tool := range f.Tools {
		item.Tools = append(item.Tools, PreflightToolBody{
			Server:   tool.Server,
			Tool:     tool.Tool,
			Decision: tool.Verdict,
			PolicyID: tool.Policy,
			Rule:     tool.Rule,
		})
	}
	return item, nil
}

func orErased(outcome string) string {
	if outcome == "" {
		return "erased"
	}
	return outcome
}

type preflightStatsInput struct {
	route.OrganizationQuery
	Days int `query:"days" minimum:"1" maximum:"90" default:"7" doc:"How many days back."`
}

// PreflightStatsBody counts preflights.
type PreflightStatsBody struct {
	Total       int64            `json:"total"`
	Accepted    int64            `json:"accepted"`
	Rejected    int64            `json:"rejected"`
	Escalated   int64            `json:"escalated"`
	Erased      int64            `json:"erased"`
	ByAgent     map[string]int64 `json:"byAgent" doc:"How many of each agent; an empty id: not stated."`
	Approximate bool             `json:"approximate" doc:"Whether only the newest 10,000 were counted."`
}

// maxCounted bounds what one overview reads.
const maxCounted = 10_000

func (h *Handlers) preflightStats(
	ctx context.Context, caller principal.Principal, in *preflightStatsInput,
) (PreflightStatsBody, error) {
	body := PreflightStatsBody{ByAgent: map[string]int64{}}
	for cursor := ""; ; {
		entries, err := h.preflights(ctx, caller, in.Days, cursor, page.MaxLimit)
		if err != nil {
			return PreflightStatsBody{}, err
		}
		for _, entry := range entries.Items {
			f, err := preflightOf(entry.Payload)
			if err != nil {
				return PreflightStatsBody{}, err
			}
			body.count(f)
		}
		cursor = entries.NextCursor
		if !entries.HasMore || body.Total >= maxCounted {
			body.Approximate = entries.HasMore
			return body, nil
		}
	}
}

func (b *PreflightStatsBody) count(f intent.Preflight) {
	b.Total++
	b.ByAgent[f.AgentID]++
	switch f.Outcome {
	case intent.Accepted:
		b.Accepted++
	case intent.Rejected:
		b.Rejected++
	case intent.Escalated:
		b.Escalated++
	default:
		b.Erased++
	}
}

type policySnapshotInput struct {
	route.OrganizationQuery
	route.PageInput
}

func (h *Handlers) policySnapshot(
	ctx context.Context, caller principal.Principal, in *policySnapshotInput,
) (page.Page[ListedPolicyBody], error) {
	policies, err := h.Policies.List(ctx, caller, policy.Filter{Status: policy.Active}, in.Cursor, in.Limit)
	return route.MapPage(policies, listedPolicy), err
}

// preflightOf reads a preflight from the log. If its payload was erased, it has only a time and an id.
func preflightOf(payload string) (f intent.Preflight, err error) {
	if payload == "" {
		return f, nil
	}
	if err := json.Unmarshal([]byte(payload), &f); err != nil {
		return f, fault.Wrap(err, fault.Internal, "a preflight in the log cannot be read")
	}
	return f, nil
}
