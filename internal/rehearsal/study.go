package rehearsal

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/finding"
	"writ/internal/policy/suggest"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// Limits of a study. It answers at once, so it looks at the newest calls first and
// no further than a request may take.
const (
	MaxStudyDays = 90
	maxTried     = 3_000  // calls that conditions are tried on
	maxObserved  = 20_000 // calls that a suggestion is made of
	studyTime    = 4 * time.Second
	studies      = 2 // at once
)

// Study looks at recorded calls for what they tell about policies: what a policy
// says in vain, and which one would have been enough.
type Study struct {
	db       *database.DB
	policies *policy.Service
	turns    chan struct{}
}

// NewStudy makes one of the areas it composes.
func NewStudy(db *database.DB, policies *policy.Service) *Study {
	return &Study{db: db, policies: policies, turns: make(chan struct{}, studies)}
}

// Findings are what was found about a version of a policy.
type Findings struct {
	Version int
	Calls   int64 // recorded ones that were looked at
	finding.Report
}

// Findings examines a version of a policy, and with days above zero tries its
// conditions on the calls of that time. That takes a person who may see what agents
// did: who writes conditions and learns what they come to learns the arguments.
func (s *Study) Findings(ctx context.Context, p principal.Principal, policyID string, version, days int) (Findings, error) {
	if days < 0 || days > MaxStudyDays {
		return Findings{}, fault.Field("days", "must be from 1 to %d", MaxStudyDays)
	}
	if days > 0 {
		if err := requireObserver(p); err != nil {
			return Findings{}, err
		}
	}
	done, err := s.turn(ctx)
	if err != nil {
		return Findings{}, err
	}
	defer done()
	examined, err := s.policies.Examine(ctx, p, policyID, version)
	if err != nil || days == 0 {
		return Findings{Version: examined.Version, Report: examined.Report}, err
	}
	tally := finding.NewTally(examined.Policy)
	cut, err := s.look(ctx, p.OrgID, "", days, maxTried, func(r decision.Record) {
		call, known := CallOf(r)
		tally.Add(&call, known.Gaps())
	})
	if err != nil {
		return Findings{}, err
	}
	found := Findings{Version: examined.Version, Calls: tally.Calls(), Report: finding.Join(examined.Report, tally.Report())}
	found.Incomplete = found.Incomplete || cut
	return found, nil
}

// requireObserver admits people who may see what agents did, never a key.
func requireObserver(p principal.Principal) error {
	if p.Kind == principal.Key || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may have recorded calls looked at")
	}
	return p.Require(principal.ReadPayloads)
}

// turn waits until one may study: it takes seconds of a processor.
func (s *Study) turn(ctx context.Context) (done func(), err error) {
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-ctx.Done():
		return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "too many policies are being looked at; try again")
	}
}

// look goes through the newest recorded calls of some days. Cut: there are more.
func (s *Study) look(ctx context.Context, orgID, agentID string, days, most int, see func(decision.Record)) (cut bool, err error) {
	begun, seen := time.Now(), 0
	err = decision.Backwards(ctx, s.db, orgID, agentID, s.db.Now().AddDate(0, 0, -days), func(r decision.Record) bool {
		if seen >= most || time.Since(begun) > studyTime || ctx.Err() != nil {
			cut = true
			return false
		}
		seen++
		see(r)
		return true
	})
	return cut, err
}

// SuggestionRequest says what to suggest a policy from.
type SuggestionRequest struct {
	AgentID string
	Days    int
	Name    string // of the policy; empty: after the agent
}

// Suggested is a policy that was suggested and stored, a draft.
type Suggested struct {
	policy.Full
	suggest.Suggestion
	Cut bool // there were more calls than were looked at
}

// Suggest writes the least policy that would have let the calls of an agent run
// that ran by policies alone, and stores it as a draft.
func (s *Study) Suggest(ctx context.Context, p principal.Principal, r SuggestionRequest) (Suggested, error) {
	if err := requireObserver(p); err != nil {
		return Suggested{}, err
	}
	if err := p.Require(principal.DraftPolicies); err != nil {
		return Suggested{}, err
	}
	if r.Days < 1 || r.Days > MaxStudyDays {
		return Suggested{}, fault.Field("days", "must be from 1 to %d", MaxStudyDays)
	}
	collector, err := suggest.NewCollector(r.AgentID)
	if err != nil {
		return Suggested{}, fault.Field("agentId", "%v", err)
	}
	done, err := s.turn(ctx)
	if err != nil {
		return Suggested{}, err
	}
	defer done()
	cut, err := s.look(ctx, p.OrgID, r.AgentID, r.Days, maxObserved, func(record decision.Record) { collector.Add(observed(record)) })
	if err != nil {
		return Suggested{}, err
	}
	name := r.Name
	if name == "" {
		if name, err = s.policies.FreeName(ctx, p, nameFor(r.AgentID)); err != nil {
			return Suggested{}, err
		}
	}
	suggestion := collector.Suggest(name)
	switch {
	case suggestion.Calls == 0:
		return Suggested{}, fault.New(fault.Conflict, "no call of this agent was recorded in these days: give the agentId that its calls name (GET /audit-log/entries shows them), or more days")
	case len(suggestion.Document.Rules) == 0:
		return Suggested{}, fault.New(fault.Conflict, "of %d recorded calls of this agent none was allowed that a rule could be made of: let it work under a policy that allows by name, or give more days", suggestion.Calls)
	}
	full, err := s.policies.Create(ctx, p, policy.Source{Text: string(document.Render(suggestion.Document)), Format: document.YAML})
	return Suggested{Full: full, Suggestion: suggestion, Cut: cut}, err
}

// observed is a recorded call as evidence. Only what policies allowed is.
func observed(r decision.Record) suggest.Observed {
	call, known := CallOf(r)
	o := suggest.Observed{DecisionID: r.ID, At: r.At, Call: &call, Known: known.Arguments() && !known.Gaps().Cover("environment") && !known.Gaps().Cover("paths")}
	switch {
	case r.Verdict != verdict.Allow:
	case r.PolicyVersion == 0 || r.ApprovalID != "" || r.AllowID != "" || r.Erased:
		o.Answer = suggest.Approved
	default:
		o.Answer = suggest.Allowed
	}
	return o
}

// maxNamedAfter is how much of an agent's id the name of a policy has.
const maxNamedAfter = 60

func nameFor(agentID string) string {
	id := []rune(agentID)
	return "suggested for " + string(id[:min(len(id), maxNamedAfter)])
}
