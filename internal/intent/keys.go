package intent

import (
	"context"
	"crypto/ed25519"

	"writ/internal/keyring"
)

// PublicKey is a key that signs, or has signed, what clients hold.
type PublicKey struct {
	ID      string
	Purpose keyring.Purpose
	Public  ed25519.PublicKey
	Current bool // it signs now; the others still verify
}

// PublicKeys are all keys there ever were of tokens, their JWTs and policy
// bindings, the newest of each first. Who verifies a token elsewhere finds here
// whether the key inside it is one of this server's.
func (s *Service) PublicKeys(ctx context.Context) ([]PublicKey, error) {
	keys := []PublicKey{}
	for _, purpose := range []keyring.Purpose{PlanKey, JWTKey, BindingKey} {
		all, err := s.keys.All(ctx, purpose)
		if err != nil {
			return nil, err
		}
		for _, key := range all {
			keys = append(keys, PublicKey{
				ID: key.ID, Purpose: key.Purpose, Public: key.Public, Current: !key.Retired(),
			})
		}
	}
	return keys, nil
}
