package policy

import (
	"context"
	"errors"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// LatestVersion asks for whatever version is the latest.
const LatestVersion = 0

// Activate has calls judged by a version of a policy, in place of the one that
// was active before. The latest version must be named if somebody else has
// written it: a person who has read one version must not put another one in
// force that came in between.
func (s *Service) Activate(ctx context.Context, p principal.Principal, id string, number int) (Full, error) {
	return s.put(ctx, p, id, number, func(
		ctx context.Context, tx *database.Tx, policy Policy, v Version, _ compiled,
	) (Policy, error) {
		if number == LatestVersion && v.Author != authorOf(p) && v.Author.Kind != principal.System {
			return Policy{}, fault.New(fault.Conflict,
				"version %d was written by somebody else: read it, and name the version to activate it", v.Number)
		}
		return s.activate(ctx, tx, p, policy, v, activated)
	})
}

// Rollback makes an old version the latest again, under a new number. An active
// policy is judged by it at once.
func (s *Service) Rollback(ctx context.Context, p principal.Principal, id string, number int) (Full, error) {
	var restored Version
	full, err := s.put(ctx, p, id, number, func(
		ctx context.Context, tx *database.Tx, policy Policy, v Version, c compiled,
	) (Policy, error) {
		policy, err := next(ctx, tx, policy, c.doc)
		if err != nil {
			return Policy{}, err
		}
		full, err := s.write(ctx, tx, p, rolledBack, policy, c, v.Number)
		if err != nil || policy.ActiveVersion == 0 {
			restored = full.Version
			return policy, err
		}
		restored = full.Version
		return s.activate(ctx, tx, p, policy, restored, activated)
	})
	full.Version = restored
	return full, err
}

// putter changes a policy by one of its versions.
type putter func(ctx context.Context, tx *database.Tx, policy Policy, v Version, c compiled) (Policy, error)

// put puts a version of a policy in force, or back. A profile is confirmed instead.
func (s *Service) put(ctx context.Context, p principal.Principal, id string, number int, do putter) (Full, error) {
	if err := requireManager(p); err != nil {
		return Full{}, err
	}
	before, err := find(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Full{}, err
	}
	if before.Face == AsProfile {
		return Full{}, fault.New(fault.Conflict,
			"the policy is a profile, and is put in force by confirming what was proposed (POST /policies/profiles/confirm)")
	}
	return s.changeVersion(ctx, p, before, number, do)
}

// changeVersion reads and compiles a version before the transaction, where it may
// take its time: a version never changes. What this server cannot compile is not put.
// It waits for no draft: whoever may draft could keep a policy from being activated.
func (s *Service) changeVersion(
	ctx context.Context, p principal.Principal, before Policy, number int, do putter,
) (Full, error) {
	if number == LatestVersion {
		number = before.LatestVersion
	}
	v, c, err := s.loadVersion(ctx, p.OrgID, before.ID, number)
	if err != nil {
		return Full{}, err
	}
	full := Full{Version: v, Document: c.doc, Warnings: c.policy.Warnings()}
	err = s.change(ctx, p, before.ID, func(ctx context.Context, tx *database.Tx, policy Policy) (err error) {
		full.Policy, err = do(ctx, tx, policy, v, c)
		return err
	})
	if err != nil {
		return Full{}, err
	}
	return full, nil
}

// loadVersion reads and compiles a version that is to be put in force.
func (s *Service) loadVersion(ctx context.Context, orgID, id string, number int) (Version, compiled, error) {
	v, err := findVersion(ctx, s.db, orgID, id, number)
	if err != nil {
		return Version{}, compiled{}, err
	}
	log, err := s.log.Evidence(ctx, audit.LogOf(orgID))
	if err != nil {
		return Version{}, compiled{}, err
	}
	if err := proveVersion(ctx, log, v); err != nil {
		return Version{}, compiled{}, fault.Wrap(err, fault.Conflict,
			"version %d is not as it was stored: the audit log tells of another text", number)
	}
	c, err := s.loader.read(ctx, v.Source)
	if fault.Is(err, fault.Invalid) {
		f, _ := errors.AsType[*fault.Error](err)
		err = fault.Wrap(err, fault.Conflict, "version %d is not valid for this server: %s", number, f.Message)
	}
	return v, c, err
}

func (s *Service) activate(
	ctx context.Context, tx *database.Tx, p principal.Principal, policy Policy, v Version, a action,
) (Policy, error) {
	others, err := countActiveRules(ctx, tx, policy.OrgID, policy.ID)
	if err != nil {
		return Policy{}, err
	}
	if others+v.Rules > MaxActiveRules {
		return Policy{}, fault.New(fault.Conflict,
			"the active policies would have %d rules together, and %d is the most", others+v.Rules, MaxActiveRules)
	}
	now := tx.Now()
	tried := policy.ShadowVersion == v.Number // it counts from now on
	if tried {
		policy.ShadowVersion, policy.ShadowSince = 0, nil
	}
	policy.ActiveVersion, policy.ActivatedAt, policy.UpdatedAt = v.Number, &now, now
	if err := updatePolicy(ctx, tx, policy); err != nil {
		return Policy{}, err
	}
	if err := s.record(ctx, tx, p, a, policy, about(policy, v)); err != nil || !tried {
		return policy, err
	}
	return policy, s.record(ctx, tx, p, shadowEnded, policy, about(policy, v))
}

// Deactivate stops judging calls by a policy. One that is not active stays as
// it is.
func (s *Service) Deactivate(ctx context.Context, p principal.Principal, id string) (Policy, error) {
	if err := requireManager(p); err != nil {
		return Policy{}, err
	}
	var stopped Policy
	err := s.change(ctx, p, id, func(ctx context.Context, tx *database.Tx, policy Policy) error {
		stopped = policy
		if policy.ActiveVersion == 0 {
			return nil
		}
		after, err := s.deactivate(ctx, tx, p, policy)
		stopped = after
		return err
	})
	if err != nil {
		return Policy{}, err
	}
	return stopped, nil
}

func (s *Service) deactivate(
	ctx context.Context, tx *database.Tx, p principal.Principal, policy Policy,
) (Policy, error) {
	was := policy.ActiveVersion
	policy.ActiveVersion, policy.UpdatedAt = 0, tx.Now()
	if err := updatePolicy(ctx, tx, policy); err != nil {
		return Policy{}, err
	}
	return policy, s.record(ctx, tx, p, deactivated, policy, recorded{Name: policy.Name, Version: was})
}
