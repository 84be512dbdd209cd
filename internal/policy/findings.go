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
	Bindings engine.Bindings // for whom it counts, in every version
	Report   lint.Report
}

// Examine reads a version of a policy (the latest with LatestVersion) for what it
// says in vain, by itself and beside the policies that are active.
func (s *Service) Examine(ctx context.Context, p principal.Principal, id string, number int) (Examined, error) {
	if err := requireReader(p); err != nil {
		return Examined{}, err
	}
	policy, err := find(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Examined{}, err
	}
	if number == LatestVersion {
		number = policy.LatestVersion
	}
	if _, err := findVersion(ctx, s.db, p.OrgID, id, number); err != nil {
		return Examined{}, err
	}
	compiled, err := s.load(ctx, s.compiler, p.OrgID, part{id, number})
	if err != nil {
		return Examined{}, err
	}
	bound, err := readBindings(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Examined{}, err
	}
	beside, complete, err := s.beside(ctx, p.OrgID, id)
	if err != nil {
		return Examined{}, err
	}
	report := lint.Of(compiled, beside...)
	report.Incomplete = report.Incomplete || !complete
	bindings := engine.Bindings{Users: bound.Members, Agents: bound.Clients, Roles: bound.Roles}
	return Examined{Policy: compiled, Version: number, Bindings: bindings, Report: report}, nil
}

// beside are the other policies that are active. It is not complete
// where one of an organization's policies cannot be read: then nothing is allowed,
// whatever they say.
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
