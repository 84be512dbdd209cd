package intent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/names"
	"writ/internal/page"
	"writ/internal/principal"
)

// listName binds cursors to this list.
const listName = "plan"

// OrgOf returns the organization of a plan, by which the API authenticates the
// caller. A caller of another organization gets the same answer as for a plan that
// does not exist.
func (s *Service) OrgOf(ctx context.Context, id string) (orgID string, err error) {
	if !database.IsID(id) {
		return "", noSuchPlan()
	}
	err = s.db.QueryRow(ctx, `SELECT org_id FROM plan WHERE id = $1`, id).Scan(&orgID)
	return orgID, database.OrMissing(err, noSuchPlan(), "read the organization of plan %s", id)
}

// Get returns a plan of the caller's organization; for a key, one that it declared.
// A caller who may not read payloads gets it without its text.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (View, error) {
	if err := requireReader(p); err != nil {
		return View{}, err
	}
	row, err := findVisible(ctx, s.db, p, id)
	if err != nil {
		return View{}, err
	}
	view := row.viewFor(p, s.db.Now())
	if readsPayloads(p) && len(row.shown) > 0 {
		view.Plan = row.shown
	}
	if view.Uses, err = selectUses(ctx, s.db, row.ID, row.Anchor); err != nil {
		return View{}, err
	}
	if err := s.complete(ctx, p.OrgID, &view); err != nil {
		return View{}, err
	}
	view.Index, err = audit.FirstAbout(ctx, s.db, audit.LogOf(p.OrgID), audit.Subject{Type: "plan", ID: row.ID})
	return view, err
}

// complete adds whom a plan was delegated to, and whether it was stopped.
func (s *Service) complete(ctx context.Context, orgID string, v *View) error {
	if v.ParentID != "" {
		err := s.db.QueryRow(ctx, `SELECT agent_id FROM delegation WHERE plan_id = $1`, v.ID).Scan(&v.DelegatedTo)
		if err := database.OrMissing(err, nil, "find whom plan %s was delegated to", v.ID); err != nil {
			return err
		}
	}
	return s.endStopped(ctx, orgID, v)
}

// endStopped shows a plan that the kill switch has ended, or stops, as decisions take it: it has failed.
func (s *Service) endStopped(ctx context.Context, orgID string, v *View) error {
	if v.Status != plan.Active {
		return nil
	}
	// What was delegated is its delegate's.
	agentID := cmp.Or(v.Binding.AgentID, v.DelegatedTo)
	ended, err := s.agents.Ended(ctx, s.db, orgID, agentID, v.Binding.KeyID, v.ID, v.ParentID)
	if err != nil {
		return fmt.Errorf("find whether plan %s was stopped: %w", v.ID, err)
	}
	if ended {
		v.Status, v.Stopped = plan.Failed, true
	}
	return nil
}

// Filter selects plans. Empty members match all.
type Filter struct {
	Status        plan.Status
	AgentID       string
	UserID        string // or an e-mail
	Since, Before *time.Time
}

// List returns a page of an organization's plans to its members, newest first,
// without their texts.
func (s *Service) List(
	ctx context.Context, p principal.Principal, f Filter, cursor string, limit int,
) (page.Page[View], error) {
	if p.Kind != principal.User {
		return page.Page[View]{}, fault.New(fault.Forbidden, "only a person may list plans")
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
	wanted := page.Query{List: listName, Scope: p.OrgID, Cursor: cursor, Limit: limit}
	return page.Read(wanted, func(after page.Cursor, limit int) ([]View, error) {
		now := s.db.Now()
		rows, err := selectPlans(ctx, s.db, p.OrgID, f, now, after, limit)
		views := make([]View, len(rows))
		for i := range rows {
			views[i] = rows[i].viewFor(p, now)
			if err := s.complete(ctx, p.OrgID, &views[i]); err != nil {
				return nil, err
			}
		}
		return views, err
	}, func(v View) (time.Time, string) { return v.CreatedAt, v.ID })
}

// Tree returns the Merkle tree of a plan. It needs the right to read payloads,
// because its hashes can confirm a guessed argument.
func (s *Service) Tree(ctx context.Context, p principal.Principal, id string) (*plan.Tree, error) {
	d, err := s.readDeclared(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return d.Plan.Tree(), nil
}

// StepProofs are the proofs of one step: of its action, and of the whole step.
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

// Prune deletes Idempotency-Keys that are older than a day, and guarded sessions that nobody uses any more.
func (s *Service) Prune(ctx context.Context) error {
	err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM plan_request WHERE created_at < $1`,
			database.Micros(tx.Now().Add(-idempotencyKeyLife)))
		if err != nil {
			return err
		}
		if err := pruneProofs(ctx, tx); err != nil {
			return err
		}
		return pruneSessions(ctx, tx)
	}})
	return database.Wrap(err, "delete old Idempotency-Keys, proofs and sessions")
}

// readsPayloads reports whether the caller may see the text of plans: members with
// that right, and the key that declared it.
func readsPayloads(p principal.Principal) bool {
	return p.Kind == principal.Key || p.May(principal.ReadPayloads)
}

// findVisible reads a plan that the caller may see.
func findVisible(ctx context.Context, r database.Reader, p principal.Principal, id string) (planRow, error) {
	row, err := selectPlan(ctx, r, p.OrgID, id)
	if err == nil && p.Kind == principal.Key && row.Binding.KeyID != p.KeyID {
		return planRow{}, noSuchPlan()
	}
	return row, err
}

// view is the plan as shown at an instant.
func (r planRow) view(now time.Time) View {
	v := r.View
	v.Status = r.stored
	if r.stored == plan.Active && !now.Before(r.ExpiresAt) {
		v.Status = plan.Expired
	}
	return v
}

// viewFor is view without the words of the plan, unless the caller may read payloads: the goal is one in the log too.
func (r planRow) viewFor(p principal.Principal, now time.Time) View {
	v := r.view(now)
	if !readsPayloads(p) {
		v.Goal = ""
	}
	return v
}

// Steps returns the parsed steps of a plan to a caller who may read payloads.
func (s *Service) Steps(ctx context.Context, p principal.Principal, id string) ([]plan.Step, error) {
	d, err := s.readDeclared(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return d.Plan.Steps, nil
}

// readDeclared reads a plan for a caller who may read payloads.
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
	return s.declared(ctx, s.db, row)
}
