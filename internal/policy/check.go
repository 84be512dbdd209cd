package policy

import (
	"context"
	"errors"
	"slices"

	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/lint"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// DraftID is the id of a document that is simulated without being stored.
const DraftID = "draft"

// Check explains what the active policies of the caller's organization say about a call. It takes from no limit, and
// no call may run because of it. A key gets the answer of a decision; a person gets the answer for the user and agent
// that the call names. Check sets the time and the organization. names are all that the call may be of; without any it
// is of the one that it has.
func (s *Service) Check(
	ctx context.Context, p principal.Principal, call toolcall.Call, names ...toolname.Candidate,
) (engine.Explanation, error) {
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
	explanation := explainNamed(snapshot.Set, *s.current(p, call), names, s.Spent(ctx, p.OrgID), explain)
	if p.Kind == principal.Key && !p.HasScope(principal.DraftPolicy) {
		explanation.Rules = decidingOnly(explanation.Rules)
		d := &explanation.Decision
		d.Failed = slices.DeleteFunc(d.Failed, func(f engine.Failure) bool {
			return f.PolicyID != d.PolicyID || f.Rule != d.Rule
		})
	}
	return explanation, nil
}

// current is the call in the caller's organization, made now.
func (s *Service) current(p principal.Principal, call toolcall.Call) *toolcall.Call {
	call.Org.ID, call.Now = p.OrgID, s.db.Now()
	return &call
}

// decidingOnly leaves out the rules that did not decide, so that an agent does not learn which others it could evade.
func decidingOnly(rules []engine.Considered) []engine.Considered {
	for i, rule := range rules {
		if rule.Decided {
			return rules[i : i+1]
		}
	}
	return nil
}

// decision is a deny, because the policy's own answer is unknown.
func (e *BrokenError) decision() engine.Decision {
	if e.PolicyID == "" {
		return engine.Decision{
			Ruling: verdict.Ruling{PolicyID: ByDefault, Reason: e.Error() + ", so nothing is allowed"},
		}
	}
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

// Simulate explains what one policy alone, without its bindings, would say about a call, by all its names.
func (s *Service) Simulate(
	ctx context.Context, p principal.Principal, subject Subject, call toolcall.Call,
) (engine.Explanation, error) {
	if err := requireDrafter(p); err != nil {
		return engine.Explanation{}, err
	}
	active, err := s.subject(ctx, p.OrgID, subject)
	if err != nil {
		return engine.Explanation{}, err
	}
	set := engine.NewSet([]engine.Active{active})
	return explainNamed(set, *s.current(p, call), nil, s.Spent(ctx, p.OrgID), (*engine.Set).Explain), nil
}

// subject compiles what is simulated.
func (s *Service) subject(ctx context.Context, orgID string, subject Subject) (engine.Active, error) {
	if subject.Source != nil {
		c, err := s.compiler.read(ctx, *subject.Source)
		return engine.Active{ID: DraftID, Policy: c.policy}, err
	}
	return s.compileVersion(ctx, orgID, subject.PolicyID, subject.Version)
}

// Valid is a document that could be stored.
type Valid struct {
	Document *document.Document
	Warnings []document.Problem // likely mistakes
	Report   lint.Report        // what its text shows, alone
}

// Validate compiles a document without storing it. Its error lists what is wrong.
func (s *Service) Validate(ctx context.Context, p principal.Principal, source Source) (Valid, error) {
	c, err := s.compileDraft(ctx, p, source)
	if err != nil {
		return Valid{}, err
	}
	return Valid{Document: c.doc, Warnings: c.policy.Warnings(), Report: lint.Of(c.policy)}, nil
}

// explainNamed explains under all names of the call, as JudgeNamed judges it, with the rules of the answer that counts.
func explainNamed(
	set *engine.Set, call toolcall.Call, names []toolname.Candidate, spent engine.Spent,
	explain func(*engine.Set, *toolcall.Call, engine.Spent) engine.Explanation,
) (x engine.Explanation) {
	if len(names) == 0 {
		stated := toolname.Candidate{Name: toolname.Name{Server: call.Server, Tool: call.Tool}}
		names = toolname.Others([]toolname.Candidate{stated}, call.Tool)
	}
	for i, q := range set.Weigh(engine.Ask(call, names)) {
		answer := explain(set, q.Call, spent)
		d := answer.Decision
		if i == 0 || d.StricterThan(&x.Decision) && (!q.Restricts || d.ByRule()) {
			x = answer
		}
	}
	return x
}
