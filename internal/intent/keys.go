package intent

import (
	"context"
	"crypto/ed25519"

	"writ/internal/keyring"
)

// PublicKey is a key that signs tokens, or has signed them.
type PublicKey struct {
	ID      string
	Purpose keyring.Purpose
	Public  ed25519.PublicKey
	Current bool // it signs new tokens; the others only verify
}

// PublicKeys lists all present and past keys of tokens, their JWTs, policy
// bindings and delegations, the newest of each first. A client that verifies a token offline
// compares the key in it with these.
func (s *Service) PublicKeys(ctx context.Context) ([]PublicKey, error) {
	keys := []PublicKey{}
	for _, purpose := range []keyring.Purpose{PlanKey, JWTKey, BindingKey, TrustKey} {
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

// SignLease has a lease signed with the key of plans' JWTs. Its type keeps the two apart.
func (s *Service) SignLease(
	ctx context.Context, sign func(keyID string, key ed25519.PrivateKey) (string, error),
) (string, error) {
	key, err := s.keys.Current(ctx, JWTKey)
	if err != nil {
		return "", err
	}
	return sign(key.ID, key.Private)
}

// LeaseKey is the public key with an id that signs leases, or has signed them.
func (s *Service) LeaseKey(ctx context.Context, id string) (ed25519.PublicKey, error) {
	key, err := s.keys.Find(ctx, JWTKey, id)
	return key.Public, err
}
