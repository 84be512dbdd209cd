package intent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/intent/ticket"
	"writ/internal/principal"
	"writ/internal/redaction"
)

// Mint stores the plan and issues its token. Policies do not decide about a plan,
// only about each call.
func (s *Service) Mint(ctx context.Context, p principal.Principal, r Request) (Minted, error) {
	if err := requireAgent(p); err != nil {
		return Minted{}, err
	}
	r, shown, err := s.admit(ctx, p, r)
	if err != nil {
		return Minted{}, err
	}
	n, err := s.prepare(p, r)
	if err != nil {
		return Minted{}, err
	}
	n.ticket = shown
	for range maxMintAttempts {
		m, stale, err := s.tryMint(ctx, n)
		if err != nil || !stale {
			return m, err
		}
	}
	return Minted{}, fault.New(fault.Unavailable, "other plans of this turn are registered at the same time: try again")
}

// maxMintAttempts is how often a plan is compared because its turn got another plan before it was stored.
const maxMintAttempts = 8

// tryMint compares and stores the plan once. It is stale if the plan must be compared again.
func (s *Service) tryMint(ctx context.Context, n *newPlan) (m Minted, stale bool, err error) {
	if repeats, err := n.repeats(ctx, s.db); err != nil || repeats != "" {
		return s.answerAgain(ctx, n, repeats, err)
	}
	if n.plan.AutoMinted() && n.ticket == nil { // a ticket is given to the tool that a model calls
		if err := s.allowUnderRegistered(ctx, n); err != nil {
			return Minted{}, false, err
		}
	}
	if err := s.widening(ctx, n); err != nil {
		return Minted{}, false, err
	}
	// Sign outside the transaction, which holds up other changes.
	if err := s.issue(ctx, n); err != nil {
		return Minted{}, false, err
	}
	repeats := ""
	err = s.db.Write(ctx, database.Change{Logs: []string{n.by.OrgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		repeats, err = n.repeats(ctx, tx)
		if err != nil || repeats != "" {
			return err
		}
		if stale, err = n.stillCurrent(ctx, tx); err != nil || stale {
			return err
		}
		if stale, err = s.stillUnder(ctx, tx, n); err != nil || stale {
			return err
		}
		return s.add(ctx, tx, n)
	}})
	if err != nil || repeats != "" {
		return s.answerAgain(ctx, n, repeats, err)
	}
	m = minted(n.id, n.plan, n.tree, n.issued)
	m.AgentID = n.binding.AgentID
	if n.ticket != nil {
		m.Added = n.added()
	}
	return m, stale, nil
}

// answerAgain answers a repeated request.
func (s *Service) answerAgain(ctx context.Context, n *newPlan, planID string, err error) (Minted, bool, error) {
	if err != nil {
		return Minted{}, false, err
	}
	m, err := s.again(ctx, n.by, planID)
	return m, false, err
}

// newPlan is a plan that is not stored yet.
type newPlan struct {
	by       principal.Principal
	request  Request
	body     [sha256.Size]byte // digest of the request, with an IdempotencyKey
	id       string
	plan     *plan.Plan
	tree     *plan.Tree
	policy   []byte
	shown    []byte // redacted, like goal and source
	goal     string
	source   string
	binding  plan.Binding
	identity string
	parentID string
	// parentAnchor is the version of the plan that a plugin's own was accepted under.
	parentAnchor int64

	issuedAt time.Time // in whole seconds
	expires  time.Time
	issued   sealedPlan
	sealed   []byte

	ticket   *ticket.Ticket // of a guarded session; nil: it has none
	compared []string       // the plans of the turn that it was compared with
}

// turn is the turn of a guarded session; 0: it is none.
func (n *newPlan) turn() int64 {
	if n.ticket == nil {
		return 0
	}
	return n.ticket.Turn
}

// prepare does everything that needs no database.
func (s *Service) prepare(p principal.Principal, r Request) (*newPlan, error) {
	r, err := r.checked()
	if err != nil {
		return nil, err
	}
	parsed, err := plan.Parse(r.Plan)
	if err != nil {
		return nil, err
	}
	policy, err := plan.Signable(r.Policy)
	if err != nil {
		return nil, err
	}
	shown, err := redaction.JSON(r.Plan)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the plan cannot be read")
	}
	n := &newPlan{
		by:       p,
		request:  r,
		id:       database.NewID(),
		plan:     parsed,
		tree:     parsed.Tree(),
		policy:   policy,
		shown:    shown,
		goal:     redaction.Text(plainText(parsed.Goal)),
		source:   redaction.Text(plainText(parsed.Source)),
		issuedAt: s.db.Now().Truncate(time.Second),
		issued:   sealedPlan{Plan: string(r.Plan)},
		binding: plan.Binding{
			OrgID:   p.OrgID,
			KeyID:   p.KeyID,
			UserID:  r.UserID,
			Email:   r.Email,
			AgentID: r.AgentID,
			Context: r.ContextID,
			Session: r.SessionID,
		},
	}
	if n.identity, err = identityOf(n.binding); err != nil {
		return nil, err
	}
	n.expires = n.issuedAt.Add(r.life())
	if p.ExpiresAt != nil && n.expires.After(*p.ExpiresAt) {
		n.expires = p.ExpiresAt.Truncate(time.Second) // a plan does not outlive its key
	}
	if r.IdempotencyKey != "" {
		n.body, err = r.digest(policy)
	}
	return n, err
}

