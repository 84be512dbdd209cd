package policy

import (
	"context"
	"database/sql"
	"errors"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/principal"
)

// Create stores a new policy, a draft.
func (s *Service) Create(ctx context.Context, p principal.Principal, source Source) (Full, error) {
	if err := requireDrafter(p); err != nil {
		return Full{}, err
	}
	c, err := s.compiler.read(ctx, source)
	if err != nil {
		return Full{}, err
	}
	var full Full
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		full, err = s.create(ctx, tx, p, p.OrgID, c, AsDocument)
		return err
	}})
	if err != nil {
		return Full{}, err
	}
	return full, nil
}

// Add stores a draft within a change of another area: the first run. It asks
// nobody's leave; the caller has. The change must declare audit.LogOf(orgID).
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
	// Looked up first: a violated index would end the transaction of others.
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

// AnyVersion is the precondition of an update that has none.
const AnyVersion = 0

// Update stores a new latest version. Where expected is not AnyVersion it must
// be the latest version so far: somebody else's edit is not overwritten unseen.
// The same text again changes nothing.
func (s *Service) Update(
	ctx context.Context, p principal.Principal, id string, source Source, expected int,
) (Full, error) {
	if err := requireDrafter(p); err != nil {
		return Full{}, err
	}
	c, err := s.compiler.read(ctx, source)
	if err != nil {
		return Full{}, err
	}
	var full Full
	err = s.change(ctx, p, id, func(ctx context.Context, tx *database.Tx, policy Policy) (err error) {
		full, err = s.update(ctx, tx, p, policy, c, expected)
		return err
	})
	if err != nil {
		return Full{}, err
	}
	return full, nil
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
	if policy, err = next(ctx, tx, policy, c.doc); err != nil {
		return Full{}, err
	}
	return s.write(ctx, tx, p, updated, policy, c, 0)
}

// next makes room for one more version of a policy.
func next(ctx context.Context, tx *database.Tx, policy Policy, doc *document.Document) (Policy, error) {
	if policy.LatestVersion >= MaxVersions {
		return Policy{}, fault.New(fault.Conflict, "the policy has %d versions, which is the most: create a new one",
			policy.LatestVersion)
	}
	policy.LatestVersion++
	policy.Name, policy.UpdatedAt = doc.Name, tx.Now()
	if err := requireFreeName(ctx, tx, policy); err != nil {
		return Policy{}, err
	}
	return policy, updatePolicy(ctx, tx, policy)
}

// Import stores a document as the latest version of the policy of its name, or
// as a new policy where there is none.
func (s *Service) Import(ctx context.Context, p principal.Principal, source Source) (Full, error) {
	if err := requireDrafter(p); err != nil {
		return Full{}, err
	}
	c, err := s.compiler.read(ctx, source)
	if err != nil {
		return Full{}, err
	}
	var full Full
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		policy, err := findByName(ctx, tx, p.OrgID, c.doc.Name)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			full, err = s.create(ctx, tx, p, p.OrgID, c, AsDocument)
		case err == nil:
			full, err = s.update(ctx, tx, p, policy, c, AnyVersion)
		}
		return err
	}})
	if err != nil {
		return Full{}, err
	}
	return full, nil
}

// Delete takes a policy that is not active out of sight. Its versions stay, for
// decisions name them.
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
