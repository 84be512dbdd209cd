package keyring

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/secret"
)

const selectKey = `
	SELECT id, purpose, public, sealed, retired_at
	FROM signing_key
	`

// scan reads a key and opens its seal. A wrong master key fails here.
func (r *Ring) scan(row database.Scanner) (Key, error) {
	var key Key
	var sealed []byte
	var retired sql.NullInt64
	if err := row.Scan(&key.ID, &key.Purpose, &key.Public, &sealed, &retired); err != nil {
		return Key{}, err
	}
	if err := key.open(r.sealer, sealed); err != nil {
		return Key{}, err
	}
	if retired.Valid {
		key.RetiredAt = database.Time(retired.Int64)
	}
	return key, nil
}

// open opens the seal of a key.
func (k *Key) open(sealer *secret.Sealer, sealed []byte) error {
	seed, err := sealer.Open(sealContext(*k), sealed)
	if err != nil {
		return fmt.Errorf("signing key %s: %w", k.ID, err)
	}
	if len(seed) != ed25519.SeedSize {
		return fmt.Errorf("signing key %s: it has the wrong length", k.ID)
	}
	k.Private = ed25519.NewKeyFromSeed(seed)
	if !k.Public.Equal(k.Private.Public()) {
		return fmt.Errorf("signing key %s: its public half was altered", k.ID)
	}
	return nil
}

// sealContext ties a sealed key to its row and purpose.
func sealContext(key Key) string { return "signing-key/" + string(key.Purpose) + "/" + key.ID }

func (r *Ring) readCurrent(ctx context.Context, q database.Reader, purpose Purpose) (Key, error) {
	return r.scan(q.QueryRow(ctx, selectKey+`WHERE purpose = $1 AND retired_at IS NULL`, purpose))
}

func (r *Ring) readByID(ctx context.Context, id string) (Key, error) {
	key, err := r.scan(r.db.QueryRow(ctx, selectKey+`WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Key{}, fault.New(fault.NotFound, "no such key")
	}
	return key, err
}

// store retires the current key of the purpose, if any, and inserts the new one.
func (r *Ring) store(ctx context.Context, tx *database.Tx, key Key) error {
	now := database.Micros(tx.Now())
	if _, err := tx.Exec(ctx, `UPDATE signing_key SET retired_at = $2 WHERE purpose = $1 AND retired_at IS NULL`,
		key.Purpose, now); err != nil {
		return fmt.Errorf("retire the current key: %w", err)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO signing_key (id, purpose, public, sealed, created_at)
		VALUES ($1, $2, $3, $4, $5)`,
		key.ID, key.Purpose, []byte(key.Public), r.sealer.Seal(sealContext(key), key.Private.Seed()), now)
	if err != nil {
		return fmt.Errorf("store the key: %w", err)
	}
	return nil
}
