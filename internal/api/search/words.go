package search

import (
	"context"
	"strconv"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/intent"
	"writ/internal/principal"
)

func (h *Handlers) entries(ctx context.Context, caller principal.Principal, w wanted) (found []FoundBody, err error) {
	matches := func(value string) bool { return w.query.Matches(value) }
	entries, err := h.Audit.Search(ctx, caller.OrgID, matches, w.until, w.limit)
	for i := range entries {
		e := &entries[i]
		number := strconv.FormatInt(e.Index, 10)
		found = append(found, w.result(described, "entry", number, database.Time(e.Time), falling(e.Index), shown{
			title: "#" + number, note: e.Action, texts: []string{e.Value},
		}))
	}
	return found, err
}

func (h *Handlers) traces(ctx context.Context, caller principal.Principal, w wanted) (found []FoundBody, err error) {
	traces, err := h.Telemetry.SearchTraces(ctx, caller.OrgID, w.query, w.until, w.limit)
	for i := range traces {
		t := &traces[i]
		show := traceShown(t)
		if caller.May(principal.ReadPayloads) {
			for _, preview := range []*string{t.InputPreview, t.OutputPreview} {
				if preview != nil {
					show.texts = append(show.texts, *preview)
				}
			}
		}
		found = append(found, w.result(described, "trace", t.ID, t.ReceivedAt, falling(t.Number()), show))
	}
	return found, err
}

func (h *Handlers) sessions(ctx context.Context, caller principal.Principal, w wanted) (found []FoundBody, err error) {
	matches := func(agent string) bool { return w.query.Matches(agent) }
	sessions, err := h.Telemetry.SearchSessions(ctx, caller.OrgID, matches, w.until, w.limit)
	for i := range sessions {
		s := &sessions[i]
		found = append(found, w.result(described, "session", s.ID, s.LastActivityAt, s.ID, sessionShown(s)))
	}
	return found, err
}

func (h *Handlers) plans(ctx context.Context, caller principal.Principal, w wanted) (found []FoundBody, err error) {
	plans, err := h.Plans.Search(ctx, caller, w.query, w.until, w.limit)
	for i := range plans {
		p := &plans[i]
		found = append(found, w.result(described, "plan", p.ID, p.CreatedAt, falling(p.Number), planShown(p.View)))
	}
	return found, err
}

func (h *Handlers) approvals(ctx context.Context, caller principal.Principal, w wanted) (found []FoundBody, err error) {
	requests, err := h.Approvals.Search(ctx, caller, w.query, w.until, w.limit)
	for i := range requests {
		r := &requests[i]
		found = append(found, w.result(described, "approval", r.ID, r.CreatedAt, falling(r.Number),
			approvalShown(caller, r.Request)))
	}
	return found, err
}

// planShown is a plan as far as its view has been made for the caller: without the right there is no goal in it.
func planShown(p intent.View) shown {
	title := p.Goal
	if title == "" {
		title = p.ID
	}
	return shown{title, string(p.Status), []string{p.Binding.AgentID, p.Binding.Email, p.Source}}
}

func approvalShown(caller principal.Principal, r approval.Request) shown {
	show := shown{r.Tool, string(r.Status), []string{r.Server, r.AgentID, r.Email}}
	if r.Server != "" {
		show.title = r.Server + "/" + r.Tool
	}
	if caller.May(principal.ReadPayloads) {
		show.texts = append(show.texts, r.AskedFor, r.Arguments)
	}
	return show
}
