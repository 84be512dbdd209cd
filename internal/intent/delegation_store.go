package intent

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/intent/trust"
)

// Kinds of delegations, as they are stored.
const (
	kindToken    = "token"
	kindEnvelope = "envelope"
)

// readDelegation completes a plan that has a parent. Without a row it was not delegated: a plugin's own plan was
// accepted under another.
func readDelegation(ctx context.Context, r database.Reader, d *plan.Declared) error {
	var kind string
	var own plan.Delegation
	err := r.QueryRow(ctx, `
		SELECT kind, depth, further, delegate, agent_id, parent_root, subtree, budget
		FROM delegation
		WHERE plan_id = $1`, d.ID).Scan(&kind, &own.Depth, &own.Further, &own.Delegate, &own.AgentID, &own.ParentRoot,
		&own.Subtree, &own.Budget)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read delegation %s: %w", d.ID, err)
	}
	own.Envelope = kind == kindEnvelope
	d.Delegation, d.Binding.AgentID = &own, own.AgentID
	return nil
}

// readChain reads the plans that a delegation came from, as they are now, and no more than there can be: rows may have
// been altered. A chain that does not end at a declared plan permits nothing: see plan.CheckChain.
func (s *Service) readChain(ctx context.Context, r database.Reader, d *plan.Declared) error {
	d.Chain = nil
	for at := d; at.Delegation != nil && len(d.Chain) < plan.MaxDelegations; {
		parent, err := s.readAlone(ctx, r, d.Binding.OrgID, at.Under, s.plans.get(at.Under))
		if err != nil || parent == nil {
			return err
		}
		d.Chain = append(d.Chain, parent)
		at = parent
	}
	return nil
}

func insertDelegation(ctx context.Context, tx *database.Tx, n *newDelegation) error {
	covered, err := json.Marshal(n.covered)
	if err != nil {
		return fmt.Errorf("store delegation %s: %w", n.id, err)
	}
	kind := kindToken
	if n.envelope {
		kind = kindEnvelope
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO delegation (plan_id, root_id, kind, depth, further, delegate, agent_id, parent_root, subtree,
			covered_by, budget, uses, content, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $13)`,
		n.id, n.root().ID, kind, n.depth(), n.further, n.delegate, n.request.AgentID, n.parent.Root, n.subtree.Path,
		string(covered), n.request.Budget, n.content[:], database.Micros(tx.Now()))
	return database.Wrap(err, "store delegation %s", n.id)
}

// repeatedWithin is how long an equal request gets the answer that was given before: published SDKs send it again
// without saying that it is the same.
const repeatedWithin = time.Minute

// selectRepeated is the live delegation that an equal request made just before; empty: there is none.
func selectRepeated(
	ctx context.Context, r database.Reader, orgID string, content [sha256.Size]byte, now time.Time,
) (id string, err error) {
	err = r.QueryRow(ctx, `
		SELECT d.plan_id
		FROM delegation d JOIN plan p ON p.id = d.plan_id
		WHERE d.content = $1 AND d.created_at > $2 AND p.org_id = $3 AND p.status = 'active' AND p.expires_at > $4
		ORDER BY d.created_at DESC, d.plan_id DESC
		LIMIT 1`, content[:], database.Micros(now.Add(-repeatedWithin)), orgID, database.Micros(now)).Scan(&id)
	return id, database.OrMissing(err, nil, "look for an equal delegation")
}

// selectEnvelope is the live envelope of a sub-tree of a plan that ends last, of the version that has a root if one is
// shown; empty: there is none.
func selectEnvelope(
	ctx context.Context, r database.Reader, planID string, shown plan.Envelope, now time.Time,
) (id string, err error) {
	err = r.QueryRow(ctx, `
		SELECT d.plan_id
		FROM delegation d JOIN plan p ON p.id = d.plan_id
		WHERE d.root_id = $1 AND d.kind = 'envelope' AND d.subtree = $2 AND p.parent_id = $1 AND p.status = 'active'
			AND p.expires_at > $3 AND ($4 = '' OR d.parent_root = $4)
		ORDER BY p.expires_at DESC, d.plan_id DESC
		LIMIT 1`, planID, plan.SubtreePath(shown.Path), database.Micros(now), shown.ParentRoot).Scan(&id)
	return id, database.OrMissing(err, nil, "find the delegation of a sub-tree")
}

// UseProof takes a proof of possession in the decision's transaction. It reports whether the proof is used for the
// first time.
func UseProof(ctx context.Context, tx *database.Tx, delegationID, nonce string) (first bool, err error) {
	sum := sha256.Sum256([]byte(nonce))
	changed, err := tx.Prepared().Exec(ctx, `
		INSERT INTO delegation_proof (plan_id, nonce, expires_at)
		VALUES ($1, $2, $3)
		ON CONFLICT (plan_id, nonce) DO NOTHING`, delegationID, sum[:],
		database.Micros(tx.Now().Add(trust.ProofLife+trust.ClockSkew)))
	return changed == 1, database.Wrap(err, "use a proof of possession")
}

// budgeted are the delegations of a lineage that have a budget.
func budgeted(d *plan.Declared) (ids []string) {
	for _, link := range d.Lineage() {
		if link.Delegation != nil && link.Delegation.Budget > 0 {
			ids = append(ids, link.ID)
		}
	}
	return ids
}

// BudgetLeft reports whether every budget of a delegation and of those that it came from has a call left. Without
// budgets it costs no statement.
func BudgetLeft(ctx context.Context, tx *database.Tx, d *plan.Declared) (bool, error) {
	for _, id := range budgeted(d) {
		var left int64
		err := tx.Prepared().QueryRow(ctx, `SELECT budget - uses FROM delegation WHERE plan_id = $1`, id).Scan(&left)
		if err != nil || left <= 0 {
			return false, database.Wrap(err, "read the budget of delegation %s", id)
		}
	}
	return true, nil
}

// TakeBudget takes a call from every budget of a delegation and of those that it came from.
func TakeBudget(ctx context.Context, tx *database.Tx, d *plan.Declared) error {
	for _, id := range budgeted(d) {
		changed, err := tx.Prepared().Exec(ctx,
			`UPDATE delegation SET uses = uses + 1 WHERE plan_id = $1 AND uses < budget`, id)
		if err == nil && changed != 1 {
			err = errors.New("it is spent")
		}
		if err != nil {
			return fmt.Errorf("take from the budget of delegation %s: %w", id, err)
		}
	}
	return nil
}

// pruneProofs forgets proofs that do not count any more.
func pruneProofs(ctx context.Context, tx *database.Tx) error {
	_, err := tx.Exec(ctx, `DELETE FROM delegation_proof WHERE expires_at < $1`, database.Micros(tx.Now()))
	return database.Wrap(err, "forget used proofs")
}
