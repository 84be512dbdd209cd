package policy

import (
	"context"
	"errors"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// LatestVersion stands for the number of the latest version.
const LatestVersion = 0

// Seen is what a person has seen of a policy that they change: if it is otherwise by now, nothing is changed.
type Seen struct{ ActiveVersion int } // 0: none

func requireSeen(policy Policy, seen []Seen) error {
	for _, s := range seen {
		switch {
		case s.ActiveVersion == policy.ActiveVersion:
		case policy.ActiveVersion == 0:
			return fault.New(fault.Conflict, "the policy is not active any more: look again before you change it")
		default:
			return fault.New(fault.Conflict,
				"version %d is active by now, which is not what you have seen: look again before you change it",
				policy.ActiveVersion)
		}
	}
	return nil
}

// Activate makes a version of a policy the active one. If somebody else wrote the latest version, the caller must give
// its number, so that a person never activates a version that they have not read.
func (s *Service) Activate(
	ctx context.Context, p principal.Principal, id string, number int, seen ...Seen,
) (Full, error) {
	return s.changeActive(ctx, p, id, number, func(
		ctx context.Context, tx *database.Tx, policy Policy, v Version, _ compiled,
	) (Policy, error) {
		if err := requireSeen(policy, seen); err != nil {
			return Policy{}, err
		}
		if number == LatestVersion && v.Author != authorOf(p) && v.Author.Kind != principal.System {
			return Policy{}, fault.New(fault.Conflict,
				"version %d was written by somebody else: read it, and name the version to activate it", v.Number)
		}
		return s.activate(ctx, tx, p, policy, v, activated)
	})
}

// Rollback makes an old version the latest again, under a new number. If the policy is active, so is that version.
func (s *Service) Rollback(
	ctx context.Context, p principal.Principal, id string, number int, seen ...Seen,
) (Full, error) {
	var restored Version
	full, err := s.changeActive(ctx, p, id, number, func(
		ctx context.Context, tx *database.Tx, policy Policy, v Version, c compiled,
	) (Policy, error) {
		if err := requireSeen(policy, seen); err != nil {
			return Policy{}, err
		}
		policy, err := nextVersion(ctx, tx, policy, c.doc.Name)
		if err != nil {
			return Policy{}, err
		}
		full, err := s.write(ctx, tx, p, rolledBack, policy, c, v.Number)
		restored = full.Version
		if err != nil || policy.ActiveVersion == 0 {
			return policy, err
		}
		return s.activate(ctx, tx, p, policy, restored, activated)
	})
	full.Version = restored
	return full, err
}

// versionChange changes a policy by one of its versions.
type versionChange func(ctx context.Context, tx *database.Tx, policy Policy, v Version, c compiled) (Policy, error)

// changeActive activates or restores a version of a policy. A profile must be confirmed instead.
func (s *Service) changeActive(
	ctx context.Context, p principal.Principal, id string, number int, do versionChange,
) (Full, error) {
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

// changeVersion compiles a version before the transaction, because that is slow and a version never changes. It fails
// if this server cannot compile it. It does not wait for drafts, which could otherwise delay an activation.
func (s *Service) changeVersion(
	ctx context.Context, p principal.Principal, before Policy, number int, do versionChange,
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
	return full, err
}

// loadVersion reads and compiles a version that is to be activated.
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
	wasShadow := policy.ShadowVersion == v.Number
	if wasShadow {
		policy.ShadowVersion, policy.ShadowSince = 0, nil
	}
	policy.ActiveVersion, policy.ActivatedAt, policy.UpdatedAt = v.Number, &now, now
	if err := updatePolicy(ctx, tx, policy); err != nil {
		return Policy{}, err
	}
	if err := s.record(ctx, tx, p, a, policy, about(policy, v)); err != nil || !wasShadow {
		return policy, err
	}
	return policy, s.record(ctx, tx, p, shadowEnded, policy, about(policy, v))
}

// Deactivate makes a policy inactive. It does not change a policy that is not active.
func (s *Service) Deactivate(
	ctx context.Context, p principal.Principal, id string, seen ...Seen,
) (stopped Policy, err error) {
	if err := requireManager(p); err != nil {
		return Policy{}, err
	}
	err = s.change(ctx, p, id, func(ctx context.Context, tx *database.Tx, policy Policy) (err error) {
		stopped = policy
		if err := requireSeen(policy, seen); err != nil {
			return err
		}
		if policy.ActiveVersion != 0 {
			stopped, err = s.deactivate(ctx, tx, p, policy)
		}
		return err
	})
	return stopped, err
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
