package intent

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
)

// Find is the plan of an organization that a call presents, or nil where there
// is none, which plan.Check answers as such. Whether the token is genuine is
// not judged here.
//
// The generation is that of the organization's log, read before. What is
// remembered from it or a later one is given without asking the database:
// whatever changes a plan raises the generation. A decision that finds a newer
// generation in its transaction asks FindIn.
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

// Forget drops what is remembered, after the organization's log began another
// epoch: generations of different epochs cannot be compared.
func (s *Service) Forget() { s.plans.forget() }

// FindIn is Find within the decision's transaction. Nothing is remembered of
// it, for the transaction may be rolled back.
func (s *Service) FindIn(ctx context.Context, tx *database.Tx, orgID string, p plan.Presented) (*plan.Declared, error) {
	id, err := s.planID(ctx, tx, p)
	if err != nil || id == "" {
		return nil, err
	}
	return s.read(ctx, tx, orgID, id, s.plans.get(id))
}

// PlanOf is a plan of an organization as it stands, for who looks back at many of
// them: what decisions remember is used, and not displaced. It is nil where there
// is none, or its text was erased.
func (s *Service) PlanOf(ctx context.Context, orgID, id string) (*plan.Plan, error) {
	d, err := s.read(ctx, s.db, orgID, id, s.plans.get(id))
	if err != nil || d == nil {
		return nil, err
	}
	return d.Plan, nil
}

// FindByToken is Find where the token is the only credential: no organization
// is known before it. The caller checks that it is genuine before anything else.
func (s *Service) FindByToken(ctx context.Context, p plan.Presented) (*plan.Declared, error) {
	id, err := s.planID(ctx, s.db, p)
	if err != nil || id == "" {
		return nil, err
	}
	return s.read(ctx, s.db, anyOrg, id, s.plans.get(id))
}

// IDOf is the id of the plan that is named, empty where the organization has none
// such. Whether a token is genuine does not matter here.
func (s *Service) IDOf(ctx context.Context, orgID string, shown plan.Presented) (string, error) {
	found, err := s.FindByToken(ctx, shown)
	if err != nil || found == nil || found.Binding.OrgID != orgID {
		return "", err
	}
	return found.ID, nil
}

// Issued is what a token was issued for, also after its plan has ended. A token that
// is not as it was issued is Unauthenticated.
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

// OfSession is the plan that a session of a key declared last, whatever became of
// it, or empty where it declared none.
func OfSession(ctx context.Context, r database.Reader, orgID, keyID, sessionID string) (planID string, err error) {
	if sessionID == "" {
		return "", nil
	}
	return selectOfSession(ctx, r, orgID, keyID, sessionID)
}

// anyOrg stands for every organization, where a token is the credential.
const anyOrg = "*"

// ofOrg hides a plan of another organization.
func ofOrg(d *plan.Declared, orgID string) *plan.Declared {
	if orgID != anyOrg && d.Binding.OrgID != orgID {
		return nil
	}
	return d
}

// planID is the plan that is named: by its id, else by the reference made of
// it, else by the signature of its token.
func (s *Service) planID(ctx context.Context, r database.Reader, p plan.Presented) (string, error) {
	if database.IsID(p.PlanID) {
		return p.PlanID, nil
	}
	if id, ok := strings.CutPrefix(p.Reference, referenceMark); ok && database.IsID(id) {
		return id, nil
	}
	if p.Signature == "" || p.PlanHash == "" {
		return "", nil
	}
	hash := sha256.Sum256([]byte(p.Signature))
	return selectBySignature(ctx, r, hash[:], p.PlanHash)
}

// read reads a plan: how it stands always, its text only where what is
// remembered is of another version. It is nil where there is none.
func (s *Service) read(
	ctx context.Context, r database.Reader, orgID, id string, known *cached,
) (*plan.Declared, error) {
	if known != nil && ofOrg(known.declared, orgID) != nil {
		status, root, err := selectStanding(ctx, r, id)
		if err == nil && root == known.declared.Root {
			d := *known.declared
			d.Status = status
			return &d, nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("read plan %s: %w", id, err)
		}
	}
	row, err := selectPlan(ctx, r, orgID, id)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil || len(row.sealed) == 0 { // it has ended, and its text was erased
		return nil, err
	}
	return s.declared(row)
}

// declared makes the plan that is judged from its row. A text that no longer
// reads as what was signed is refused.
func (s *Service) declared(row planRow) (*plan.Declared, error) {
	stored, err := s.open(row)
	if err != nil {
		return nil, err
	}
	parsed, err := plan.Parse([]byte(stored.Plan))
	if err != nil {
		return nil, fmt.Errorf("stored plan %s: %w", row.ID, err)
	}
	if parsed.Tree().Root() != row.Hash {
		return nil, fmt.Errorf("stored plan %s: its text is not what was signed", row.ID)
	}
	return &plan.Declared{
		ID:        row.ID,
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
	}, nil
}

// open unseals a plan. A wrong master key, or a row that was altered, fails here.
func (s *Service) open(row planRow) (sealedPlan, error) {
	if len(row.sealed) == 0 {
		return sealedPlan{}, errErased()
	}
	text, err := s.sealer.Open(sealContext(row.ID, row.Hash), row.sealed)
	if err != nil {
		return sealedPlan{}, fmt.Errorf("stored plan %s: %w", row.ID, err)
	}
	var stored sealedPlan
	if err := json.Unmarshal(text, &stored); err != nil {
		return sealedPlan{}, fmt.Errorf("stored plan %s: not of our form", row.ID)
	}
	return stored, nil
}
