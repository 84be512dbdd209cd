package policy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy/engine"
)

// Alternative is the set of an organization as it is, and as it would be with a
// draft in place of what is active of its policy.
type Alternative struct {
	Today, Drafted *engine.Set
	// Name is that of the draft's document; PolicyID is DraftID for one that
	// belongs to no policy, and Version 0 for one that is not stored.
	Name     string
	PolicyID string
	Version  int
	// LongestLimit is the longest window of any limit in either.
	LongestLimit time.Duration
}

// Alternative compiles both sets. A subject with a source and a policy's id is a
// document in that policy's place; with a source alone it is one beside all
// others. Active policies that are to be without are left out of the draft's set. It
// asks nobody's leave: who asks has found that the caller may draft.
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

// draftOf compiles the draft, and tells the ids of what it takes the place of.
func (s *Service) draftOf(ctx context.Context, orgID string, subject Subject) (engine.Active, []string, error) {
	if subject.Source != nil && subject.PolicyID == "" {
		c, err := s.compiler.read(ctx, *subject.Source)
		return engine.Active{ID: DraftID, Policy: c.policy}, nil, err
	}
	policy, err := find(ctx, s.db, orgID, subject.PolicyID)
	if err != nil {
		return engine.Active{}, nil, err
	}
	draft := engine.Active{ID: policy.ID}
	if subject.Source != nil {
		c, err := s.compiler.read(ctx, *subject.Source)
		if err != nil {
			return engine.Active{}, nil, err
		}
		draft.Policy = c.policy
	} else {
		draft.Version = subject.Version
		if draft.Version == LatestVersion {
			draft.Version = policy.LatestVersion
		}
		if _, err := findVersion(ctx, s.db, orgID, policy.ID, draft.Version); err != nil {
			return engine.Active{}, nil, err
		}
		if draft.Policy, err = s.load(ctx, s.compiler, orgID, part{policy.ID, draft.Version}); err != nil {
			return engine.Active{}, nil, err
		}
	}
	b, err := readBindings(ctx, s.db, orgID, policy.ID)
	if err != nil {
		return engine.Active{}, nil, err
	}
	draft.Bindings = engine.Bindings{Users: b.Members, Agents: b.Clients, Roles: b.Roles}
	replaced := []string{policy.ID}
	if policy.Face == AsProfile { // of which at most one is active
		profiles, err := selectProfilePolicies(ctx, s.db, orgID)
		if err != nil {
			return engine.Active{}, nil, err
		}
		replaced = append(replaced, profiles...)
	}
	return draft, replaced, nil
}

// compiledActive is what the set of an organization is made of at present.
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

func selectProfilePolicies(ctx context.Context, r database.Reader, orgID string) ([]string, error) {
	ids, err := database.Collect(ctx, r, func(s database.Scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, `
		SELECT id
		FROM policy
		WHERE org_id = $1 AND face = $2 AND active_version IS NOT NULL AND deleted_at IS NULL`, orgID,
		string(AsProfile))
	if err != nil {
		return nil, fmt.Errorf("find the active profile: %w", err)
	}
	return ids, nil
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
