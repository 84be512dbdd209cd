package trust

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"time"

	"writ/internal/intent/plan"
)

// Published are the keys with which a server signs the keys of organizations, by their ids: those that it publishes for
// the purpose trust (GET /iap/keys).
type Published map[string]ed25519.PublicKey

// Chain is a token that was verified.
type Chain struct {
	OrgID   string
	Plan    Plan // the declared one
	Anchors []Anchor
	Links   []Link // the declared plan's first

	hash  string     // of the plan that was delegated
	steps *plan.Plan // of the last link
}

// Last is the delegation whose token it is.
func (c *Chain) Last() *Link { return &c.Links[len(c.Links)-1] }

// Verify verifies a token from the published keys alone: every signature, that each part hangs on the one before, that
// each link permits no more than its parent and does not outlive it, and that all of it counts at a time. It cannot
// know what was revoked since.
func Verify(token string, keys Published, now time.Time) (*Chain, error) {
	if len(token) > MaxBytes {
		return nil, refused("it is longer than %d bytes", MaxBytes)
	}
	parts := Parts(token)
	if len(parts) < 3 {
		return nil, refused("it has no delegation")
	}
	c := &Chain{}
	key, err := c.readKey(parts[0], keys)
	if err != nil {
		return nil, err
	}
	if err := c.readPlan(parts[1], key, now); err != nil {
		return nil, err
	}
	before := parts[1]
	for _, part := range parts[2:] {
		if err := c.add(part, key, before, now); err != nil {
			return nil, err
		}
		before = part
	}
	if len(c.Links) == 0 {
		return nil, refused("it has no delegation")
	}
	return c, nil
}

func refused(format string, args ...any) error {
	return fmt.Errorf("not a valid delegation: "+format, args...)
}

// signer is the organization's key.
type signer struct {
	id     string
	public ed25519.PublicKey
}

// readKey reads which key signs for the organization.
func (c *Chain) readKey(part string, keys Published) (signer, error) {
	u, err := readAs(kindKey, part)
	if err != nil {
		return signer{}, refused("its first part is not the key of an organization")
	}
	var k Key
	if !u.verify(keys[u.keyID]) {
		return signer{}, refused("the key of its organization is not signed by a published key")
	}
	public, err := decodeKey(&u, &k)
	if err != nil {
		return signer{}, err
	}
	c.OrgID = k.OrgID
	return signer{k.ID, public}, nil
}

func decodeKey(u *unsigned, k *Key) (ed25519.PublicKey, error) {
	if err := u.claims(k); err != nil {
		return nil, refused("%w", err)
	}
	public, err := hex.DecodeString(k.Public)
	if err != nil || len(public) != ed25519.PublicKeySize || k.OrgID == "" || k.ID == "" {
		return nil, refused("the statement about the key of its organization says too little")
	}
	return public, nil
}

// readPlan reads which plan was declared.
func (c *Chain) readPlan(part string, key signer, now time.Time) error {
	u, err := readAs(kindPlan, part)
	if err != nil {
		return refused("its second part is not the plan that was declared")
	}
	var p Plan
	switch {
	case u.keyID != key.id || !u.verify(key.public) || u.claims(&p) != nil || p.OrgID != c.OrgID:
		return refused("its plan is not signed by its organization")
	case p.ID == "" || p.PlanHash == "":
		return refused("the statement about its plan says too little")
	case !counts(p.Issued, p.Expires, now):
		return refused("its plan does not count at this time")
	}
	c.Plan, c.hash = p, p.PlanHash
	return nil
}

func counts(issued, expires int64, now time.Time) bool {
	return issued <= now.Add(ClockSkew).Unix() && now.Unix() < expires
}

// add adds a part that comes after the plan: anchors first, then delegations.
func (c *Chain) add(part string, key signer, before string, now time.Time) error {
	u, err := read(part)
	switch {
	case err == nil && u.kind == kindAnchor && len(c.Links) == 0:
		return c.addAnchor(&u, key, before)
	case len(c.Links) == plan.MaxDelegations:
		return refused("it is deeper than %d delegations", plan.MaxDelegations)
	case err != nil || u.kind != kindLink:
		err = refused("%w", errForm)
	default:
		err = c.addLink(&u, key, before, now)
	}
	if err != nil {
		return fmt.Errorf("delegation %d of the token: %w", len(c.Links)+1, err)
	}
	return nil
}

// addAnchor adds a re-anchoring of the plan.
func (c *Chain) addAnchor(u *unsigned, key signer, before string) error {
	var a Anchor
	if u.keyID != key.id || !u.verify(key.public) || u.claims(&a) != nil {
		return refused("an anchor of its plan is not signed by its organization")
	}
	previous := ""
	if len(c.Anchors) > 0 {
		previous = HashOf(before)
	}
	if a.OrgID != c.OrgID || a.From != c.hash || a.Previous != previous || a.Number != int64(len(c.Anchors))+2 ||
		a.PlanID != c.Plan.ID {
		return refused("an anchor of its plan does not follow the one before")
	}
	c.Anchors, c.hash = append(c.Anchors, a), a.To
	return nil
}

