package intent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/intent/trust"
	"writ/internal/names"
	"writ/internal/principal"
	"writ/internal/redaction"
)

// defaultDelegationLife is how long a delegation lives if nobody says otherwise. It never outlives its parent.
const defaultDelegationLife = time.Hour

const (
	maxDelegateKey = 512       // bytes, of an envelope's key, which nothing is verified with
	maxBudget      = 1_000_000 // calls
	maxActions     = plan.MaxSteps
)

// DelegateRequest asks for a delegation of a part of a plan, or of another delegation.
type DelegateRequest struct {
	Parent plan.Presented // the token of what is delegated
	// Held and Sent prove that the caller holds the parent, if that is a delegation.
	Held *trust.Proof
	Sent trust.Request

	// Envelope: a published SDK asks, which will show the parent's token with the sub-tree.
	Envelope bool
	Delegate string // the delegate's public key
	AgentID  string // the agent that may use it; empty: whoever holds the key

	// Subtree is the path of what is delegated; empty: everything. Actions are the names of the tools; nil: all of
	// them.
	Subtree string
	Actions []string
	// Plan is what is delegated, if it is not steps as the parent has them: each must be covered by one of the
	// parent's, and have one of the Actions, if there are any.
	Plan []byte
	Goal string // what for; empty: the parent's

	ExpiresIn *float64 // seconds
	MaxLife   time.Duration
	Budget    int64 // calls; 0: any number
	Further   *int  // how many delegations may follow; nil: as many as the parent permits
}

// Delegated is a delegation and what was issued for it.
type Delegated struct {
	ID        string
	RootID    string // the declared plan
	ParentID  string
	Token     string // empty: an envelope has none
	Link      string // the last part of the token
	Signature string // of the last part of the token, in hex
	PlanHash  string // of its own steps
	Identity  string
	Delegate  string
	AgentID   string
	Depth     int
	Further   int
	Budget    int64
	Steps     []plan.Step
	Proofs    []plan.Proof // of the actions, against PlanHash
	// ParentHash is the hash of the parent's plan, and Subtree the part of it that was delegated.
	ParentHash string
	Subtree    plan.Subtree
	IssuedAt   time.Time
	ExpiresAt  time.Time
	Repeated   bool // an equal request got this answer just before
}

// Delegate delegates a part of a plan to whoever holds a key. The delegation permits no more than its parent in any
// respect, and does not outlive it.
func (s *Service) Delegate(ctx context.Context, p principal.Principal, r DelegateRequest) (Delegated, error) {
	if err := requireAgent(p); err != nil {
		return Delegated{}, err
	}
	r, err := r.checked()
	if err != nil {
		return Delegated{}, err
	}
	for range maxMintAttempts {
		d, stale, err := s.tryDelegate(ctx, p, r)
		if err != nil || !stale {
			return d, err
		}
	}
	return Delegated{}, fault.New(fault.Unavailable, "what is delegated keeps changing: try again")
}

// checked returns the request with its names validated.
func (r DelegateRequest) checked() (DelegateRequest, error) {
	r.AgentID = strings.TrimSpace(r.AgentID)
	if r.AgentID == plan.NotStated {
		r.AgentID = ""
	}
	read := trust.StatedKey
	if r.Envelope {
		read = trust.PublicKey // a text of any other form is only stored
	}
	key, isKey := read(r.Delegate)
	switch {
	case isKey:
		r.Delegate = fmt.Sprintf("%x", []byte(key))
	case !r.Envelope:
		return r, fault.Field("delegate_public_key", "must be a public key of Ed25519, raw or as SPKI in DER, in hex or base64")
	case r.Delegate == "" || len(r.Delegate) > maxDelegateKey || plainText(r.Delegate) != r.Delegate:
		return r, fault.Field("delegatePublicKey", "must be 1 to %d bytes without control characters", maxDelegateKey)
	default:
		r.Delegate = redaction.Text(r.Delegate) // it is stored, and nothing is verified with it
	}
	switch {
	case !names.Valid(r.AgentID) || redaction.HoldsKey(r.AgentID):
		return r, fault.Field("target_agent", "must be at most %d bytes without control characters, and no key",
			names.MaxBytes)
	case r.Budget < 0 || r.Budget > maxBudget:
		return r, fault.Field("budget", "must be a number of calls from 1 to %d", maxBudget)
	case r.Further != nil && (*r.Further < 0 || *r.Further >= plan.MaxDelegations):
		return r, fault.Field("max_depth", "must be from 0 to %d", plan.MaxDelegations-1)
	case len(r.Actions) > maxActions:
		return r, fault.Field("allowed_actions", "must be at most %d names", maxActions)
	}
	return r, nil
}

