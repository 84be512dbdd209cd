package policies

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/replay"
)

// usualDays is how far back a replay goes by default.
const usualDays = 7

// mountReplays serves replays. Starting and ending one is not recorded: it changes no decision, and the replay names
// the person who started it.
func (h *Handlers) mountReplays(r *route.Router) {
	route.Handle(r, route.Post("/policy-replays",
		"Start a replay: what a draft would have done to recorded calls; for people who may see what agents did").
		For(route.Person).Needs(principal.DraftPolicies).Unrecorded().Answers(http.StatusAccepted), h.startReplay)
	route.Handle(r, read(route.Get("/policy-replays", "The stored replays, newest first")), h.listReplays)
	route.Handle(r, read(route.Get("/policy-replays/{replayId}", "A replay: its progress and what it found")),
		h.getReplay)
	route.Handle(r, draft(route.Post("/policy-replays/{replayId}/cancel", "Cancel a running replay")).
		Unrecorded(), h.cancelReplay)
}

type startReplayInput struct {
	route.OrganizationQuery
	Body struct {
		PolicyID string `json:"policyId,omitempty" doc:"The policy whose active version is replaced. Absent: the document is added to the active policies."`
		ChosenVersionBody
		Document route.SentObject `json:"document,omitempty" doc:"Or a document that is not stored."`
		YAML     string           `json:"yaml,omitempty" doc:"Or such a document as YAML."`
		Without  []string         `json:"without,omitempty" nullable:"false" maxItems:"100" doc:"Ids of active policies that are left out together with the draft, as if they were deactivated when it is activated."`
		Days     int              `json:"days,omitempty" minimum:"1" maximum:"365" doc:"How many days of recorded decisions, up to now. Absent: 7."`
	}
}

// subject is the draft that is tried.
func (in *startReplayInput) subject() (policy.Subject, error) {
	b := &in.Body
	version, err := b.number()
	s := policy.Subject{PolicyID: b.PolicyID, Version: version}
	switch {
	case err != nil:
		return s, err
	case b.YAML != "" && len(b.Document) > 0:
		return s, fault.Field("yaml", "give one of document and yaml")
	case b.YAML != "":
		s.Source = &policy.Source{Text: b.YAML, Format: document.YAML}
	case len(b.Document) > 0:
		s.Source = &policy.Source{Text: string(b.Document), Format: document.JSON}
	case b.PolicyID == "":
		return s, fault.Field("policyId", "give one of policyId, document and yaml")
	}
	if s.Source != nil && version != policy.LatestVersion {
		return s, fault.Field("policyVersion", "must be absent with a document, which is tried instead")
	}
	return s, nil
}

// ListedReplayBody is a replay without its report.
type ListedReplayBody struct {
	ID            string       `json:"id" format:"uuid"`
	State         replay.State `json:"state" enum:"waiting,running,done,cancelled,broken"`
	Name          string       `json:"name" doc:"Of the draft."`
	PolicyID      *string      `json:"policyId" doc:"The policy whose active version is replaced; null: the document is added to the active policies."`
	PolicyVersion *int         `json:"policyVersion" doc:"The version that is tried; null: a document that is not stored."`
	Digest        string       `json:"digest,omitempty" doc:"Hex SHA-256 of such a document."`
	Without       []string     `json:"without,omitempty" nullable:"false" doc:"Active policies that are left out together with the draft."`
	Days          int          `json:"days"`
	From          time.Time    `json:"from" doc:"Decisions from this time on are replayed."`
	Until         time.Time    `json:"until" doc:"When the replay was started."`
	StartedBy     AuthorBody   `json:"startedBy"`
	StartedAt     time.Time    `json:"startedAt"`
	EndedAt       *time.Time   `json:"endedAt" doc:"Null: it has not ended."`
	Done          int64        `json:"done" doc:"Entries of the audit log that were read."`
	Total         int64        `json:"total" doc:"Entries to read; 0: not known yet."`
	Problem       string       `json:"problem,omitempty" doc:"Why it is broken."`
}

// ReplayBody is a replay with its report.
type ReplayBody struct {
	ListedReplayBody
	Report *ReplayReportBody `json:"report" doc:"Null until it is done."`
}

// ReplayReportBody is what a replay found.
type ReplayReportBody struct {
	Counts  ReplayCountsBody   `json:"counts"`
	Changes []ReplayChangeBody `json:"changes" nullable:"false" doc:"Kinds of calls whose answer differs from today's or from the recorded one, most frequent first."`
	LeftOut int64              `json:"leftOut" doc:"Calls whose answer changes, of kinds beyond those listed."`
}

