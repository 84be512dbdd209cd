package api

import (
	"context"
	"encoding/hex"
	"net/http"

	"writ/internal/principal"
)

// mountPlanKeys publishes what tokens are verified with, to whoever was handed one.
// These are not in the set of access tokens' keys: a verifier that looks at no more
// than the signature must not take a plan for a person.
func (a *API) mountPlanKeys() {
	handle(a, Route{
		Method:  http.MethodGet,
		Path:    "/iap/keys",
		Tag:     iapTag,
		Summary: "Keys that verify plan tokens, their JWTs and policy bindings, old ones too",
		Mode:    Public,
	}, a.listPlanKeys)
}

// PlanKeyBody is a public key.
type PlanKeyBody struct {
	ID        string `json:"id" format:"uuid" doc:"The kid of a JWT."`
	Purpose   string `json:"purpose" enum:"plan,plan-jwt,policy-binding" doc:"What it signs, and nothing else."`
	Algorithm string `json:"algorithm" enum:"Ed25519"`
	PublicKey string `json:"publicKey" doc:"Hex, as public_key in a token."`
	Current   bool   `json:"current" doc:"False: it was rotated, and still verifies what it signed."`
}

type planKeysOutput struct {
	Body struct {
		Keys []PlanKeyBody `json:"keys" nullable:"false" doc:"By purpose, the newest first."`
	}
}

func (a *API) listPlanKeys(ctx context.Context, _ principal.Principal, _ *none) (*planKeysOutput, error) {
	keys, err := a.Intent.PublicKeys(ctx)
	if err != nil {
		return nil, err
	}
	out := &planKeysOutput{}
	out.Body.Keys = make([]PlanKeyBody, len(keys))
	for i, key := range keys {
		out.Body.Keys[i] = PlanKeyBody{
			ID:        key.ID,
			Purpose:   string(key.Purpose),
			Algorithm: "Ed25519",
			PublicKey: hex.EncodeToString(key.Public),
			Current:   key.Current,
		}
	}
	return out, nil
}
