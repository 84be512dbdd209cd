package policy

import (
	"context"
	"errors"

	"writ/internal/policy/engine"
	"writ/internal/policy/lint"
	"writ/internal/principal"
)

// Examined is a version of a policy, and what its text shows.
type Examined struct {
	Policy   *engine.Policy
	Version  int
	Bindings engine.Bindings // of the policy, in every version
	Report   lint.Report
}

// Examine reports the rules of a version (the latest with LatestVersion) that never apply or permit too much, alone
// and beside the active policies.
func (s *Service) Examine(ctx context.Context, p principal.Principal, id string, number int) (Examined, error) {
	if err := requireReader(p); err != nil {
		return Examined{}, err
	}
	version, err := s.compileVersion(ctx, p.OrgID, id, number)
	if err != nil {
		return Examined{}, err
	}
	bindings, err := readBindings(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Examined{}, err
	}
	beside, complete, err := s.beside(ctx, p.OrgID, id)
	if err != nil {
		return Examined{}, err
	}
	report := lint.Of(version.Policy, beside...)
	report.Incomplete = report.Incomplete || !complete
	return Examined{version.Policy, version.Version, bindings.forEngine(), report}, nil
}

// beside are the other active policies. It is not complete if one of them cannot be read: then nothing is allowed.
func (s *Service) beside(ctx context.Context, orgID, id string) (others []lint.Beside, complete bool, err error) {
	snapshot, err := s.Snapshot(ctx, orgID)
	if _, broken := errors.AsType[*BrokenError](err); broken {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	snapshot.Set.Active(func(a engine.Active, bound bool) {
		if a.ID != id {
			others = append(others, lint.Beside{Name: a.Policy.Document().Name, Policy: a.Policy, Bound: bound})
		}
	})
	return others, true, nil
}
