package intent

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
)

// Find returns the plan that a call presents, or nil if the organization has no such
// plan. It does not check whether the token is genuine: plan.Check does.
//
// The generation is that of the organization's log, read before. A plan cached at
// this generation or a later one is returned without a query, because every change
// of a plan raises the generation. A decision that finds a newer generation in its
// transaction begins again.
func (s *Service) Find(ctx context.Context, orgID string, generation int64, p plan.Presented) (*plan.Declared, error) {
	id, err := s.planID(ctx, s.db, p)
	if err != nil || id == "" {
		return nil, err
	}
	known := s.plans.get(id)
	if known != nil && known.generation >= generation {
		return ofOrg(known.declared, orgID), nil
	}
	d, err := s.read(ctx, s.db, orgID, id, known)
	if err == nil && d != nil {
		s.plans.put(id, &cached{declared: d, generation: generation})
	}
	return d, err
}

// FindEnvelope is Find for the delegation of a sub-tree of a plan, by which a published SDK names it; nil: there is
// none that counts.
func (s *Service) FindEnvelope(
	ctx context.Context, orgID string, generation int64, parent *plan.Declared, shown plan.Envelope,
) (*plan.Declared, error) {
	id, err := selectEnvelope(ctx, s.db, parent.ID, shown, s.db.Now())
	if err != nil || id == "" {
		return nil, err
	}
	return s.Find(ctx, orgID, generation, plan.Presented{PlanID: id})
}

// Forget clears the cache, after the organization's log began another epoch:
// generations of different epochs cannot be compared.
func (s *Service) Forget() { s.plans.clear() }

// PlanOf returns a plan of an organization, or nil if there is none or its text was
// erased. It reads the cache but adds nothing to it, so that a replay of many plans
// does not displace those that decisions use.
func (s *Service) PlanOf(ctx context.Context, orgID, id string) (*plan.Plan, error) {
	d, err := s.read(ctx, s.db, orgID, id, s.plans.get(id))
	if err != nil || d == nil {
		return nil, err
	}
	return d.Plan, nil
}

// FindByToken is Find for callers whose only credential is the token, so that their
// organization is not known yet. The caller must check first that it is genuine.
func (s *Service) FindByToken(ctx context.Context, p plan.Presented) (*plan.Declared, error) {
	id, err := s.planID(ctx, s.db, p)
	if err != nil || id == "" {
		return nil, err
	}
	return s.read(ctx, s.db, anyOrg, id, s.plans.get(id))
}

// Reported finds the plan that the report of a key presents, and the scope of what its calls return: of a delegation
// that of the plan which was declared, whatever the key, because its calls are judged there. It does not check whether
// the token is genuine.
func (s *Service) Reported(
	ctx context.Context, orgID, keyID string, shown plan.Presented,
) (under scope.Under, err error) {
	found, err := s.FindByToken(ctx, shown)
	if err != nil || found == nil || found.Binding.OrgID != orgID {
		return scope.Under{}, err
	}
	under.PlanID = found.ID
	switch {
	case found.Delegation != nil && len(found.Chain) > 0:
		under.Delegated, under.Scope = true, ScopeOf(found.Chain[len(found.Chain)-1].Binding)
	case found.Binding.KeyID == keyID:
		under.Scope = ScopeOf(found.Binding)
	}
	return under, nil
}

// Issued returns the binding of a token, also after its plan has ended. A token that
// is not genuine is Unauthenticated.
func (s *Service) Issued(ctx context.Context, shown plan.Presented) (plan.Binding, error) {
	found, err := s.FindByToken(ctx, shown)
	if err != nil {
		return plan.Binding{}, err
	}
	if found == nil || plan.CheckPresented(found, shown, found.Binding, s.db.Now()).Drift == plan.NotGenuine {
		return plan.Binding{}, fault.New(fault.Unauthenticated,
			"send an API key, or the token of a plan as it was issued")
	}
	return found.Binding, nil
}

// anyOrg stands for every organization, where a token is the credential.
const anyOrg = "*"

// ofOrg returns nil instead of a plan of another organization.
func ofOrg(d *plan.Declared, orgID string) *plan.Declared {
	if orgID != anyOrg && d.Binding.OrgID != orgID {
		return nil
	}
	return d
}

// planID finds the presented plan by its id, else by its reference, else by the
// signature of its token.
func (s *Service) planID(ctx context.Context, r database.Reader, p plan.Presented) (string, error) {
	if database.IsID(p.PlanID) {
		return p.PlanID, nil
	}
	if id, ok := strings.CutPrefix(p.Reference, referencePrefix); ok && database.IsID(id) {
		return id, nil
	}
	if _, err := hex.DecodeString(p.PlanHash); err != nil || p.Signature == "" || p.PlanHash == "" {
		return "", nil // no plan has it, and not every database takes any text
	}
	hash := sha256.Sum256([]byte(p.Signature))
	return selectBySignature(ctx, r, hash[:], p.PlanHash)
}