// plainText removes control characters, which databases refuse and which change
// what a terminal shows.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, text)
}

// identityOf is the composite identity: a hash of the binding.
func identityOf(b plan.Binding) (string, error) {
	text, err := canonical.Marshal(map[string]string{
		"org_id": b.OrgID, "key_id": b.KeyID, "user_id": b.UserID, "user_email": b.Email, "agent_id": b.AgentID,
		"context_id": b.Context,
	})
	if err != nil {
		return "", fmt.Errorf("composite identity: %w", err)
	}
	return plan.DigestOf(text), nil
}

// issue signs the token and the JWT, and seals them with the plan.
func (s *Service) issue(ctx context.Context, n *newPlan) error {
	key, err := s.keys.Current(ctx, PlanKey)
	if err != nil {
		return err
	}
	root := n.tree.Root()
	n.issued.Token, err = plan.Token{
		PlanHash:  root,
		IssuedAt:  n.issuedAt.Unix(),
		ExpiresAt: n.expires.Unix(),
		Policy:    n.policy,
		Identity:  n.identity,
		Version:   plan.PlanVersion,
	}.Sign(key.Private)
	if err != nil {
		return err
	}
	if key, err = s.keys.Current(ctx, JWTKey); err != nil {
		return err
	}
	n.issued.JWT, err = plan.JWT{
		PlanID:   n.id,
		PlanHash: root,
		Identity: n.identity,
		Issued:   n.issuedAt,
		Expires:  n.expires,
	}.Sign(key.ID, key.Private)
	if err != nil {
		return err
	}
	text, err := json.Marshal(n.issued)
	if err != nil {
		return fmt.Errorf("seal plan %s: %w", n.id, err)
	}
	n.sealed = s.sealer.Seal(sealContext(n.id, root), text)
	return nil
}

// sealedPlan is what is stored sealed: the exact text of the plan, and what was
// issued for it.
type sealedPlan struct {
	Plan    string     `json:"plan"`
	Token   plan.Token `json:"token"`
	JWT     string     `json:"jwt"`
	Widened []int      `json:"widened,omitempty"` // see plan.Declared; not signed
	// WidenedMay: see plan.Declared.
	WidenedMay []int `json:"widenedMay,omitempty"`
}

// sealContext binds sealed bytes to their row and to the hash in it.
func sealContext(planID, root string) string { return "plan/" + planID + "/" + root }

func minted(id string, p *plan.Plan, tree *plan.Tree, issued sealedPlan) Minted {
	root := tree.Root()
	return Minted{
		PlanID:            id,
		IntentReference:   referencePrefix + id,
		PlanHash:          root,
		MerkleRoot:        root,
		CompositeIdentity: issued.Token.Identity,
		StepProofs:        tree.StepProofs(),
		Token:             issued.Token,
		JWT:               issued.JWT,
		Plan:              p,
		Widened:           issued.Widened,
	}
}

// again rebuilds the answer that was given for a plan.
func (s *Service) again(ctx context.Context, p principal.Principal, planID string) (Minted, error) {
	row, err := selectPlan(ctx, s.db, p.OrgID, planID)
	if err == nil && row.Anchor > 1 { // as it was before it was re-anchored
		err = s.db.QueryRow(ctx, `SELECT root, sealed FROM plan_anchor WHERE plan_id = $1 AND number = 1`,
			planID).Scan(&row.Hash, &row.sealed)
	}
	if err != nil {
		return Minted{}, err
	}
	stored, parsed, err := s.open(row)
	if err != nil {
		return Minted{}, err
	}
	m := minted(planID, parsed, parsed.Tree(), stored)
	m.Repeated, m.AgentID = true, row.Binding.AgentID
	return m, nil
}

// digest covers the whole request: an Idempotency-Key may be repeated only with the
// same request.
func (r Request) digest(policy []byte) ([sha256.Size]byte, error) {
	text, err := canonical.Marshal(struct {
		Plan, Policy     jsontext.Value
		ExpiresIn        *float64
		User, Email      string
		Agent            string
		Context, Session string
		Prompt           *string `json:",omitzero"`
		Ticket, Amends   string  `json:",omitzero"`
	}{
		r.Plan, policy, r.ExpiresIn, r.UserID, r.Email, r.AgentID, r.ContextID, r.SessionID, r.Prompt, r.Ticket,
		r.Amends,
	})
	return sha256.Sum256(text), database.Wrap(err, "digest of the request")
}

// repeats is the id of the plan that was minted for the same Idempotency-Key, or "".
func (n *newPlan) repeats(ctx context.Context, r database.Reader) (planID string, err error) {
	if n.request.IdempotencyKey == "" {
		return "", nil
	}
	planID, body, err := selectRequest(ctx, r, n.by.KeyID, n.request.IdempotencyKey)
	if err != nil || planID == "" {
		return "", err
	}
	if string(body) != string(n.body[:]) {
		return "", fault.New(fault.Conflict, "this Idempotency-Key was used for another request: use a new one")
	}
	return planID, nil
}
