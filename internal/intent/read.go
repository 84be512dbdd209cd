package intent

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/names"
	"writ/internal/page"
	"writ/internal/principal"
)

// listName binds cursors to this list.
const listName = "plan"

// Get shows a plan of the caller's organization; to a key, one that it declared.
// Who may not read payloads gets it without its text.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (View, error) {
	if err := requireReader(p); err != nil {
		return View{}, err
	}
	row, err := findVisible(ctx, s.db, p, id)
	if err != nil {
		return View{}, err
	}
	view := row.view(s.db.Now())
	if readsPayloads(p) && len(row.shown) > 0 {
		view.Plan = row.shown
	}
	view.Uses, err = selectAllUses(ctx, s.db, row.ID, row.Anchor)
	return view, err
}

// Filter says which plans a list shows. Empty members do not limit it.
type Filter struct {
	Status        plan.Status
	AgentID       string
	UserID        string // or an e-mail
	Since, Before *time.Time
}

// List shows the plans of an organization to its members, newest first, without
// their text. The limit is page.DefaultLimit when it is not positive, and
// page.MaxLimit at most.
func (s *Service) List(
	ctx context.Context, p principal.Principal, f Filter, cursor string, limit int,
) (page.Page[View], error) {
	if p.Kind != principal.User {
		return page.Page[View]{}, fault.New(fault.Forbidden, "plans are listed for a person")
	}
	if err := requireReader(p); err != nil {
		return page.Page[View]{}, err
	}
	if f.Status != "" && !f.Status.Valid() {
		return page.Page[View]{}, fault.Field("status", "must be active, completed, failed or expired")
	}
	if !names.Valid(f.AgentID) || !names.Valid(f.UserID) {
		return page.Page[View]{}, fault.New(fault.Invalid,
			"agent and user must be at most %d bytes without control characters", names.MaxBytes)
	}
	after, err := page.Decode(cursor, listName, p.OrgID)
	if err != nil {
		return page.Page[View]{}, err
	}
	if limit <= 0 {
		limit = page.DefaultLimit
	}
	limit = min(limit, page.MaxLimit)
	now := s.db.Now()
	rows, err := selectPlans(ctx, s.db, p.OrgID, f, now, after, limit+1)
	if err != nil {
		return page.Page[View]{}, err
	}
	views := make([]View, len(rows))
	for i := range rows {
		views[i] = rows[i].view(now)
	}
	return page.Of(views, limit, func(v View) page.Cursor {
		return page.Cursor{List: listName, Scope: p.OrgID, Micros: database.Micros(v.CreatedAt), ID: v.ID}
	}), nil
}

// Tree is the Merkle tree of a plan. Its hashes let a guess of an argument be
// checked, so that it needs the right to read payloads.
func (s *Service) Tree(ctx context.Context, p principal.Principal, id string) (*plan.Tree, error) {
	d, err := s.readDeclared(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return d.Plan.Tree(), nil
}

// StepProofs are the proofs about one step: of its action, and of all it says.
type StepProofs struct {
	Root   string
	Action plan.PathProof
	Step   plan.PathProof
}

// Proof proves a step of a plan against its root.
func (s *Service) Proof(ctx context.Context, p principal.Principal, id string, step int) (StepProofs, error) {
	tree, err := s.Tree(ctx, p, id)
	if err != nil {
		return StepProofs{}, err
	}
	action, ok := tree.ActionProof(step)
	whole, also := tree.StepProof(step)
	if !ok || !also {
		return StepProofs{}, fault.New(fault.NotFound, "the plan has no such step")
	}
	return StepProofs{Root: tree.Root(), Action: action, Step: whole}, nil
}

// Prune forgets Idempotency-Keys that are older than a day.
func (s *Service) Prune(ctx context.Context) error {
	err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM plan_request WHERE created_at < $1`,
			database.Micros(tx.Now().Add(-keepRequests)))
		return err
	}})
	return database.Wrap(err, "forget old Idempotency-Keys")
}

// readsPayloads reports whether the caller may see what plans say: members with
// that right, and the key that said it.
func readsPayloads(p principal.Principal) bool {
	return p.Kind == principal.Key || p.May(principal.ReadPayloads)
}

// findVisible reads a plan as far as the caller may see it.
func findVisible(ctx context.Context, r database.Reader, p principal.Principal, id string) (planRow, error) {
	row, err := selectPlan(ctx, r, p.OrgID, id)
	if err == nil && p.Kind == principal.Key && row.Binding.KeyID != p.KeyID {
		return planRow{}, noSuchPlan()
	}
	return row, err
}

// view is the plan as it is shown at an instant.
func (r planRow) view(now time.Time) View {
	v := r.View
	v.Status = r.stored
	if r.stored == plan.Active && !now.Before(r.ExpiresAt) {
		v.Status = plan.Expired
	}
	return v
}

// Steps are those of a plan, as it is judged, for who may read payloads.
func (s *Service) Steps(ctx context.Context, p principal.Principal, id string) ([]plan.Step, error) {
	d, err := s.readDeclared(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return d.Plan.Steps, nil
}

// readDeclared is what a plan says, for who may read payloads.
func (s *Service) readDeclared(ctx context.Context, p principal.Principal, id string) (*plan.Declared, error) {
	if err := requireReader(p); err != nil {
		return nil, err
	}
	if !readsPayloads(p) {
		return nil, p.Require(principal.ReadPayloads)
	}
	row, err := findVisible(ctx, s.db, p, id)
	if err != nil {
		return nil, err
	}
	return s.declared(row)
}