// newDelegation is a delegation that is not stored yet.
type newDelegation struct {
	*newPlan
	request  DelegateRequest
	envelope bool
	parent   *plan.Declared
	delegate string
	further  int
	covered  []int // for each step, the parent's that covers it
	subtree  plan.Subtree
	content  [sha256.Size]byte
}

func (n *newDelegation) root() *plan.Declared {
	lineage := n.parent.Lineage()
	return lineage[len(lineage)-1]
}

func (n *newDelegation) depth() int { return len(n.parent.Chain) + 1 }

// tryDelegate compares and stores a delegation once. It is stale if what is delegated has changed meanwhile.
func (s *Service) tryDelegate(
	ctx context.Context, p principal.Principal, r DelegateRequest,
) (d Delegated, stale bool, err error) {
	parent, err := s.parentOf(ctx, p, r)
	if err != nil {
		return Delegated{}, false, err
	}
	n, err := s.narrow(p, r, parent)
	if err != nil {
		return Delegated{}, false, err
	}
	if id, err := selectRepeated(ctx, s.db, p.OrgID, n.content, s.db.Now()); err != nil || id != "" {
		if err == nil {
			d, err = s.delegatedAgain(ctx, n, id)
		}
		return d, false, err
	}
	if err := s.issueDelegation(ctx, n); err != nil {
		return Delegated{}, false, err
	}
	err = s.db.Write(ctx, database.Change{Logs: []string{p.OrgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		if stale, err = s.parentChanged(ctx, tx, n); err != nil || stale {
			return err
		}
		return s.addDelegation(ctx, tx, n)
	}})
	if err != nil || stale {
		return Delegated{}, stale, err
	}
	return n.delegated(), false, nil
}

// parentOf finds what is delegated, and checks that the caller may.
func (s *Service) parentOf(ctx context.Context, p principal.Principal, r DelegateRequest) (*plan.Declared, error) {
	parent, err := s.FindByToken(ctx, r.Parent)
	if err != nil {
		return nil, err
	}
	if parent == nil || parent.Binding.OrgID != p.OrgID {
		return nil, fault.New(fault.NotFound, "no plan has this token: send the token as it was issued")
	}
	now := s.db.Now()
	var may plan.Result
	if parent.Delegation != nil {
		may = trust.Held(parent, r.Parent, r.Held, r.Sent, now)
	} else {
		may = plan.CheckPresented(parent, r.Parent, plan.Binding{OrgID: p.OrgID, KeyID: p.KeyID}, now)
	}
	if !may.OK {
		return nil, fault.New(fault.Forbidden, "%s", may.Reason)
	}
	for _, link := range parent.Lineage() {
		ended, err := s.hasEnded(ctx, s.db, link)
		if err == nil && ended {
			err = fault.New(fault.Forbidden, "a person has stopped this plan, or an agent that it came from")
		}
		if err != nil {
			return nil, err
		}
	}
	return parent, nil
}

