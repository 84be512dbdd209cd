package policy

import (
	"context"
	"slices"
	"time"

	"writ/internal/fault"
	"writ/internal/policy/engine"
)

// Alternative is the set of an organization as it is, and as it would be with a draft.
type Alternative struct {
	Today, Drafted *engine.Set
	// Name is the draft's name. PolicyID is DraftID if it belongs to no policy, and Version is 0 if it is not stored.
	Name     string
	PolicyID string
	Version  int
	// LongestLimit is the longest window of any limit in either.
	LongestLimit time.Duration
}

// Alternative compiles both sets. A subject with a source and a policy's id replaces that policy; with a source alone
// it is added to the others. The draft's set leaves out the active policies in without. The caller checks permissions.
func (s *Service) Alternative(
	ctx context.Context, orgID string, subject Subject, without ...string,
) (Alternative, error) {
	draft, replaced, err := s.draftOf(ctx, orgID, subject)
	if err != nil {
		return Alternative{}, err
	}
	active, err := s.compiledActive(ctx, orgID)
	if err != nil {
		return Alternative{}, err
	}
	for _, id := range without {
		if !slices.ContainsFunc(active, func(a engine.Active) bool { return a.ID == id }) {
			return Alternative{}, fault.Field("without", "must be ids of active policies")
		}
	}
	replaced = append(replaced, without...)
	others := slices.DeleteFunc(slices.Clone(active), func(a engine.Active) bool {
		return slices.Contains(replaced, a.ID)
	})
	drafted := append(others, draft)
	return Alternative{
		Today: engine.NewSet(active), Drafted: engine.NewSet(drafted),
		Name: draft.Policy.Document().Name, PolicyID: draft.ID, Version: draft.Version,
		LongestLimit: max(longestLimit(active), longestLimit(drafted)),
	}, nil
}

// draftOf compiles the draft, and returns the ids of the policies that it replaces.
func (s *Service) draftOf(ctx context.Context, orgID string, subject Subject) (engine.Active, []string, error) {
	if subject.PolicyID == "" {
		draft, err := s.subject(ctx, orgID, subject)
		return draft, nil, err
	}
	policy, err := find(ctx, s.db, orgID, subject.PolicyID)
	if err != nil {
		return engine.Active{}, nil, err
	}
	draft, err := s.subject(ctx, orgID, subject)
	if err != nil {
		return engine.Active{}, nil, err
	}
	draft.ID = policy.ID
	b, err := readBindings(ctx, s.db, orgID, policy.ID)
	if err != nil {
		return engine.Active{}, nil, err
	}
	draft.Bindings = b.forEngine()
	replaced := []string{policy.ID}
	if policy.Face == AsProfile { // at most one profile is active
		profiles, err := selectActiveProfiles(ctx, s.db, orgID)
		if err != nil {
			return engine.Active{}, nil, err
		}
		for _, profile := range profiles {
			replaced = append(replaced, profile.ID)
		}
	}
	return draft, replaced, nil
}

// compiledActive is the active policies of an organization, compiled.
func (s *Service) compiledActive(ctx context.Context, orgID string) ([]engine.Active, error) {
	if _, err := s.Snapshot(ctx, orgID); err != nil {
		return nil, err
	}
	o := s.sets.of(orgID)
	if err := o.lock(ctx); err != nil {
		return nil, err
	}
	defer o.unlock()
	active := slices.Clone(o.active)
	for i, a := range active {
		if active[i].Policy = o.parts[part{a.ID, a.Version}]; active[i].Policy == nil {
			return nil, fault.New(fault.Unavailable, "the policies have just changed; try again")
		}
	}
	return active, nil
}

func longestLimit(active []engine.Active) (longest time.Duration) {
	for _, a := range active {
		for _, rule := range a.Policy.Document().Rules {
			if rule.Limit != nil {
				longest = max(longest, rule.Limit.Per)
			}
		}
	}
	return longest
}
