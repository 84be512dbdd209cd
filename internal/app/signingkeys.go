package app

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/intent"
	"writ/internal/keyring"
	"writ/internal/principal"
)

// SigningPurposes are what this server signs, each with its own keys.
func SigningPurposes() []keyring.Purpose {
	return append(rotatedTogether(), keyring.Checkpoint)
}

// rotatedTogether are those whose keys nobody pins: verifiers ask the server for all keys.
func rotatedTogether() []keyring.Purpose {
	return []keyring.Purpose{keyring.AccessToken, intent.PlanKey, intent.JWTKey, intent.BindingKey}
}

// RotatedKey is a key that signs from now on.
type RotatedKey struct {
	ID      string          `json:"id"`
	Purpose keyring.Purpose `json:"purpose"`
}

// RotateKeys makes new keys for the purposes; what the old ones signed still verifies.
// Without purposes it rotates all keys but that of checkpoints: verifiers pin that one, and
// must hear of the new one before.
func (a *Areas) RotateKeys(ctx context.Context, purposes []keyring.Purpose) (rotated []RotatedKey, err error) {
	if len(purposes) == 0 {
		purposes = rotatedTogether()
	}
	for _, purpose := range purposes {
		if !slices.Contains(SigningPurposes(), purpose) {
			return nil, fmt.Errorf("nothing is signed for %q: name any of %v", purpose, SigningPurposes())
		}
	}
	for _, purpose := range purposes {
		key, err := a.Keyring.Rotate(ctx, principal.Operator(), purpose)
		if err != nil {
			return rotated, err
		}
		rotated = append(rotated, RotatedKey{key.ID, key.Purpose})
	}
	return rotated, nil
}
