package usage

import (
	"context"

	"writ/internal/csvsafe"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

const csvType = "text/csv; charset=utf-8"

var columns = []string{
	"start", "decisions", "allowed", "asked", "held", "denied", "spans", "inputTokens", "outputTokens",
	"cacheReadTokens", "cacheWriteTokens", "costUsd", "seats", "activeAgents", "storedBytes", "complete",
}

// table writes periods as CSV in which no cell is a formula.
func table(periods []UsagePeriodBody) (text []byte) {
	var row csvsafe.Row
	for _, name := range columns {
		row.Text(name)
	}
	text = append(text, row.End()...)
	for _, p := range periods {
		row.Text(p.Start)
		for _, n := range []int64{
			p.Decisions, p.Allowed, p.Asked, p.Held, p.Denied, p.Spans,
			p.InputTokens, p.OutputTokens, p.CacheReadTokens, p.CacheWriteTokens,
		} {
			row.Number(n)
		}
		row.Text(string(p.CostUSD)) // below zero it is no formula either
		row.Number(p.Seats)
		row.Number(p.ActiveAgents)
		row.Number(p.StoredBytes)
		row.Text(map[bool]string{false: "no", true: "yes"}[p.Complete])
		text = append(text, row.End()...)
	}
	return text
}

type usageOfEachInput struct {
	From  string `query:"from" doc:"The first day; absent: 30 days ago."`
	Until string `query:"until" doc:"The day after the last one; absent: tomorrow."`
}

// OrganizationsUsageBody is what organizations used.
type OrganizationsUsageBody struct {
	Items []OrganizationUsageBody `json:"items" nullable:"false" doc:"At most 200, those with the most decisions first."`
}

// OrganizationUsageBody is what one organization used.
type OrganizationUsageBody struct {
	OrganizationID string     `json:"organizationId"`
	Name           string     `json:"name" doc:"Empty: it is not known any more." example:"Acme"`
	Decisions      int64      `json:"decisions" example:"1204"`
	Spans          int64      `json:"spans" example:"5210"`
	Tokens         int64      `json:"tokens" doc:"Of all kinds." example:"911000"`
	CostUSD        NumberBody `json:"costUsd" example:"3.25"`
}

const mostOrganizations = 200

func (h *Handlers) byOrganization(
	ctx context.Context, _ principal.Principal, in *usageOfEachInput,
) (OrganizationsUsageBody, error) {
	body := OrganizationsUsageBody{Items: []OrganizationUsageBody{}}
	q, err := h.queryOf(in.From, in.Until, "day")
	if err != nil {
		return body, err
	}
	all, err := h.Telemetry.MeteredByEach(ctx, q, mostOrganizations)
	if err != nil {
		return body, err
	}
	for _, m := range all {
		name, err := h.Organizations.NameOf(ctx, m.OrgID)
		if err != nil {
			return body, err
		}
		body.Items = append(body.Items, OrganizationUsageBody{
			OrganizationID: m.OrgID,
			Name:           name,
			Decisions:      m.Decisions,
			Spans:          m.Spans,
			Tokens:         m.Usage.Input + m.Usage.Output + m.Usage.CacheRead + m.Usage.CacheWrite,
			CostUSD:        NumberBody(telemetry.Dollars(m.Usage.CostNanos)),
		})
	}
	return body, nil
}
