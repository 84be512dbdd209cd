package intent

import (
	"context"
	"fmt"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/intent/trust"
)

const delegatedAction = "plan.delegated"

// issueDelegation signs the token of a delegation, and seals it with its plan.
func (s *Service) issueDelegation(ctx context.Context, n *newDelegation) error {
	if n.envelope {
		return s.sealDelegation(n)
	}
	key, err := s.trustKey(ctx, n.by.OrgID)
	if err != nil {
		return err
	}
	parts, err := s.partsOf(ctx, n.parent, key)
	if err != nil {
		return err
	}
	link := trust.Link{
		ID:         n.id,
		OrgID:      n.by.OrgID,
		PlanID:     n.root().ID,
		ParentID:   n.parent.ID,
		ParentHash: trust.HashOf(parts[len(parts)-1]),
		PlanHash:   n.tree.Root(),
		Depth:      n.depth(),
		Further:    n.further,
		Delegate:   n.delegate,
		AgentID:    n.request.AgentID,
		Budget:     n.request.Budget,
		Steps:      n.linkSteps(),
		Issued:     n.issuedAt.Unix(),
		Expires:    n.expires.Unix(),
	}
	text, err := link.Sign(key.id, key.private)
	if err != nil {
		return err
	}
	n.issued.JWT = trust.Join(append(parts, text)...)
	n.issued.Token.Signature = trust.SignatureOf(text)
	if len(n.issued.JWT) > trust.MaxBytes {
		return fault.New(fault.TooLarge, "the token would have more than %d bytes: delegate fewer steps", trust.MaxBytes)
	}
	return s.sealDelegation(n)
}

// linkSteps are the steps as the token has them. Those of the first delegation show and prove the plan's own.
func (n *newDelegation) linkSteps() []trust.Step {
	steps := make([]trust.Step, len(n.plan.Steps))
	declared := n.parent.Plan
	tree := declared.Tree()
	for i := range steps {
		by := n.covered[i]
		steps[i] = trust.Step{Step: n.plan.Steps[i].Binding(n.plan.Ordered), Parent: by}
		if n.parent.Delegation == nil {
			proof, _ := tree.StepProof(by)
			steps[i].Proof = proof.Proof
			if from := declared.Steps[by].Binding(declared.Ordered); string(from) != string(steps[i].Step) {
				steps[i].From = from
			}
		}
	}
	return steps
}

// partsOf are the parts of a token up to what is delegated.
func (s *Service) partsOf(ctx context.Context, parent *plan.Declared, key trustKey) ([]string, error) {
	if parent.Delegation != nil {
		row, err := selectPlan(ctx, s.db, parent.Binding.OrgID, parent.ID)
		if err != nil {
			return nil, err
		}
		stored, _, err := s.openSigned(row)
		return trust.Parts(stored.JWT), err
	}
	first := planRow{View: View{ID: parent.ID}}
	err := s.db.QueryRow(ctx, `SELECT root, sealed FROM plan_anchor WHERE plan_id = $1 AND number = 1`,
		parent.ID).Scan(&first.Hash, &first.sealed)
	if err != nil {
		return nil, fmt.Errorf("read the token of plan %s: %w", parent.ID, err)
	}
	stored, _, err := s.openSigned(first)
	if err != nil {
		return nil, err
	}
	declared, err := trust.Plan{
		ID: parent.ID, OrgID: parent.Binding.OrgID, PlanHash: stored.Token.PlanHash, Issued: stored.Token.IssuedAt,
		Expires: stored.Token.ExpiresAt,
	}.Sign(key.id, key.private)
	if err != nil {
		return nil, err
	}
	anchors, err := database.Collect(ctx, s.db, database.Column[string], `
		SELECT anchor
		FROM plan_anchor
		WHERE plan_id = $1 AND number > 1 AND number <= $2
		ORDER BY number`, parent.ID, parent.Anchor)
	return append([]string{key.statement, declared}, anchors...), database.Wrap(err, "read the anchors of plan %s",
		parent.ID)
}

// addDelegation stores and records a delegation. Like a new plan it makes nothing old that is cached.
func (s *Service) addDelegation(ctx context.Context, tx *database.Tx, n *newDelegation) error {
	if held := n.request.Held; held != nil && n.parent.Delegation != nil {
		first, err := UseProof(ctx, tx, n.parent.ID, held.Nonce)
		if err != nil {
			return err
		}
		if !first {
			return fault.New(fault.Forbidden, "the proof was used before: make a new one for every request")
		}
	}
	if err := insertPlan(ctx, tx, n.newPlan, false); err != nil {
		return err
	}
	if err := insertDelegation(ctx, tx, n); err != nil {
		return err
	}
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log:         n.by.OrgID,
		Action:      delegatedAction,
		Actor:       n.by,
		Subject:     audit.Subject{Type: "plan", ID: n.id},
		Observation: true,
		Payload: recordedDelegation{
			Hash:       n.tree.Root(),
			Root:       n.root().ID,
			Parent:     n.parent.ID,
			ParentHash: n.parent.Root,
			Anchor:     n.root().Anchor,
			Depth:      n.depth(),
			Further:    n.further,
			Envelope:   n.envelope,
			Delegate:   n.delegate,
			Agent:      n.request.AgentID,
			Budget:     n.request.Budget,
			Subtree:    n.subtree.Path,
			Steps:      n.covered,
			Tools:      n.tools(),
			ExpiresAt:  n.expires.Unix(),
		},
	})
	return err
}

// recordedDelegation is what the audit log says about a delegation.
type recordedDelegation struct {
	Hash       string   `json:"planHash"`
	Root       string   `json:"plan"` // the declared one
	Parent     string   `json:"under"`
	ParentHash string   `json:"parentHash"`
	Anchor     int64    `json:"anchor"` // of the declared plan
	Depth      int      `json:"depth"`
	Further    int      `json:"further"`
	Envelope   bool     `json:"envelope,omitzero"`
	Delegate   string   `json:"delegate"`
	Agent      string   `json:"agentId,omitzero"`
	Budget     int64    `json:"budget,omitzero"`
	Subtree    string   `json:"subtree"`
	Steps      []int    `json:"coveredBy"` // for each step, the parent's
	Tools      []string `json:"tools"`
	ExpiresAt  int64    `json:"expiresAt"`
}
