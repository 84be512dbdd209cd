package policy

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// StartShadow runs a version of a policy, or of a profile, as its shadow instead of the previous one.
func (s *Service) StartShadow(ctx context.Context, p principal.Principal, id string, number int) (Full, error) {
	if err := requireManager(p); err != nil {
		return Full{}, err
	}
	before, err := find(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Full{}, err
	}
	full, err := s.changeVersion(ctx, p, before, number, func(
		ctx context.Context, tx *database.Tx, policy Policy, v Version, _ compiled,
	) (Policy, error) {
		return s.startShadow(ctx, tx, p, policy, v)
	})
	if err == nil {
		_ = s.PrepareShadows(ctx, p.OrgID) // the next decision tries again
	}
	return full, err
}

func (s *Service) startShadow(
	ctx context.Context, tx *database.Tx, p principal.Principal, policy Policy, v Version,
) (Policy, error) {
	switch v.Number {
	case policy.ActiveVersion:
		return Policy{}, fault.New(fault.Conflict, "version %d is active: as a shadow it would say the same", v.Number)
	case policy.ShadowVersion:
		return policy, nil
	}
	others, err := countActiveRules(ctx, tx, policy.OrgID, policy.ID)
	if err != nil {
		return Policy{}, err
	}
	if others+v.Rules > MaxActiveRules {
		return Policy{}, fault.New(fault.Conflict,
			"with it the active policies would have %d rules together, and %d is the most", others+v.Rules, MaxActiveRules)
	}
	shadows, err := countShadows(ctx, tx, policy.OrgID, policy.ID)
	if err != nil {
		return Policy{}, err
	}
	if shadows >= MaxShadows {
		return Policy{}, fault.New(fault.Conflict,
			"%d policies have a shadow already, which is the most: end one first", shadows)
	}
	now := tx.Now()
	policy.ShadowVersion, policy.ShadowSince, policy.UpdatedAt = v.Number, &now, now
	if err := updatePolicy(ctx, tx, policy); err != nil {
		return Policy{}, err
	}
	return policy, s.record(ctx, tx, p, shadowStarted, policy, about(policy, v))
}

// EndShadow stops the shadow of a policy, if it has one.
func (s *Service) EndShadow(ctx context.Context, p principal.Principal, id string) (ended Policy, err error) {
	if err := requireManager(p); err != nil {
		return Policy{}, err
	}
	err = s.change(ctx, p, id, func(ctx context.Context, tx *database.Tx, policy Policy) error {
		was := policy.ShadowVersion
		ended = policy
		if was == 0 {
			return nil
		}
		ended.ShadowVersion, ended.ShadowSince, ended.UpdatedAt = 0, nil, tx.Now()
		if err := updatePolicy(ctx, tx, ended); err != nil {
			return err
		}
		return s.record(ctx, tx, p, shadowEnded, ended, recorded{
			Name: ended.Name, Version: was, ActiveVersion: ended.ActiveVersion,
		})
	})
	return ended, err
}

// countShadows counts the shadows of the other policies.
func countShadows(ctx context.Context, r database.Reader, orgID, exceptID string) (n int, err error) {
	err = r.QueryRow(ctx, `
		SELECT count(*)
		FROM policy
		WHERE org_id = $1 AND id <> $2 AND shadow_version IS NOT NULL AND deleted_at IS NULL`, orgID, exceptID).Scan(&n)
	return n, database.Wrap(err, "count the shadows")
}
