// Package search finds what a person names: an id that was pasted, a number of the audit log, or a part of the name of
// an agent, a policy or a member. It shows only what the role of the person may read, and never looks into payloads.
package search

import (
	"context"
	"strconv"
	"strings"

	"writ/internal/agent"
	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/organization"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// Handlers serve the search.
type Handlers struct {
	Agents        *agent.Service
	Audit         *audit.Service
	Organizations *organization.Service
	Plans         *intent.Service
	Policies      *policy.Service
	Telemetry     *telemetry.Service
}

// Mount serves the route.
func (h *Handlers) Mount(r *route.Router) {
	route.Handle(r.Tagged("search"), route.Get("/search",
		"Find an id, an entry of the audit log, or a part of a name of an agent, policy or member").
		For(route.Person).Needs(principal.ReadOrganization).StrictQuery(), h.search)
}

const (
	// namesRead is how many agents, policies and members are compared with a part of a name, each.
	namesRead  = 1000
	mostOfKind = 8
)

type searchInput struct {
	route.OrganizationQuery
	Text string `query:"q" required:"true" minLength:"1" maxLength:"200" doc:"A whole id, #1207 for an entry, or a part of a name; upper and lower case are the same."`
}

// FoundBody is something that the text names.
type FoundBody struct {
	Kind  string `json:"kind" enum:"agent,entry,member,plan,policy,session,trace"`
	ID    string `json:"id" doc:"As the route of its kind takes it; of an entry, its index."`
	Title string `json:"title" doc:"Its name; clients may have written it."`
	Note  string `json:"note" doc:"Its status, action or address; may be empty."`
}

// finder finds things of one kind.
type finder func(ctx context.Context, caller principal.Principal, text string) ([]FoundBody, error)

func (h *Handlers) search(
	ctx context.Context, caller principal.Principal, in *searchInput,
) (route.Items[FoundBody], error) {
	found := []FoundBody{}
	text := strings.TrimSpace(in.Text)
	for _, kind := range []struct {
		needs principal.Action
		find  finder
	}{
		{principal.ReadTelemetry, h.entries},
		{principal.ReadTelemetry, h.traces},
		{principal.ReadTelemetry, h.sessions},
		{principal.ReadTelemetry, h.plans},
		{principal.ReadOrganization, h.agents},
		{principal.ReadPolicies, h.policies},
		{principal.ReadMembers, h.members},
	} {
		if !caller.May(kind.needs) || text == "" {
			continue
		}
		some, err := kind.find(ctx, caller, text)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return route.Items[FoundBody]{}, err
		}
		found = append(found, some...)
	}
	return route.Items[FoundBody]{Items: found}, nil
}

func (h *Handlers) entries(ctx context.Context, caller principal.Principal, text string) ([]FoundBody, error) {
	index, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64)
	if err != nil || index < 0 {
		return nil, nil
	}
	entries, err := h.Audit.EntriesAt(ctx, caller.OrgID, []int64{index})
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return one("entry", strconv.FormatInt(index, 10), "#"+strconv.FormatInt(index, 10), entries[0].Action), nil
}

func (h *Handlers) traces(ctx context.Context, caller principal.Principal, text string) ([]FoundBody, error) {
	trace, err := h.Telemetry.FindTrace(ctx, caller.OrgID, text)
	if err != nil || trace == nil {
		return nil, err
	}
	return one("trace", trace.ID, trace.Name, trace.Status), nil
}

func (h *Handlers) sessions(ctx context.Context, caller principal.Principal, text string) ([]FoundBody, error) {
	session, err := h.Telemetry.FindSession(ctx, caller.OrgID, text)
	if err != nil || session == nil {
		return nil, err
	}
	return one("session", session.ID, session.ID, ""), nil
}

func (h *Handlers) plans(ctx context.Context, caller principal.Principal, text string) ([]FoundBody, error) {
	if !database.IsID(text) {
		return nil, nil
	}
	plan, err := h.Plans.Get(ctx, caller, text)
	if err != nil {
		return nil, err
	}
	return one("plan", plan.ID, plan.ID, string(plan.Status)), nil
}

func (h *Handlers) agents(ctx context.Context, caller principal.Principal, text string) ([]FoundBody, error) {
	return named(text, func(cursor string) (page.Page[agent.Agent], error) {
		return h.Agents.List(ctx, caller, agent.Filter{}, cursor, page.MaxLimit)
	}, func(a agent.Agent) (FoundBody, []string) {
		title := a.Name
		if title == "" {
			title = a.ID
		}
		return FoundBody{"agent", a.ID, title, string(a.Status)}, []string{a.ID, a.Name}
	})
}

func (h *Handlers) policies(ctx context.Context, caller principal.Principal, text string) ([]FoundBody, error) {
	return named(text, func(cursor string) (page.Page[policy.Policy], error) {
		return h.Policies.List(ctx, caller, policy.Filter{}, cursor, page.MaxLimit)
	}, func(p policy.Policy) (FoundBody, []string) {
		return FoundBody{"policy", p.ID, p.Name, string(p.Status())}, []string{p.ID, p.Name}
	})
}

func (h *Handlers) members(ctx context.Context, caller principal.Principal, text string) ([]FoundBody, error) {
	return named(text, func(cursor string) (page.Page[organization.Member], error) {
		return h.Organizations.Members(ctx, caller, cursor, page.MaxLimit)
	}, func(m organization.Member) (FoundBody, []string) {
		title := m.Name
		if title == "" {
			title = m.Email
		}
		return FoundBody{"member", m.UserID, title, m.Email}, []string{m.UserID, m.Name, m.Email}
	})
}

func one(kind, id, title, note string) []FoundBody { return []FoundBody{{kind, id, title, note}} }

// named reads pages and keeps what has the text in one of its names.
func named[T any](
	text string, read func(cursor string) (page.Page[T], error), body func(T) (FoundBody, []string),
) (found []FoundBody, err error) {
	text = strings.ToLower(text)
	for seen, cursor := 0, ""; seen < namesRead; {
		some, err := read(cursor)
		if err != nil {
			return nil, err
		}
		for _, thing := range some.Items {
			shown, names := body(thing)
			for _, name := range names {
				if strings.Contains(strings.ToLower(name), text) {
					found = append(found, shown)
					break
				}
			}
			if len(found) == mostOfKind {
				return found, nil
			}
		}
		seen, cursor = seen+len(some.Items), some.NextCursor
		if !some.HasMore {
			break
		}
	}
	return found, nil
}
