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
	route.Handle(r, route.Get("/pap/stats/series", "Preflights over time, by hour or day").
		For(route.Person).Needs(principal.ReadTelemetry), h.preflightSeries)
	route.Handle(r, route.Get("/pap/policy/snapshot", "The policies that preflights are judged by now").
		For(route.Person).Needs(principal.ReadPolicies), h.policySnapshot)
}

// PreflightItemBody is a recorded preflight.
type PreflightItemBody struct {
	ID         string              `json:"id" format:"uuid"`
	At         time.Time           `json:"at"`
	Decision   string              `json:"decision" enum:"accepted,rejected,escalated,erased,altered" doc:"erased: the log only shows that there was one; altered: the log does not prove it, and violations say why."`
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

// PreflightFilterInput chooses preflights.
type PreflightFilterInput struct {
	Days     int       `query:"days" minimum:"1" maximum:"90" default:"7" doc:"How many days back."`
	From     time.Time `query:"from" doc:"Recorded then or later, instead of days back."`
	Until    time.Time `query:"until" doc:"Recorded before."`
	Agent    string    `query:"agent" maxLength:"400" doc:"Preflights of this agent."`
	Tool     string    `query:"tool" maxLength:"400" doc:"Preflights with a call of this tool."`
	Decision string    `query:"decision" enum:"accepted,rejected,escalated,erased" doc:"Preflights with this outcome."`
}

func (in *PreflightFilterInput) filter(now time.Time) (intent.PreflightFilter, error) {
	f := intent.PreflightFilter{
		From:    in.From,
		Until:   in.Until,
		Agent:   in.Agent,
		Tool:    in.Tool,
		Outcome: in.Decision,
	}
	if f.Until.IsZero() {
		f.Until = now.Add(time.Microsecond)
	}
	if f.From.IsZero() {
		f.From = f.Until.AddDate(0, 0, -in.Days)
	}
	if !in.Until.IsZero() && !in.From.IsZero() && !in.From.Before(in.Until) {
		return f, fault.Field("until", "must be after from")
	}
	return f, nil
}

type listPreflightsInput struct {
	route.OrganizationQuery
	route.PageInput
	PreflightFilterInput
}

func (h *Handlers) listPreflights(
	ctx context.Context, caller principal.Principal, in *listPreflightsInput,
) (page.Page[PreflightItemBody], error) {
	f, err := in.filter(h.Now())
	if err != nil {
		return page.Page[PreflightItemBody]{}, err
	}
	rows, err := h.Plans.Preflights(ctx, caller.OrgID, f, in.Cursor, in.Limit)
	if err != nil {
		return page.Page[PreflightItemBody]{}, err
	}
	positions := make([]int64, len(rows.Items))
	for i, row := range rows.Items {
		positions[i] = row.Index
	}
	entries, err := h.Audit.EntriesAt(ctx, audit.LogOf(caller.OrgID), positions)
	if err != nil {
		return page.Page[PreflightItemBody]{}, err
	}
	body := page.Page[PreflightItemBody]{
		Items: []PreflightItemBody{}, NextCursor: rows.NextCursor, HasMore: rows.HasMore,
	}
	for _, entry := range entries {
		item, err := preflightItem(entry, caller.May(principal.ReadPayloads))
		if err != nil {
			return page.Page[PreflightItemBody]{}, err
		}
		body.Items = append(body.Items, item)
	}
	return body, nil
}

func preflightItem(entry audit.Stored, readsPayloads bool) (PreflightItemBody, error) {
	if entry.Altered.Why != "" { // what it says may be no fact
		return PreflightItemBody{
			At: database.Time(entry.Time), Decision: audit.AlteredVerdict, Index: entry.Index,
			Tools: []PreflightToolBody{}, Violations: []string{entry.Altered.Why},
		}, nil
	}
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