// addLink adds a delegation of what the chain permits so far.
func (c *Chain) addLink(u *unsigned, key signer, before string, now time.Time) error {
	var l Link
	if u.keyID != key.id || !u.verify(key.public) || u.claims(&l) != nil {
		return refused("it is not signed by its organization")
	}
	if _, ok := PublicKey(l.Delegate); !ok || l.ID == "" || l.PlanID == "" || len(l.Steps) == 0 {
		return refused("it does not say what it is for")
	}
	if err := c.checkPlace(&l, before, now); err != nil {
		return err
	}
	steps, err := c.checkSteps(&l)
	if err != nil {
		return err
	}
	c.Links, c.steps = append(c.Links, l), steps
	return nil
}

// checkPlace checks that a link hangs on the part before it, and is within it.
func (c *Chain) checkPlace(l *Link, before string, now time.Time) error {
	parent := Link{
		ID: c.Plan.ID, PlanID: c.Plan.ID, Further: plan.MaxDelegations, Issued: c.Plan.Issued,
		Expires: c.Plan.Expires,
	}
	if len(c.Links) > 0 {
		parent = *c.Last()
	}
	for i := range c.Links {
		if c.Links[i].ID == l.ID {
			return refused("it is there twice")
		}
	}
	switch {
	case l.OrgID != c.OrgID || l.PlanID != parent.PlanID || l.ParentID != parent.ID || l.ID == l.ParentID:
		return refused("it was delegated from another parent")
	case l.ParentHash != HashOf(before):
		return refused("it was delegated from another parent")
	case l.Depth != len(c.Links)+1 || l.Further < 0 || l.Further >= parent.Further:
		return refused("it is deeper than its parent permits")
	case l.Expires > parent.Expires || l.Issued < parent.Issued:
		return refused("it counts when its parent does not")
	case !counts(l.Issued, l.Expires, now):
		return refused("it does not count at this time")
	case l.Budget < 0 || parent.Budget > 0 && (l.Budget == 0 || l.Budget > parent.Budget):
		return refused("it permits more calls than its parent")
	}
	return nil
}

// checkSteps checks that each step is covered by one of the parent.
func (c *Chain) checkSteps(l *Link) (*plan.Plan, error) {
	own := &plan.Plan{Steps: make([]plan.Step, len(l.Steps))}
	parent := c.steps
	last := 0
	for i, s := range l.Steps {
		step, ordered, err := c.readStep(s)
		if err != nil || i > 0 && ordered != own.Ordered {
			return nil, refused("its step %d cannot be read", i)
		}
		own.Steps[i], own.Ordered = step, ordered
		at := s.Parent
		if c.steps == nil {
			if parent, err = c.stepOfPlan(s, plan.Plan{Ordered: ordered, Steps: own.Steps[i : i+1]}); err != nil {
				return nil, err
			}
			at = 0
		}
		if at < 0 || at >= len(parent.Steps) || !plan.CoversAt(parent, at, own, i) ||
			parent.Ordered && s.Parent < last {
			return nil, refused("its step %d permits what its parent does not", i)
		}
		last = s.Parent
	}
	return own, nil
}

// readStep reads a step of the next link. Most delegations hand steps on as they are, which were read before.
func (c *Chain) readStep(s Step) (step plan.Step, ordered bool, err error) {
	if c.steps != nil && s.Parent >= 0 && s.Parent < len(c.steps.Steps) &&
		bytes.Equal(s.Step, c.Last().Steps[s.Parent].Step) {
		return c.steps.Steps[s.Parent], c.steps.Ordered, nil
	}
	return plan.ReadBinding(s.Step)
}

// stepOfPlan is a plan that has only the step of the declared plan which a step of the first link shows and proves.
// Most first links hand a step on as it is: then it is what was read of the link.
func (c *Chain) stepOfPlan(s Step, read plan.Plan) (*plan.Plan, error) {
	shown := s.From
	if shown == nil {
		shown = s.Step
	}
	leaf := plan.Leaf{Path: plan.StepPath(s.Parent), Digest: plan.DigestOf(shown)}
	if !plan.CheckProof(c.hash, leaf, s.Proof) {
		return nil, refused("a step of its plan is not in the plan")
	}
	if s.From == nil {
		return &read, nil
	}
	step, ordered, err := plan.ReadBinding(s.From)
	if err != nil {
		return nil, refused("a step of its plan cannot be read")
	}
	return &plan.Plan{Ordered: ordered, Steps: []plan.Step{step}}, nil
}