// read reads a plan and those that it was delegated from, or nil if there is none. It always reads the status, but the
// text only if another version is cached.
func (s *Service) read(
	ctx context.Context, r database.Reader, orgID, id string, known *cached,
) (*plan.Declared, error) {
	d, err := s.readAlone(ctx, r, orgID, id, known)
	if err != nil || d == nil {
		return nil, err
	}
	return d, s.readChain(ctx, r, d)
}

// readAlone is read without the plans that it was delegated from.
func (s *Service) readAlone(
	ctx context.Context, r database.Reader, orgID, id string, known *cached,
) (*plan.Declared, error) {
	if known != nil && ofOrg(known.declared, orgID) != nil {
		at, err := selectState(ctx, r, id)
		if err == nil && at.root == known.declared.Root && at.anchor == known.declared.Anchor {
			d := *known.declared
			d.Status, d.Chain = at.status, nil
			return &d, nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("read plan %s: %w", id, err)
		}
	}
	row, err := selectPlan(ctx, r, orgID, id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil || len(row.sealed) == 0 { // the plan has ended and its text was erased
		return nil, err
	}
	return s.declaredAlone(ctx, r, row)
}

// declared opens and parses a stored plan, and those that it was delegated from.
func (s *Service) declared(ctx context.Context, r database.Reader, row planRow) (*plan.Declared, error) {
	d, err := s.declaredAlone(ctx, r, row)
	if err != nil {
		return nil, err
	}
	return d, s.readChain(ctx, r, d)
}

// declaredAlone opens and parses a stored plan. It refuses a text that was not signed.
func (s *Service) declaredAlone(ctx context.Context, r database.Reader, row planRow) (*plan.Declared, error) {
	stored, parsed, err := s.openSigned(row)
	if err != nil {
		return nil, err
	}
	d := &plan.Declared{
		ID:        row.ID,
		Under:     row.ParentID,
		Anchor:    row.Anchor,
		Binding:   row.Binding,
		Status:    row.stored,
		Issued:    row.IssuedAt,
		Expires:   row.ExpiresAt,
		Signature: row.signature,
		JWTHash:   row.jwtHash,
		Plan:      parsed,
		Root:      row.Hash,
		Bytes:     len(stored.Plan),
		Widened:   stored.Widened,
		Grounds:   row.grounds,

		WidenedMay: stored.WidenedMay,
	}
	if row.Anchor > 1 {
		if d.First, err = s.firstAnchor(ctx, r, row.ID); err != nil {
			return nil, err
		}
		if d.Reanchored, err = selectAnchorEntry(ctx, r, row.ID, row.Anchor); err != nil {
			return nil, err
		}
	}
	if row.ParentID != "" {
		if err := readDelegation(ctx, r, d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// openSigned opens a plan, and refuses a text that does not have the plan's hash.
func (s *Service) openSigned(row planRow) (sealedPlan, *plan.Plan, error) {
	stored, parsed, err := s.open(row)
	if err == nil && parsed.Tree().Root() != row.Hash {
		err = fmt.Errorf("stored plan %s: its text is not what was signed", row.ID)
	}
	return stored, parsed, err
}

// firstAnchor is the version of a plan that its token was issued for.
func (s *Service) firstAnchor(ctx context.Context, r database.Reader, id string) (*plan.Anchored, error) {
	row := planRow{View: View{ID: id}}
	err := r.QueryRow(ctx, `SELECT root, sealed FROM plan_anchor WHERE plan_id = $1 AND number = 1`, id).Scan(&row.Hash,
		&row.sealed)
	if err != nil {
		return nil, fmt.Errorf("read the first anchor of plan %s: %w", id, err)
	}
	_, parsed, err := s.openSigned(row)
	return &plan.Anchored{Plan: parsed, Root: row.Hash}, err
}

// open unseals and parses a plan. A wrong master key, or a row that was altered,
// fails here.
func (s *Service) open(row planRow) (stored sealedPlan, parsed *plan.Plan, err error) {
	if len(row.sealed) == 0 {
		return sealedPlan{}, nil, errErased()
	}
	text, err := s.sealer.Open(sealContext(row.ID, row.Hash), row.sealed)
	if err == nil && json.Unmarshal(text, &stored) != nil {
		err = errors.New("its text cannot be read") // the decoder's error may show parts of it
	}
	if err == nil {
		parsed, err = plan.Parse([]byte(stored.Plan))
	}
	return stored, parsed, database.Wrap(err, "stored plan %s", row.ID)
}