// ReplayCountsBody is the counts of a replay.
type ReplayCountsBody struct {
	Decisions int64                   `json:"decisions" doc:"All decisions recorded in the period."`
	Judged    int64                   `json:"judged" doc:"Those of them that policies decided."`
	Intent    int64                   `json:"intent" doc:"Not judged: the call was not in its plan."`
	Agent     int64                   `json:"agent" doc:"Not judged: the agent's key was not valid."`
	Failed    int64                   `json:"failed" doc:"Not judged: judging the call failed."`
	Erased    int64                   `json:"erased" doc:"Judged, with details that were erased."`
	Redacted  int64                   `json:"redacted" doc:"Judged, with a secret removed from the record."`
	NotKept   int64                   `json:"notKept" doc:"Judged, with arguments that were not stored."`
	Recorded  map[replay.Answer]int64 `json:"recorded" doc:"What was recorded: allow, confined (an allow that confines the call), ask, hold, deny; approved and refused by a person."`
	Today     map[replay.Answer]int64 `json:"today" doc:"What today's active policies say: allow, confined, ask, hold, deny, unknown."`
	Drafted   map[replay.Answer]int64 `json:"drafted" doc:"What they say with the draft."`
	Stricter  int64                   `json:"stricter" doc:"Against today."`
	Looser    int64                   `json:"looser" doc:"Against today."`
	Unchanged int64                   `json:"unchanged" doc:"Against today."`
	Unknown   int64                   `json:"unknown" doc:"One of the answers depends on unknown parts of the call."`
}

// ReplayChangeBody is a kind of calls whose answer changes.
type ReplayChangeBody struct {
	Agent         string              `json:"agent"`
	Server        string              `json:"server"`
	Tool          string              `json:"tool"`
	Recorded      replay.Answer       `json:"recorded" enum:"allow,confined,ask,hold,deny,approved,refused"`
	Today         replay.Answer       `json:"today" enum:"allow,confined,ask,hold,deny,unknown"`
	Drafted       replay.Answer       `json:"drafted" enum:"allow,confined,ask,hold,deny,unknown"`
	PolicyID      string              `json:"policyId" doc:"What decides with the draft; draft for a document that belongs to no policy; empty: not known, or no policy applies."`
	PolicyVersion int                 `json:"policyVersion"`
	Rule          string              `json:"rule"`
	Count         int64               `json:"count"`
	First         time.Time           `json:"first"`
	Last          time.Time           `json:"last"`
	Examples      []ReplayExampleBody `json:"examples" nullable:"false"`
}

// ReplayExampleBody is one such decision.
type ReplayExampleBody struct {
	DecisionID string    `json:"decisionId"`
	Index      int64     `json:"index" doc:"Of its entry in the audit log."`
	At         time.Time `json:"at"`
}

func listedReplay(j replay.Job) ListedReplayBody {
	body := ListedReplayBody{
		ID:        j.ID,
		State:     j.State,
		Name:      j.Name,
		Digest:    j.Digest,
		Without:   j.Without,
		Days:      j.Days,
		From:      j.From,
		Until:     j.Until,
		StartedBy: AuthorBody(j.Author),
		StartedAt: j.CreatedAt,
		EndedAt:   j.EndedAt,
		Done:      j.Done,
		Total:     j.Total,
		Problem:   j.Problem,
	}
	if j.PolicyID != "" {
		body.PolicyID = &j.PolicyID
	}
	if j.Version != 0 {
		body.PolicyVersion = &j.Version
	}
	return body
}

func showReplay(j replay.Job, err error) (ReplayBody, error) {
	if err != nil {
		return ReplayBody{}, err
	}
	body := ReplayBody{ListedReplayBody: listedReplay(j)}
	if j.Report != nil {
		body.Report = &ReplayReportBody{
			Counts: ReplayCountsBody(j.Report.Counts), Changes: []ReplayChangeBody{}, LeftOut: j.Report.LeftOut,
		}
		for _, c := range j.Report.Changes {
			body.Report.Changes = append(body.Report.Changes, replayChange(c))
		}
	}
	return body, nil
}

func replayChange(c replay.Change) ReplayChangeBody {
	body := ReplayChangeBody{
		Agent:         c.Agent,
		Server:        c.Server,
		Tool:          c.Tool,
		Recorded:      c.Recorded,
		Today:         c.Today,
		Drafted:       c.Drafted,
		PolicyID:      c.PolicyID,
		PolicyVersion: c.PolicyVersion,
		Rule:          c.Rule,
		Count:         c.Count,
		First:         c.First,
		Last:          c.Last,
		Examples:      []ReplayExampleBody{},
	}
	for _, e := range c.Examples {
		body.Examples = append(body.Examples, ReplayExampleBody(e))
	}
	return body
}

func (h *Handlers) startReplay(
	ctx context.Context, caller principal.Principal, in *startReplayInput,
) (ReplayBody, error) {
	subject, err := in.subject()
	if err != nil {
		return ReplayBody{}, err
	}
	days := in.Body.Days
	if days == 0 {
		days = usualDays
	}
	return showReplay(h.Replays.Start(ctx, caller, replay.Request{
		Subject: subject, Without: in.Body.Without, Days: days,
	}))
}

func (h *Handlers) listReplays(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (route.Items[ListedReplayBody], error) {
	jobs, err := h.Replays.List(ctx, caller)
	return route.ItemsOf(jobs, listedReplay), err
}

// ReplayInput is the path of a route about one replay.
type ReplayInput struct {
	route.OrganizationQuery
	ReplayID string `path:"replayId" doc:"The replay."`
}

func (h *Handlers) getReplay(ctx context.Context, caller principal.Principal, in *ReplayInput) (ReplayBody, error) {
	return showReplay(h.Replays.Get(ctx, caller, in.ReplayID))
}

func (h *Handlers) cancelReplay(ctx context.Context, caller principal.Principal, in *ReplayInput) (ReplayBody, error) {
	return showReplay(h.Replays.Cancel(ctx, caller, in.ReplayID))
}
