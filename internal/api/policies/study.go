package policies

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/policy/document"
	"writ/internal/policy/lint"
	"writ/internal/policy/suggest"
	"writ/internal/principal"
	"writ/internal/replay"
)

// mountStudies serves findings and suggestions from recorded calls.
func (h *Handlers) mountStudies(r *route.Router) {
	s := studies{replay.NewStudy(h.Replays)}
	route.Handle(r, read(route.Get("/policies/{policyId}/findings",
		"Rules of a policy that never apply or permit too much, with their position and a fix")), s.findings)
	route.HandleOutput(r, route.Post("/policies/suggest",
		"Draft the narrowest policy that would have allowed an agent's allowed calls").
		For(route.Person).Needs(principal.DraftPolicies).Records("policy.created").Answers(http.StatusCreated),
		s.suggest)
}

type studies struct{ *replay.Study }

type policyFindingsInput struct {
	PolicyInput
	Version       int `query:"version" minimum:"1" maximum:"1000000" doc:"Which version. Absent: the latest."`
	PolicyVersion int `query:"policyVersion" minimum:"1" maximum:"1000000" doc:"The same as version. Give one of the two."`
	Days          int `query:"days" minimum:"1" maximum:"90" doc:"Also try its conditions on the calls recorded in so many days, for a person who may see them. Absent: only the text."`
}

// PolicyFindingBody is a rule that never applies or permits too much.
type PolicyFindingBody struct {
	Kind lint.Kind `json:"kind" enum:"unreachable,shadowed_allow,over_broad,contradictory_limits,literal_marks,always_true,always_fails"`
	ProblemBody
	Fix   string `json:"fix" doc:"What to do about it."`
	Calls int64  `json:"calls,omitempty" doc:"How many recorded calls show it. Absent: the text does."`
}

// PolicyFindingsBody is what lint finds in one version of a policy.
type PolicyFindingsBody struct {
	PolicyVersion int                 `json:"policyVersion"`
	Findings      []PolicyFindingBody `json:"findings" nullable:"false" doc:"In the order of the text."`
	Calls         int64               `json:"calls" doc:"How many recorded calls its conditions were tried on: those to whose callers it applies."`
	Incomplete    bool                `json:"incomplete" doc:"More was found than is shown, or not everything was examined."`
}

func (s studies) findings(
	ctx context.Context, caller principal.Principal, in *policyFindingsInput,
) (PolicyFindingsBody, error) {
	version, err := oneVersion(in.Version, in.PolicyVersion)
	if err != nil {
		return PolicyFindingsBody{}, err
	}
	found, err := s.Findings(ctx, caller, in.PolicyID, version, in.Days)
	bodies := policyFindingBodies(found.Report.Findings)
	return PolicyFindingsBody{found.Version, bodies, found.Calls, found.Incomplete}, err
}

func policyFindingBodies(found []lint.Finding) []PolicyFindingBody {
	bodies := make([]PolicyFindingBody, len(found))
	for i, f := range found {
		bodies[i] = PolicyFindingBody{
			Kind: f.Kind, ProblemBody: problemBodies([]document.Problem{f.Problem})[0], Fix: f.Fix, Calls: f.Calls,
		}
	}
	return bodies
}

type suggestInput struct {
	route.OrganizationQuery
	Body struct {
		AgentID string `json:"agentId" minLength:"1" maxLength:"200" doc:"The agent whose calls are examined."`
		Days    int    `json:"days" minimum:"1" maximum:"90" doc:"How far back."`
		Name    string `json:"name,omitempty" maxLength:"100" doc:"Of the policy. Absent: after the agent."`
	}
}

// SeenBody is how many calls were seen, and when.
type SeenBody struct {
	Calls     int64     `json:"calls"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	Decisions []string  `json:"decisions" nullable:"false" doc:"Some of them, by id."`
	Keys      []string  `json:"keys" nullable:"false" doc:"Some of the API keys that made the calls. Any client can name the agent, so check that these are its own."`
	MoreKeys  bool      `json:"moreKeys,omitempty" doc:"There were others."`
}

func seenBody(s suggest.Seen) SeenBody {
	return SeenBody{
		Calls:     s.Calls,
		First:     s.First.UTC(),
		Last:      s.Last.UTC(),
		Decisions: append([]string{}, s.Decisions...),
		Keys:      append([]string{}, s.Keys...),
		MoreKeys:  s.MoreKeys,
	}
}

// EvidenceBody is the calls that a rule was made from.
type EvidenceBody struct {
	Rule string `json:"rule"`
	SeenBody
}

// LeftOutBody are calls that ran and that the suggestion does not allow.
type LeftOutBody struct {
	Server string         `json:"server"`
	Tool   string         `json:"tool"`
	Reason suggest.Reason `json:"reason"`
	SeenBody
}

// SuggestedBody is a suggested policy with its evidence.
type SuggestedBody struct {
	PolicyBody
	Evidence   []EvidenceBody `json:"evidence" nullable:"false" doc:"The calls that each rule was made from."`
	LeftOut    []LeftOutBody  `json:"leftOut" nullable:"false" doc:"Calls that ran and are not allowed by it, and why."`
	Calls      int64          `json:"calls" doc:"How many recorded calls were examined."`
	Incomplete bool           `json:"incomplete" doc:"There were more calls; only the newest were examined."`
}

func (s studies) suggest(
	ctx context.Context, caller principal.Principal, in *suggestInput,
) (*versioned[SuggestedBody], error) {
	made, err := s.Suggest(ctx, caller, replay.SuggestionRequest{
		AgentID: in.Body.AgentID, Days: in.Body.Days, Name: in.Body.Name,
	})
	if err != nil {
		return nil, err
	}
	stored, err := shown(made.Full, nil)
	if err != nil {
		return nil, err
	}
	body := SuggestedBody{
		PolicyBody: stored.Body,
		Evidence:   []EvidenceBody{},
		LeftOut:    []LeftOutBody{},
		Calls:      made.Calls,
		Incomplete: made.Cut,
	}
	for _, e := range made.Evidence {
		body.Evidence = append(body.Evidence, EvidenceBody{e.Rule, seenBody(e.Seen)})
	}
	for _, l := range made.LeftOut {
		body.LeftOut = append(body.LeftOut, LeftOutBody{l.Server, l.Tool, l.Reason, seenBody(l.Seen)})
	}
	return &versioned[SuggestedBody]{ETag: stored.ETag, Body: body}, nil
}
