// Package search finds what a person names or describes: an id that was pasted, a number of the audit log, a part of
// a name, or words of what agents did. It shows only what the role of the person may read, and a query of somebody
// who may not read payloads never matches one.
//
// Each kind is found by a finder of its own, in one order: what is named exactly, then what has the text in its name,
// then the rest, each the newest first. The answer merges them.
package search

import (
	"context"
	"slices"
	"strings"
	"time"

	"writ/internal/agent"
	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/mcp"
	"writ/internal/organization"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/telemetry"
	"writ/internal/throttle"
	"writ/internal/wordindex"
)

// Handlers serve the search.
type Handlers struct {
	Agents        *agent.Service
	Approvals     *approval.Service
	Audit         *audit.Service
	Keys          *apikey.Service
	Organizations *organization.Service
	Plans         *intent.Service
	Policies      *policy.Service
	Servers       *mcp.Service
	Telemetry     *telemetry.Service
	Now           func() time.Time
}

// Mount serves the route.
func (h *Handlers) Mount(r *route.Router) {
	route.Handle(r.Tagged("search"), route.Get("/search",
		"Find traces, sessions, agents, policies, servers, plans, approvals, members, keys and entries of the audit log").
		For(route.Person).Needs(principal.ReadOrganization).Throttled(throttle.Search), h.search)
}

type searchInput struct {
	route.OrganizationQuery
	Text   string   `query:"q" required:"true" minLength:"1" maxLength:"200" doc:"Words, of which the last may be the beginning of one; a part of a name; an id; #1207 for an entry. Upper and lower case are the same."`
	Kinds  []string `query:"kinds" enum:"agent,approval,entry,key,member,plan,policy,server,session,trace" maxItems:"10" doc:"Only these kinds, separated by commas. Absent: all."`
	Limit  int      `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"How many items a page has at most."`
	Cursor string   `query:"cursor" doc:"nextCursor of the page before."`
}

// FoundBody is something that was found.
type FoundBody struct {
	Kind  string      `json:"kind" enum:"agent,approval,entry,key,member,plan,policy,server,session,trace"`
	ID    string      `json:"id" doc:"As the route of its kind takes it; of an entry, its index."`
	Title string      `json:"title" doc:"Its name; clients may have written it."`
	Note  string      `json:"note" doc:"Its status, action or address; may be empty."`
	At    time.Time   `json:"at" doc:"When it was made, received or last active."`
	Match []PieceBody `json:"match" nullable:"false" doc:"The text that matched, or a part of it, in pieces. It is text, not markup. Empty where an id matched, or something that is not shown."`
	place position
}

// PieceBody is a part of a text.
type PieceBody struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit" doc:"Whether the query names it."`
}

// FoundPageBody is a page of what was found.
type FoundPageBody struct {
	page.Page[FoundBody]
	Indexing bool `json:"indexing" doc:"Something is not in the index yet: there may be more soon."`
}

// wanted is what a finder looks for.
type wanted struct {
	text  string // trimmed
	query wordindex.Query
	until time.Time // not later than this
	limit int
}

// finder finds things of one kind.
type finder struct {
	kind  string
	needs principal.Action
	// named finds what the text names. There are few, and all come each time.
	named func(ctx context.Context, caller principal.Principal, w wanted) ([]FoundBody, error)
	// described finds by words up to a time, the newest first; nil: the kind is found by names alone.
	described func(ctx context.Context, caller principal.Principal, w wanted) ([]FoundBody, error)
}

func (h *Handlers) finders() []finder {
	return []finder{
		{"entry", principal.ReadTelemetry, h.entryAt, h.entries},
		{"trace", principal.ReadTelemetry, h.traceNamed, h.traces},
		{"session", principal.ReadTelemetry, h.sessionNamed, h.sessions},
		{"plan", principal.ReadTelemetry, h.planNamed, h.plans},
		{"approval", principal.ReadOrganization, h.approvalNamed, h.approvals},
		{"agent", principal.ReadOrganization, h.agents, nil},
		{"policy", principal.ReadPolicies, h.policies, nil},
		{"server", principal.ReadOrganization, h.servers, nil},
		{"member", principal.ReadMembers, h.members, nil},
		{"key", principal.ReadOrganization, h.keys, nil},
	}
}

func (h *Handlers) search(
	ctx context.Context, caller principal.Principal, in *searchInput,
) (body FoundPageBody, err error) {
	scope := strings.Join([]string{caller.OrgID, strings.Join(in.Kinds, ","), in.Text}, "\n")
	after, err := decode(in.Cursor, scope)
	if err != nil {
		return body, err
	}
	w := wanted{text: strings.TrimSpace(in.Text), query: wordindex.Parse(in.Text), limit: in.Limit + 1}
	w.query.Payloads = caller.May(principal.ReadPayloads)
	w.until = h.Now().Add(aheadOfUs)
	if after.rank == described {
		w.until = after.at
	}
	var found []FoundBody
	for _, f := range h.finders() {
		if len(in.Kinds) > 0 && !slices.Contains(in.Kinds, f.kind) || !caller.May(f.needs) || w.text == "" {
			continue
		}
		some, err := f.find(ctx, caller, w, after)
		if err != nil {
			return body, err
		}
		found = append(found, some...)
	}
	slices.SortFunc(found, func(a, b FoundBody) int { return a.place.compare(b.place) })
	body.Page = page.Of(found, in.Limit, func(f FoundBody) page.Cursor { return f.place.cursor(scope) })
	body.Indexing, err = h.indexing(ctx, caller, in.Kinds)
	return body, err
}

// aheadOfUs is how far the clock of another replica may be ahead.
const aheadOfUs = time.Hour

// find finds what comes after a position. What is both named and described is named.
func (f *finder) find(
	ctx context.Context, caller principal.Principal, w wanted, after position,
) (found []FoundBody, err error) {
	names, err := f.named(ctx, caller, w)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	isNamed := map[string]bool{}
	for _, item := range names {
		isNamed[item.ID] = true
	}
	found = behind(names, after)
	if f.described == nil {
		return found, nil
	}
	// Many may have the time at which the page begins, so that all that was read is of the page before.
	for enough := w.limit; ; w.limit *= 4 {
		all, err := f.described(ctx, caller, w)
		if err != nil {
			return nil, err
		}
		read := len(all)
		rest := slices.DeleteFunc(behind(all, after), func(item FoundBody) bool { return isNamed[item.ID] })
		if len(rest) >= enough || read < w.limit || w.limit > mostAtOnce {
			return append(found, rest...), nil
		}
	}
}

// mostAtOnce is how much is read at most because many have the same time.
const mostAtOnce = 4096

// indexing reports whether one of the kinds is not completely indexed.
func (h *Handlers) indexing(ctx context.Context, caller principal.Principal, kinds []string) (bool, error) {
	for kind, waits := range map[string]func() (bool, error){
		"trace":    func() (bool, error) { return h.Telemetry.Indexing(ctx, caller.OrgID) },
		"plan":     func() (bool, error) { return h.Plans.Indexing(ctx, caller.OrgID) },
		"approval": func() (bool, error) { return h.Approvals.Indexing(ctx, caller.OrgID) },
	} {
		if len(kinds) > 0 && !slices.Contains(kinds, kind) {
			continue
		}
		if is, err := waits(); err != nil || is {
			return is, err
		}
	}
	return false, nil
}
