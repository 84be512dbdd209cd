package app

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/intent"
	"writ/internal/keyring"
	"writ/internal/principal"
)

// SigningPurposes are the purposes of this server's signing keys.
func SigningPurposes() []keyring.Purpose {
	return append(rotatedTogether(), keyring.Checkpoint)
}

// rotatedTogether are the purposes whose keys nobody pins: verifiers fetch all keys.
func rotatedTogether() []keyring.Purpose {
	return []keyring.Purpose{keyring.AccessToken, intent.PlanKey, intent.JWTKey, intent.BindingKey, intent.TrustKey}
}

// RotatedKey is a key that signs from now on.
type RotatedKey struct {
	ID      string          `json:"id"`
	Purpose keyring.Purpose `json:"purpose"`
}

// RotateKeys makes new keys for the purposes; what the old ones signed still verifies.
// Without purposes it rotates all keys except that of checkpoints, which verifiers pin
// and must get before it signs.
func (a *Areas) RotateKeys(ctx context.Context, purposes []keyring.Purpose) (rotated []RotatedKey, err error) {
	if len(purposes) == 0 {
		purposes = rotatedTogether()
	}
	for _, purpose := range purposes {
		if !slices.Contains(SigningPurposes(), purpose) {
			return nil, fmt.Errorf("there is no signing key for %q: name any of %v", purpose, SigningPurposes())
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