// narrow makes the delegation out of the parent's steps, and compares it.
func (s *Service) narrow(p principal.Principal, r DelegateRequest, parent *plan.Declared) (*newDelegation, error) {
	n := &newDelegation{request: r, envelope: r.Envelope, parent: parent, delegate: r.Delegate}
	if err := n.setLimits(); err != nil {
		return nil, err
	}
	text, err := n.selectSteps()
	if err != nil {
		return nil, err
	}
	of := parent.Binding
	n.newPlan, err = s.prepare(p, Request{
		UserID:      of.UserID,
		Email:       of.Email,
		Plan:        text,
		ExpiresIn:   r.ExpiresIn,
		DefaultLife: defaultDelegationLife,
		MaxLife:     r.MaxLife,
	})
	if err != nil {
		return nil, err
	}
	n.parentID = parent.ID
	for _, link := range parent.Lineage() {
		if link.Expires.Before(n.expires) {
			n.expires = link.Expires
		}
	}
	return n, n.compare()
}

// setLimits sets how deep the delegation may be followed, and how many calls it may make.
func (n *newDelegation) setLimits() error {
	most, budget := plan.MaxDelegations, int64(0)
	if own := n.parent.Delegation; own != nil {
		most, budget = own.Further, own.Budget
	}
	if most < 1 || n.depth() > plan.MaxDelegations {
		return fault.New(fault.Forbidden, "this delegation may not be delegated any further")
	}
	n.further = most - 1
	if n.request.Further != nil {
		if *n.request.Further > n.further {
			return fault.New(fault.Forbidden, "max_depth permits more delegations than the parent, which has %d left", n.further)
		}
		n.further = *n.request.Further
	}
	switch {
	case budget == 0:
	case n.request.Budget == 0:
		n.request.Budget = budget
	case n.request.Budget > budget:
		return fault.New(fault.Forbidden, "budget permits more calls than the parent, which has %d", budget)
	}
	return nil
}

// parentChanged reports whether the parent, or what it came from, has changed since it was compared.
func (s *Service) parentChanged(ctx context.Context, tx *database.Tx, n *newDelegation) (bool, error) {
	for _, link := range n.parent.Lineage() {
		at, err := selectState(ctx, tx, link.ID)
		if err != nil {
			return false, fmt.Errorf("read plan %s: %w", link.ID, err)
		}
		if at.status != link.Status || at.anchor != link.Anchor {
			return true, nil
		}
		if ended, err := s.hasEnded(ctx, tx, link); err != nil || ended {
			return ended, err
		}
	}
	return false, nil
}

// delegatedAgain rebuilds the answer that was given for an equal request.
func (s *Service) delegatedAgain(ctx context.Context, n *newDelegation, id string) (Delegated, error) {
	row, err := selectPlan(ctx, s.db, n.by.OrgID, id)
	if err != nil {
		return Delegated{}, err
	}
	stored, parsed, err := s.openSigned(row)
	if err != nil {
		return Delegated{}, err
	}
	n.id, n.plan, n.tree, n.issued = id, parsed, parsed.Tree(), stored
	n.issuedAt, n.expires = row.IssuedAt, row.ExpiresAt
	d := n.delegated()
	d.Repeated = true
	return d, nil
}

func (n *newDelegation) delegated() Delegated {
	return Delegated{
		ID:         n.id,
		RootID:     n.root().ID,
		ParentID:   n.parent.ID,
		Token:      n.issued.JWT,
		Link:       n.issued.JWT[strings.LastIndexByte(n.issued.JWT, '~')+1:],
		Signature:  n.issued.Token.Signature,
		PlanHash:   n.tree.Root(),
		Identity:   n.identity,
		Delegate:   n.delegate,
		AgentID:    n.request.AgentID,
		Depth:      n.depth(),
		Further:    n.further,
		Budget:     n.request.Budget,
		Steps:      n.plan.Steps,
		Proofs:     n.tree.StepProofs(),
		ParentHash: n.parent.Root,
		Subtree:    n.subtree,
		IssuedAt:   n.issuedAt,
		ExpiresAt:  n.expires,
	}
}

// sealDelegation seals what was issued.
func (s *Service) sealDelegation(n *newDelegation) error {
	text, err := json.Marshal(n.issued)
	if err != nil {
		return fmt.Errorf("seal delegation %s: %w", n.id, err)
	}
	n.sealed = s.sealer.Seal(sealContext(n.id, n.tree.Root()), text)
	return nil
}
