package replay

import (
	"context"
	"errors"
	"slices"
	"time"

	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/lint"
	"writ/internal/policy/suggest"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// Limits of a study. It answers a request, so it reads the newest calls first and
// stops after studyTime.
const (
	MaxStudyDays = 90
	maxTried     = 3_000  // calls that conditions are tried on
	maxObserved  = 20_000 // calls that a suggestion is made of
	studyTime    = 4 * time.Second
	studies      = 2 // at once
)

// Study learns about policies from recorded calls: which rules of a policy have no
// effect, and which policy would have been enough.
type Study struct {
	service *Service
	turns   chan struct{}
}

// NewStudy makes a Study with the sources of a Service.
func NewStudy(s *Service) *Study {
	return &Study{service: s, turns: make(chan struct{}, studies)}
}

// Findings are what was found about a version of a policy.
type Findings struct {
	Version int
	Calls   int64 // recorded ones that its conditions were tried on
	lint.Report
}

// Findings examines a version of a policy, and with days above zero tries its
// conditions on the recorded calls of these days to which it applies. That needs the
// right to read payloads: whoever writes conditions and sees their results learns the
// arguments.
func (s *Study) Findings(
	ctx context.Context, p principal.Principal, policyID string, version, days int,
) (Findings, error) {
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
	examined, err := s.service.policies.Examine(ctx, p, policyID, version)
	if err != nil || days == 0 {
		return Findings{Version: examined.Version, Report: examined.Report}, err
	}
	tally, cut, err := s.try(ctx, p.OrgID, examined, days)
	if err != nil {
		return Findings{}, err
	}
	found := Findings{
		Version: examined.Version, Calls: tally.Calls(), Report: lint.Join(examined.Report, tally.Report()),
	}
	found.Incomplete = found.Incomplete || cut
	return found, nil
}

// try tries the conditions of a policy on recorded calls to which it certainly applies.
// For a policy that applies to few calls it reads more.
func (s *Study) try(
	ctx context.Context, orgID string, examined policy.Examined, days int,
) (tally *lint.Tally, cut bool, err error) {
	tally = lint.NewTally(examined.Policy)
	bound, recall, most := engine.NewBound(examined.Bindings), NewRecall(s.service.sources, orgID), maxTried
	if !bound.ForAll() {
		most = maxObserved
	}
	cut, err = s.readNewest(ctx, orgID, "", days, most, func(r decision.Record) (more bool, err error) {
		call, known, err := recall.Call(ctx, r)
		if err != nil {
			return false, err
		}
		if !bound.Certainly(&call, known.Gaps()) {
			return true, nil
		}
		if tally.Calls() >= maxTried || tally.Spent() {
			return false, nil
		}
		tally.Add(&call, known.Gaps())
		return true, nil
	})
	return tally, cut, err
}

// requireObserver admits people who may read payloads, never a key.
func requireObserver(p principal.Principal) error {
	if p.Kind == principal.Key || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may analyse recorded calls")
	}
	return p.Require(principal.ReadPayloads)
}

// turn waits for one of the few turns: a study uses a processor for seconds.
func (s *Study) turn(ctx context.Context) (done func(), err error) {
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-ctx.Done():
		return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "too many policies are being analysed; try again")
	}
}

// readNewest passes the recorded calls of some days to see, newest first, while it
// wants more. Cut: there are more.
func (s *Study) readNewest(
	ctx context.Context, orgID, agentID string, days, most int, see func(decision.Record) (more bool, err error),
) (cut bool, err error) {
	begun, seen := time.Now(), 0
	var problem error
	err = decision.Backwards(ctx, s.service.db, orgID, agentID, s.service.db.Now().AddDate(0, 0, -days), func(
		r decision.Record,
	) bool {
		if seen >= most || time.Since(begun) > studyTime || ctx.Err() != nil {
			cut = true
			return false
		}
		seen++
		var more bool
		more, problem = see(r)
		cut = !more
		return more
	})
	return cut, errors.Join(err, problem)
}

// SuggestionRequest selects the calls that a policy is suggested from.
type SuggestionRequest struct {
	AgentID string
	Days    int
	Name    string // of the policy; empty: after the agent
}

// Suggested is a suggested policy, stored as a draft.
type Suggested struct {
	policy.Full
	suggest.Suggestion
	Cut bool // there were more calls than were read
}

// Suggest writes the narrowest policy that allows those calls of an agent that
// policies alone allowed, and stores it as a draft.
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
	collector, cut, err := s.collect(ctx, p.OrgID, r)
	if err != nil {
		return Suggested{}, err
	}
	name := r.Name
	if name == "" {
		if name, err = s.service.policies.FreeName(ctx, p, nameFor(r.AgentID)); err != nil {
			return Suggested{}, err
		}
	}
	suggestion := collector.Suggest(name)
	switch {
	case suggestion.Calls == 0:
		return Suggested{}, fault.New(fault.Conflict,
			"no call of this agent was recorded in these days: give the id that its calls name, which writ decisions list and the "+
				"dashboard's log show, or more days")
	case len(suggestion.Document.Rules) == 0:
		return Suggested{}, fault.New(fault.Conflict,
			"none of the %d recorded calls of this agent can become a rule: let it work under a policy that allows by name, or give more days", suggestion.Calls)
	}
	full, err := s.service.policies.Create(ctx, p, policy.Source{
		Text: string(document.Render(suggestion.Document)), Format: document.YAML,
	})
	return Suggested{Full: full, Suggestion: suggestion, Cut: cut}, err
}

// collect observes the newest calls of an agent. cut says that there were more.
func (s *Study) collect(
	ctx context.Context, orgID string, r SuggestionRequest,
) (collector *suggest.Collector, cut bool, err error) {
	collector, err = suggest.NewCollector(r.AgentID)
	if err != nil {
		return nil, false, fault.Field("agentId", "%v", err)
	}
	done, err := s.turn(ctx)
	if err != nil {
		return nil, false, err
	}
	defer done()
	cut, err = s.readNewest(ctx, orgID, r.AgentID, r.Days, maxObserved, func(
		record decision.Record,
	) (more bool, err error) {
		collector.Add(observed(record))
		return true, nil
	})
	return collector, cut, err
}

// observed is a recorded call as evidence for a suggestion.
func observed(r decision.Record) suggest.Observed {
	call, known := CallOf(r)
	o := suggest.Observed{
		DecisionID: r.ID,
		KeyID:      r.KeyID,
		At:         r.At,
		Call:       &call,
		Known:      known.Arguments(),
	}
	for _, judged := range []string{"environment", "labels", "paths"} {
		o.Known = o.Known && !known.Gaps().Cover(judged)
	}
	switch {
	case r.Verdict != verdict.Allow:
	case r.Confine != nil:
		o.Answer = suggest.Confined
	case r.PolicyVersion == 0 || r.ApprovalID != "" || r.StandingID != "" || r.Erased:
		o.Answer = suggest.Approved
	case slices.ContainsFunc(r.Shadows, func(s decision.Shadow) bool {
		return s.Verdict != "" && s.Verdict != verdict.Allow.String()
	}):
		o.Answer = suggest.Doubted
	default:
		o.Answer = suggest.Allowed
	}
	return o
}

// maxNamedAfter is how much of an agent's id goes into the name of a policy.
const maxNamedAfter = 60

func nameFor(agentID string) string {
	id := []rune(agentID)
	return "suggested for " + string(id[:min(len(id), maxNamedAfter)])
}
