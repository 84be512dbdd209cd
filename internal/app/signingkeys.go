package app

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/intent"
	"writ/internal/keyring"
	"writ/internal/principal"
)

// SigningPurposes are what this server signs, each with keys of its own.
func SigningPurposes() []keyring.Purpose {
	return append(rotatedTogether(), keyring.Checkpoint)
}

// rotatedTogether are those whose keys nobody keeps: what they sign names its key,
// and who verifies it asks the server for all keys there ever were.
func rotatedTogether() []keyring.Purpose {
	return []keyring.Purpose{keyring.AccessToken, intent.PlanKey, intent.JWTKey, intent.BindingKey}
}

// RotatedKey is a key that signs from now on.
type RotatedKey struct {
	ID      string          `json:"id"`
	Purpose keyring.Purpose `json:"purpose"`
}

// RotateKeys gives the purposes new keys; what the old ones signed still verifies.
// Without any it is all but that of checkpoints: verifiers have pinned that one, to
// find out a server that changes it, and must be told before.
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
