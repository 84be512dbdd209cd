package intent

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"sync"

	"writ/internal/database"
)

// digestKeys caches digest keys, which never change.
type digestKeys struct{ byOrg sync.Map }

// Digester makes the digests of one organization.
type Digester struct{ key []byte }

// Arguments is the digest of a call's arguments, given in canonical JSON and
// not redacted. Without the key nobody can guess the arguments from the digest.
func (d Digester) Arguments(canonical string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, d.key)
	mac.Write([]byte(canonical))
	return [sha256.Size]byte(mac.Sum(nil))
}

// Digest is the digest of arguments in canonical JSON, under the organization's key.
func (s *Service) Digest(ctx context.Context, orgID, canonical string) ([]byte, error) {
	digester, err := s.Digester(ctx, orgID)
	if err != nil {
		return nil, err
	}
	sum := digester.Arguments(canonical)
	return sum[:], nil
}

// Digester returns the digester of an organization. The first use makes its key.
func (s *Service) Digester(ctx context.Context, orgID string) (Digester, error) {
	if known, ok := s.digests.byOrg.Load(orgID); ok {
		return known.(Digester), nil
	}
	d, err := s.readDigester(ctx, s.db, orgID)
	if errors.Is(err, sql.ErrNoRows) {
		d, err = s.makeDigester(ctx, orgID)
	}
	if err == nil {
		s.digests.byOrg.Store(orgID, d)
	}
	return d, database.Wrap(err, "digest key of organization %s", orgID)
}

func (s *Service) readDigester(ctx context.Context, r database.Reader, orgID string) (Digester, error) {
	var sealed []byte
	if err := r.QueryRow(ctx, `SELECT sealed FROM digest_key WHERE org_id = $1`, orgID).Scan(&sealed); err != nil {
		return Digester{}, err
	}
	key, err := s.sealer.Open(digestContext(orgID), sealed)
	return Digester{key}, err
}

// makeDigester stores a new key, or reads the one that another replica stored first.
func (s *Service) makeDigester(ctx context.Context, orgID string) (d Digester, err error) {
	key := make([]byte, sha256.Size)
	rand.Read(key)
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO digest_key (org_id, sealed, created_at)
			VALUES ($1, $2, $3)
			ON CONFLICT (org_id) DO NOTHING`, orgID, s.sealer.Seal(digestContext(orgID), key),
			database.Micros(tx.Now()))
		if err != nil {
			return err
		}
		d, err = s.readDigester(ctx, tx, orgID)
		return err
	}})
	return d, err
}

func digestContext(orgID string) string { return "digest-key/" + orgID }
