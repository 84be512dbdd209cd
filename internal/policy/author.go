package policy

import (
	"context"
	"database/sql"
	"errors"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Create stores a new policy, which is a draft.
func (s *Service) Create(ctx context.Context, p principal.Principal, source Source) (full Full, err error) {
	c, err := s.compileDraft(ctx, p, source)
	if err != nil {
		return Full{}, err
	}
	err = s.inLog(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		full, err = s.create(ctx, tx, p, p.OrgID, c, AsDocument)
		return err
	})
	return full, err
}

// compileDraft compiles a document for a caller who may draft policies.
func (s *Service) compileDraft(ctx context.Context, p principal.Principal, source Source) (compiled, error) {
	if err := requireDrafter(p); err != nil {
		return compiled{}, err
	}
	return s.compiler.read(ctx, source)
}

// Add stores a draft as part of the first run's change, which must declare audit.LogOf(orgID). The caller checks
// permissions.
func (s *Service) Add(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID string, source Source,
) (Policy, error) {
	c, err := newCompiler().read(ctx, source)
	if err != nil {
		return Policy{}, err
	}
	full, err := s.create(ctx, tx, actor, orgID, c, AsDocument)
	return full.Policy, err
}

func (s *Service) create(
	ctx context.Context, tx *database.Tx, p principal.Principal, orgID string, c compiled, face Face,
) (Full, error) {
	n, err := countPolicies(ctx, tx, orgID)
	if err != nil {
		return Full{}, err
	}
	if n >= MaxPolicies {
		return Full{}, fault.New(fault.Conflict,
			"the organization has %d policies, which is the most: delete one first", n)
	}
	policy := Policy{
		ID:            database.NewID(),
		OrgID:         orgID,
		Name:          c.doc.Name,
		LatestVersion: 1,
		Face:          face,
		CreatedAt:     tx.Now(),
		UpdatedAt:     tx.Now(),
	}
	// Check first: a violated index would also end other changes in the transaction.
	if err := requireFreeName(ctx, tx, policy); err != nil {
		return Full{}, err
	}
	if err := insertPolicy(ctx, tx, policy); err != nil {
		return Full{}, err
	}
	return s.write(ctx, tx, p, created, policy, c, 0)
}

// write stores the latest version of a policy and records it.
func (s *Service) write(
	ctx context.Context, tx *database.Tx, p principal.Principal, a action, policy Policy, c compiled, restoredFrom int,
) (Full, error) {
	v := Version{
		PolicyID: policy.ID, Number: policy.LatestVersion, Source: c.source, Digest: c.source.digest(),
		Rules: len(c.doc.Rules), RestoredFrom: restoredFrom, Author: authorOf(p), CreatedAt: tx.Now(),
	}
	if err := insertVersion(ctx, tx, policy.OrgID, v); err != nil {
		return Full{}, err
	}
	if err := s.record(ctx, tx, p, a, policy, about(policy, v)); err != nil {
		return Full{}, err
	}
	return Full{Policy: policy, Version: v, Document: c.doc, Warnings: c.policy.Warnings()}, nil
}

// AnyVersion lets an update replace any latest version.
const AnyVersion = 0

// Update stores a new latest version. Unless it is AnyVersion, expected must be the latest version so far, so that
// nobody overwrites an edit that they have not seen. The same text again changes nothing.
func (s *Service) Update(
	ctx context.Context, p principal.Principal, id string, source Source, expected int,
) (full Full, err error) {
	c, err := s.compileDraft(ctx, p, source)
	if err != nil {
		return Full{}, err
	}
	err = s.change(ctx, p, id, func(ctx context.Context, tx *database.Tx, policy Policy) (err error) {
		full, err = s.update(ctx, tx, p, policy, c, expected)
		return err
	})
	return full, err
}

func (s *Service) update(
	ctx context.Context, tx *database.Tx, p principal.Principal, policy Policy, c compiled, expected int,
) (Full, error) {
	if policy.Face == AsProfile {
		return Full{}, fault.New(fault.Conflict,
			"the policy is a profile, and is changed by proposing another one (PUT /policies/profiles/draft)")
	}
	if expected != AnyVersion && expected != policy.LatestVersion {
		return Full{}, fault.New(fault.Conflict, "the latest version of the policy is %d, not %d: read it again",
			policy.LatestVersion, expected)
	}
	latest, err := findVersion(ctx, tx, policy.OrgID, policy.ID, policy.LatestVersion)
	if err != nil {
		return Full{}, err
	}
	if latest.Source == c.source {
		return Full{Policy: policy, Version: latest, Document: c.doc, Warnings: c.policy.Warnings()}, nil
	}
	if policy, err = nextVersion(ctx, tx, policy, c.doc.Name); err != nil {
		return Full{}, err
	}
	return s.write(ctx, tx, p, updated, policy, c, 0)
}

// nextVersion gives a policy one more version, which is still to be stored.
func nextVersion(ctx context.Context, tx *database.Tx, policy Policy, name string) (Policy, error) {
	if policy.LatestVersion >= MaxVersions {
		return Policy{}, fault.New(fault.Conflict, "the policy has %d versions, which is the most: create a new one",
			policy.LatestVersion)
	}
	policy.LatestVersion++
	policy.Name, policy.UpdatedAt = name, tx.Now()
	if err := requireFreeName(ctx, tx, policy); err != nil {
		return Policy{}, err
	}
	return policy, updatePolicy(ctx, tx, policy)
}

// Import stores a document as the latest version of the policy with its name, or as a new policy.
func (s *Service) Import(ctx context.Context, p principal.Principal, source Source) (full Full, err error) {
	c, err := s.compileDraft(ctx, p, source)
	if err != nil {
		return Full{}, err
	}
	err = s.inLog(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		policy, err := findByName(ctx, tx, p.OrgID, c.doc.Name)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			full, err = s.create(ctx, tx, p, p.OrgID, c, AsDocument)
		case err == nil:
			full, err = s.update(ctx, tx, p, policy, c, AnyVersion)
		}
		return err
	})
	return full, err
}

// Delete hides a policy that is not active. Its versions stay, because decisions name them.
func (s *Service) Delete(ctx context.Context, p principal.Principal, id string) error {
	if err := requireManager(p); err != nil {
		return err
	}
	return s.change(ctx, p, id, func(ctx context.Context, tx *database.Tx, policy Policy) error {
		if policy.ActiveVersion != 0 {
			return fault.New(fault.Conflict, "the policy is active: deactivate it first")
		}
		closed, err := closeProposals(ctx, tx, p, policy.ID)
		if err != nil {
			return err
		}
		if err := s.proposals.settled(ctx, tx, p.OrgID, closed...); err != nil {
			return err
		}
		if err := markDeleted(ctx, tx, policy); err != nil {
			return err
		}
		return s.record(ctx, tx, p, deleted, policy, recorded{Name: policy.Name, Version: policy.LatestVersion})
	})
}
