package search

import (
	"context"
	"strconv"
	"strings"
	"time"

	"writ/internal/agent"
	"writ/internal/apikey"
	"writ/internal/database"
	"writ/internal/organization"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// What an organization has few of is read and compared: there is no index that could be late, or remember what was
// removed.

const (
	// namesRead is how many agents, policies and members are compared with a part of a name, each.
	namesRead = 1000
	// mostNamed is how many of a kind are found by a part of their names.
	mostNamed = 50
	// mostByID is how many traces are found by the beginning of their ids.
	mostByID = 8
)

// rankOf compares a text with the names of a thing; 0: it is none of them.
func (w wanted) rankOf(names ...string) int {
	rank := 0
	text := strings.ToLower(w.text)
	for _, name := range names {
		switch lower := strings.ToLower(name); {
		case lower == text:
			return exact
		case strings.Contains(lower, text):
			rank = named
		}
	}
	if rank == 0 && w.query.Matches(names...) {
		rank = named
	}
	return rank
}

// result is something that was found. The first of the texts that has a word of the query is its match.
func (w wanted) result(rank int, kind, id string, at time.Time, key string, show shown) FoundBody {
	body := FoundBody{
		Kind: kind, ID: id, Title: show.title, Note: show.note,
		At: at, Match: []PieceBody{}, place: position{rank, at, kind, key},
	}
	for _, text := range append([]string{show.title, show.note}, show.texts...) {
		for _, piece := range w.query.Excerpt(text) {
			body.Match = append(body.Match, PieceBody(piece))
		}
		if len(body.Match) > 0 {
			break
		}
	}
	return body
}

// shown is what is shown of a thing. Texts are shown only where they match.
type shown struct {
	title, note string
	texts       []string
}

func (w wanted) one(kind, id string, at time.Time, show shown) []FoundBody {
	return []FoundBody{w.result(exact, kind, id, at, keyOf(id), show)}
}

func (h *Handlers) entryAt(ctx context.Context, caller principal.Principal, w wanted) ([]FoundBody, error) {
	index, err := strconv.ParseInt(strings.TrimPrefix(w.text, "#"), 10, 64)
	if err != nil || index < 0 {
		return nil, nil
	}
	entries, err := h.Audit.EntriesAt(ctx, caller.OrgID, []int64{index})
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	number := strconv.FormatInt(index, 10)
	show := shown{title: "#" + number, note: entries[0].Action}
	if why := entries[0].Altered.Why; why != "" {
		show.note += ", altered: " + why
	}
	return w.one("entry", number, database.Time(entries[0].Time), show), nil
}

func (h *Handlers) traceNamed(
	ctx context.Context, caller principal.Principal, w wanted,
) (found []FoundBody, err error) {
	traces, err := h.Telemetry.TracesByID(ctx, caller.OrgID, w.text, mostByID)
	for i := range traces {
		t := &traces[i]
		rank := named
		if strings.EqualFold(strings.ReplaceAll(t.ID, "-", ""), strings.ReplaceAll(w.text, "-", "")) {
			rank = exact
		}
		found = append(found, w.result(rank, "trace", t.ID, t.ReceivedAt, keyOf(t.ID), traceShown(t)))
	}
	return found, err
}

func (h *Handlers) sessionNamed(ctx context.Context, caller principal.Principal, w wanted) ([]FoundBody, error) {
	session, err := h.Telemetry.FindSession(ctx, caller.OrgID, w.text)
	if err != nil || session == nil {
		return nil, err
	}
	return w.one("session", session.ID, session.LastActivityAt, sessionShown(session)), nil
}

func (h *Handlers) planNamed(ctx context.Context, caller principal.Principal, w wanted) ([]FoundBody, error) {
	if !database.IsID(w.text) {
		return nil, nil
	}
	plan, err := h.Plans.Get(ctx, caller, w.text)
	if err != nil {
		return nil, err
	}
	return w.one("plan", plan.ID, plan.CreatedAt, planShown(plan)), nil
}

func (h *Handlers) approvalNamed(ctx context.Context, caller principal.Principal, w wanted) ([]FoundBody, error) {
	if !database.IsID(w.text) {
		return nil, nil
	}
	request, err := h.Approvals.Get(ctx, caller, w.text)
	if err != nil {
		return nil, err
	}
	return w.one("approval", request.ID, request.CreatedAt, approvalShown(caller, request)), nil
}

func (h *Handlers) agents(ctx context.Context, caller principal.Principal, w wanted) ([]FoundBody, error) {
	return read(w, func(cursor string) (page.Page[agent.Agent], error) {
		return h.Agents.List(ctx, caller, agent.Filter{}, cursor, page.MaxLimit)
	}, func(a agent.Agent) thing {
		title := a.Name
		if title == "" {
			title = a.ID
		}
		return thing{"agent", a.ID, a.CreatedAt, []string{a.ID, a.Name}, shown{title, string(a.Status), []string{a.ID}}}
	})
}

func (h *Handlers) policies(ctx context.Context, caller principal.Principal, w wanted) ([]FoundBody, error) {
	return read(w, func(cursor string) (page.Page[policy.Policy], error) {
		return h.Policies.List(ctx, caller, policy.Filter{}, cursor, page.MaxLimit)
	}, func(p policy.Policy) thing {
		return thing{"policy", p.ID, p.CreatedAt, []string{p.ID, p.Name}, shown{p.Name, string(p.Status()), nil}}
	})
}

func (h *Handlers) members(ctx context.Context, caller principal.Principal, w wanted) ([]FoundBody, error) {
	return read(w, func(cursor string) (page.Page[organization.Member], error) {
		return h.Organizations.Members(ctx, caller, cursor, page.MaxLimit)
	}, func(m organization.Member) thing {
		title := m.Name
		if title == "" {
			title = m.Email
		}
		return thing{"member", m.UserID, m.JoinedAt, []string{m.UserID, m.Name, m.Email}, shown{title, m.Email, nil}}
	})
}

// keys finds those that the caller may see: of others only who manages keys.
func (h *Handlers) keys(ctx context.Context, caller principal.Principal, w wanted) ([]FoundBody, error) {
	return read(w, func(cursor string) (page.Page[apikey.Key], error) {
		return h.Keys.List(ctx, caller, cursor, page.MaxLimit)
	}, func(k apikey.Key) thing {
		return thing{"key", k.ID, k.CreatedAt, []string{k.ID, k.Name}, shown{k.Name, k.Status(h.Now()), []string{k.ID}}}
	})
}

func (h *Handlers) servers(ctx context.Context, caller principal.Principal, w wanted) (found []FoundBody, err error) {
	servers, err := h.Servers.List(ctx, caller, "")
	for i := range servers {
		s := &servers[i]
		of := thing{
			"server", s.ID, s.CreatedAt, []string{s.ID, s.Name},
			shown{s.Name, string(s.Status), []string{s.Description}},
		}
		if body, ok := w.named(of); ok && len(found) < mostNamed {
			found = append(found, body)
		}
	}
	return found, err
}

// thing is something that has names.
type thing struct {
	kind, id string
	at       time.Time
	names    []string
	shown    shown
}

// named is a thing as a result, if the text is one of its names or a part of one.
func (w wanted) named(of thing) (body FoundBody, ok bool) {
	rank := w.rankOf(of.names...)
	if rank == 0 {
		return body, false
	}
	return w.result(rank, of.kind, of.id, of.at, keyOf(of.id), of.shown), true
}

// read reads pages and keeps what has the text in one of its names.
func read[T any](
	w wanted, pages func(cursor string) (page.Page[T], error), as func(T) thing,
) (found []FoundBody, err error) {
	for seen, cursor := 0, ""; seen < namesRead; {
		some, err := pages(cursor)
		if err != nil {
			return nil, err
		}
		for _, item := range some.Items {
			if body, ok := w.named(as(item)); ok {
				found = append(found, body)
			}
			if len(found) == mostNamed {
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

func traceShown(t *telemetry.FoundTrace) shown {
	return shown{title: t.Name, note: t.Status, texts: []string{t.AgentID, t.Tags}}
}

func sessionShown(s *telemetry.Session) shown { return shown{s.ID, s.AgentID, nil} }
