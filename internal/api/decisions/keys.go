package decisions

import (
	"context"
	"encoding/hex"

	"writ/internal/api/route"
	"writ/internal/principal"
)

// mountPlanKeys publishes what tokens are verified with, to whoever was handed one.
// These are not in the set of access tokens' keys: a verifier that looks at no more
// than the signature must not take a plan for a person.
func (h *Handlers) mountPlanKeys(r *route.Router) {
	route.Handle(r,
		route.Get("/iap/keys", "Keys that verify plan tokens, their JWTs, leases, policy bindings and delegations, old ones too").
			For(route.Public), h.listPlanKeys)
}

// PlanKeyBody is a public key.
type PlanKeyBody struct {
	ID        string `json:"id" format:"uuid" doc:"The kid of a JWT."`
	Purpose   string `json:"purpose" enum:"plan,plan-jwt,policy-binding,trust" doc:"What it signs, and nothing else; plan-jwt signs leases too, which have another type; trust signs the keys with which organizations sign delegations."`
	Algorithm string `json:"algorithm" enum:"Ed25519"`
	PublicKey string `json:"publicKey" doc:"Hex, as public_key in a token."`
	Current   bool   `json:"current" doc:"False: it was rotated, and still verifies what it signed."`
}

// PlanKeysBody are the keys that verify plans and bindings.
type PlanKeysBody struct {
	Keys []PlanKeyBody `json:"keys" nullable:"false" doc:"By purpose, the newest first."`
}

func (h *Handlers) listPlanKeys(ctx context.Context, _ principal.Principal, _ *route.None) (PlanKeysBody, error) {
	keys, err := h.Intent.PublicKeys(ctx)
	bodies := make([]PlanKeyBody, len(keys))
	for i, key := range keys {
		bodies[i] = PlanKeyBody{
			ID:        key.ID,
			Purpose:   string(key.Purpose),
			Algorithm: "Ed25519",
			PublicKey: hex.EncodeToString(key.Public),
			Current:   key.Current,
		}
	}
	return PlanKeysBody{bodies}, err
}
