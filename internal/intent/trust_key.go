package intent

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/trust"
)

// trustKey signs the delegations of one organization.
type trustKey struct {
	id        string
	private   ed25519.PrivateKey
	statement string // that it is the organization's
}

// trustKeys caches the keys, which never change.
type trustKeys struct{ byOrg sync.Map }

// trustKey returns the key that signs an organization's delegations. The first use makes it, as it makes the key of
// digests. One that cannot be unsealed signs nothing, and everything else works.
func (s *Service) trustKey(ctx context.Context, orgID string) (trustKey, error) {
	if known, ok := s.trust.byOrg.Load(orgID); ok {
		return known.(trustKey), nil
	}
	k, err := s.readTrustKey(ctx, s.db, orgID)
	if errors.Is(err, sql.ErrNoRows) {
		k, err = s.makeTrustKey(ctx, orgID)
	}
	if err != nil {
		return trustKey{}, fault.Wrap(fmt.Errorf("trust key of organization %s: %w", orgID, err), fault.Unavailable,
			"the key that signs this organization's delegations cannot be used: the operator finds the cause in the log")
	}
	s.trust.byOrg.Store(orgID, k)
	return k, nil
}

func (s *Service) readTrustKey(ctx context.Context, r database.Reader, orgID string) (k trustKey, err error) {
	var sealed []byte
	err = r.QueryRow(ctx, `SELECT id, sealed, statement FROM trust_key WHERE org_id = $1`, orgID).Scan(&k.id, &sealed,
		&k.statement)
	if err != nil {
		return trustKey{}, err
	}
	seed, err := s.sealer.Open(trustContext(orgID), sealed)
	if err == nil && len(seed) != ed25519.SeedSize {
		err = errors.New("it has another length")
	}
	if err != nil {
		return trustKey{}, err
	}
	k.private = ed25519.NewKeyFromSeed(seed)
	return k, nil
}

// makeTrustKey stores a new key, or reads the one that another replica stored first.
func (s *Service) makeTrustKey(ctx context.Context, orgID string) (k trustKey, err error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return trustKey{}, err
	}
	signer, err := s.keys.Current(ctx, TrustKey)
	if err != nil {
		return trustKey{}, err
	}
	id := database.NewID()
	statement, err := trust.Key{
		OrgID: orgID, ID: id, Public: fmt.Sprintf("%x", []byte(public)), Issued: s.db.Now().Unix(),
	}.Sign(signer.ID, signer.Private)
	if err != nil {
		return trustKey{}, err
	}
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO trust_key (org_id, id, sealed, statement, created_at)
			VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (org_id) DO NOTHING`, orgID, id, s.sealer.Seal(trustContext(orgID), private.Seed()), statement,
			database.Micros(tx.Now()))
		if err != nil {
			return err
		}
		k, err = s.readTrustKey(ctx, tx, orgID)
		return err
	}})
	return k, err
}

func trustContext(orgID string) string { return "trust-key/" + orgID }
