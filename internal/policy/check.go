package policy

import (
	"context"
	"errors"
	"slices"

	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// DraftID is the id of a document that is simulated without being stored.
const DraftID = "draft"

// Check tells what the active policies say about a call of the caller's
// organization, and why. It changes nothing: it takes from no limit, and no call
// may run because of it. With a key it is judged as a decision about it would be; a
// person's question has no key, and is answered for whom the call names alone. Now
// and the organization's id are set here.
func (s *Service) Check(ctx context.Context, p principal.Principal, call toolcall.Call) (engine.Explanation, error) {
	if err := requireAsker(p); err != nil {
		return engine.Explanation{}, err
	}
	snapshot, err := s.Snapshot(ctx, p.OrgID)
	if broken, ok := errors.AsType[*BrokenError](err); ok {
		return engine.Explanation{Decision: broken.decision()}, nil
	}
	if err != nil {
		return engine.Explanation{}, err
	}
	explain := explainJudged
	if p.Kind != principal.Key {
		explain = (*engine.Set).Explain
	}
	explanation := explain(snapshot.Set, s.here(p, call), s.Spent(ctx, p.OrgID))
	if p.Kind == principal.Key && !p.HasScope(principal.DraftPolicy) {
		explanation.Rules = decidingOnly(explanation.Rules)
		d := &explanation.Decision
		d.Failed = slices.DeleteFunc(d.Failed, func(f engine.Failure) bool {
			return f.PolicyID != d.PolicyID || f.Rule != d.Rule
		})
	}
	return explanation, nil
}

// here is the call in the caller's organization, at present.
func (s *Service) here(p principal.Principal, call toolcall.Call) *toolcall.Call {
	call.Org.ID, call.Now = p.OrgID, s.db.Now()
	return &call
}

// decidingOnly is what an agent is told: why, but not what else there is to get
// around.
func decidingOnly(rules []engine.Considered) []engine.Considered {
	for i, rule := range rules {
		if rule.Decided {
			return rules[i : i+1]
		}
	}
	return nil
}

// decision is a deny: what the policy would have said is not known.
func (e *BrokenError) decision() engine.Decision {
	return engine.Decision{Ruling: verdict.Ruling{
		PolicyID: e.PolicyID, PolicyVersion: e.Version,
		Reason: "an active policy cannot be read by this server, so nothing is allowed; deactivate it or activate another version",
	}}
}

// requireAsker admits members, and keys that ask for decisions.
func requireAsker(p principal.Principal) error {
	if p.Kind != principal.Key {
		return inOrganization(p, principal.ReadPolicies)
	}
	if !p.HasScope(principal.Enforce) || p.OrgID == "" {
		return fault.New(fault.Forbidden, "this API key may not ask for decisions")
	}
	return nil
}

// Subject is what a simulation judges by: a document that is not stored, or a
// version of a policy (the latest with LatestVersion).
type Subject struct {
	Source   *Source
	PolicyID string
	Version  int
}

// Simulate tells what one policy alone would say about a call, whoever it is
// bound to, and why.
func (s *Service) Simulate(
	ctx context.Context, p principal.Principal, subject Subject, call toolcall.Call,
) (engine.Explanation, error) {
	if err := requireDrafter(p); err != nil {
		return engine.Explanation{}, err
	}
	active, err := s.subject(ctx, p, subject)
	if err != nil {
		return engine.Explanation{}, err
	}
	set := engine.NewSet([]engine.Active{active})
	return set.Explain(s.here(p, call), s.Spent(ctx, p.OrgID)), nil
}

// subject is what is simulated, compiled.
func (s *Service) subject(ctx context.Context, p principal.Principal, subject Subject) (engine.Active, error) {
	if subject.Source != nil {
		c, err := s.compiler.read(ctx, *subject.Source)
		return engine.Active{ID: DraftID, Policy: c.policy}, err
	}
	policy, err := find(ctx, s.db, p.OrgID, subject.PolicyID)
	if err != nil {
		return engine.Active{}, err
	}
	number := subject.Version
	if number == LatestVersion {
		number = policy.LatestVersion
	}
	if _, err := findVersion(ctx, s.db, p.OrgID, policy.ID, number); err != nil {
		return engine.Active{}, err
	}
	compiled, err := s.load(ctx, s.compiler, p.OrgID, part{policy.ID, number})
	return engine.Active{ID: policy.ID, Version: number, Policy: compiled}, err
}

// Validate reads and compiles a document without storing it. What is wrong with
// it is the fault it gives; what is only doubtful are the warnings.
func (s *Service) Validate(
	ctx context.Context, p principal.Principal, source Source,
) (*document.Document, []document.Problem, error) {
	if err := requireDrafter(p); err != nil {
		return nil, nil, err
	}
	c, err := s.compiler.read(ctx, source)
	if err != nil {
		return nil, nil, err
	}
	return c.doc, c.policy.Warnings(), nil
}
