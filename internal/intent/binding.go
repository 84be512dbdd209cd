package intent

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/keyring"
)

// A policy binding is a token over the text of a policy, which some plugins
// request before they activate it. Anyone may request one. It is not stored and
// authorizes nothing: plans have another version and another key, and calls are
// judged only by stored plans.

// BindRequest asks for a policy binding.
type BindRequest struct {
	Plan      []byte // a step for each statement, in the shape of a plan
	Policy    []byte
	Identity  []byte   // chosen by the client, not checked
	ExpiresIn *float64 // seconds; nil: DefaultLife
}

// Bound is a policy binding.
type Bound struct {
	IntentReference   string           `json:"intent_reference"`
	PlanHash          string           `json:"plan_hash"`
	MerkleRoot        string           `json:"merkle_root"`
	CompositeIdentity string           `json:"composite_identity"`
	StepProofs        []plan.PathProof `json:"step_proofs"`
	Token             plan.Token       `json:"token"`
}

// Bind signs a policy binding.
func (s *Service) Bind(ctx context.Context, r BindRequest) (Bound, error) {
	parsed, err := plan.Parse(r.Plan)
	if err != nil {
		return Bound{}, err
	}
	policy, err := plan.Signable(r.Policy)
	if err != nil {
		return Bound{}, err
	}
	identity := []byte("{}")
	if len(r.Identity) > 0 {
		if identity, err = canonical.Transform(r.Identity); err != nil {
			return Bound{}, fault.Wrap(err, fault.Invalid, "identity is not JSON that everyone reads alike")
		}
	}
	key, err := s.keys.Current(ctx, BindingKey)
	if err != nil {
		return Bound{}, err
	}
	tree := parsed.Tree()
	b := Bound{
		IntentReference: "pb_" + database.NewID(), PlanHash: tree.Root(), MerkleRoot: tree.Root(),
		CompositeIdentity: plan.DigestOf(identity), StepProofs: make([]plan.PathProof, len(parsed.Steps)),
	}
	for i := range b.StepProofs {
		b.StepProofs[i], _ = tree.ActionProof(i)
	}
	issued := s.db.Now().Truncate(time.Second)
	b.Token, err = plan.Token{
		PlanHash: b.PlanHash, IssuedAt: issued.Unix(),
		ExpiresAt: issued.Add(Request{ExpiresIn: r.ExpiresIn}.life()).Unix(),
		Policy:    policy, Identity: b.CompositeIdentity, Version: plan.PolicyVersion,
	}.Sign(key.Private)
	return b, err
}

// ActionRequest asks whether a token signs this value at this path.
type ActionRequest struct {
	Path  string
	Value []byte // JSON
	Proof []byte // JSON
	Token []byte // JSON: the signed token, or what it was issued in
}

// ActionResult is the answer. The zero value does not allow.
type ActionResult struct {
	Allowed    bool   `json:"allowed"`
	Reason     string `json:"reason"`
	NodeHash   string `json:"node_hash,omitempty"`
	Path       string `json:"path,omitempty"`
	MerkleRoot string `json:"merkle_root,omitempty"`
}

// VerifyAction checks that a current token of this server signs the value at the
// path. The token of a plan must belong to a live plan. It needs no caller and
// changes nothing. An error means that the check failed, never that it passed.
func (s *Service) VerifyAction(ctx context.Context, r ActionRequest) (ActionResult, error) {
	no := func(reason string) (ActionResult, error) { return ActionResult{Reason: reason}, nil }
	token, key, err := plan.VerifyToken(innerToken(r.Token))
	if err != nil {
		return no("the token's signature is not valid")
	}
	ours, err := s.isOurs(ctx, token, key)
	if err != nil {
		return ActionResult{}, err
	}
	if !ours {
		return no("the token is not signed by this server")
	}
	now := s.db.Now()
	if now.Unix() >= token.ExpiresAt || token.IssuedAt > now.Add(time.Minute).Unix() {
		return no("the token is not current")
	}
	if live, err := s.isLive(ctx, token, now); err != nil || !live {
		return ActionResult{Reason: "the plan has ended"}, err
	}
	value, err := canonical.Transform(r.Value)
	if err != nil {
		return no("the value is not JSON that everyone reads alike")
	}
	leaf, ok := plan.ActionLeaf(r.Path, value)
	if !ok {
		return no("the path is not of a step: /steps/[0]/action")
	}
	proof, ok := plan.ParseProof(r.Proof)
	if !ok || !plan.CheckProof(token.PlanHash, leaf, proof) {
		return no("the proof does not connect this value to what the token signs")
	}
	hash := leaf.Hash()
	return ActionResult{
		Allowed:    true,
		Reason:     "the value is part of what was signed",
		NodeHash:   hex.EncodeToString(hash[:]),
		Path:       leaf.Path,
		MerkleRoot: token.PlanHash,
	}, nil
}

// innerToken returns the signed token, also from the object it was issued in.
func innerToken(raw []byte) []byte {
	var holder struct {
		Token jsontext.Value `json:"token"`
	}
	if json.Unmarshal(raw, &holder) == nil && holder.Token.Kind() == jsontext.KindBeginObject {
		return holder.Token
	}
	return raw
}

// isOurs reports whether the key in a token is one of ours, for the purpose that
// the token's version has.
func (s *Service) isOurs(ctx context.Context, token plan.Token, key ed25519.PublicKey) (bool, error) {
	purpose, ok := map[string]keyring.Purpose{plan.PlanVersion: PlanKey, plan.PolicyVersion: BindingKey}[token.Version]
	if !ok {
		return false, nil
	}
	all, err := s.keys.All(ctx, purpose)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(all, func(known keyring.Key) bool { return known.Public.Equal(key) }), nil
}

// isLive reports whether the plan of a token is live. A policy binding has no plan.
func (s *Service) isLive(ctx context.Context, token plan.Token, now time.Time) (bool, error) {
	if token.Version == plan.PolicyVersion {
		return true, nil
	}
	p := plan.Presented{PlanHash: token.PlanHash, Signature: token.Signature}
	d, err := s.FindByToken(ctx, p)
	if err != nil || d == nil {
		return false, err
	}
	if !plan.CheckPresented(d, p, d.Binding, now).OK {
		return false, nil
	}
	ended, err := s.hasEnded(ctx, s.db, d)
	return err == nil && !ended, err
}
