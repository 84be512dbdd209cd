// Package keyring holds the server's own signing keys: one current Ed25519 key a purpose,
// made on first use, its private half sealed with the master key.
//
// A key of one purpose never signs for another. A retired key signs nothing, but still
// verifies what it signed. Replicas agree on one current key, because the database holds
// a single one a purpose.
package keyring

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Purpose is what a key signs.
type Purpose string

// The purposes.
const (
	AccessToken Purpose = "access-token" // the access tokens of people
	Checkpoint  Purpose = "checkpoint"   // the checkpoints of the audit logs
)

// currentTrust is how long a replica signs with a cached key before it checks whether
// another replica rotated it.
const currentTrust = time.Minute

// Key is a signing key.
type Key struct {
	ID      string
	Purpose Purpose
	Public  ed25519.PublicKey
	Private ed25519.PrivateKey
	// RetiredAt is when the key stopped signing; zero: it has not.
	RetiredAt time.Time
}

// Retired reports whether another key signs now.
func (k Key) Retired() bool { return !k.RetiredAt.IsZero() }

// SignedWithin reports whether something that the key signed, and that lives no longer
// than life, may still be valid: another replica signs with a retired key for up to
// currentTrust.
func (k Key) SignedWithin(life time.Duration, now time.Time) bool {
	return !k.Retired() || now.Before(k.RetiredAt.Add(life+currentTrust))
}

// Ring finds and makes keys.
type Ring struct {
	db     *database.DB
	log    *audit.Log
	sealer *secret.Sealer

	mu      sync.Mutex // guards the caches
	byID    map[string]cached
	current map[Purpose]cached
}

type cached struct {
	key Key
	at  time.Time
}

// New makes a ring over the database.
func New(db *database.DB, log *audit.Log, sealer *secret.Sealer) *Ring {
	return &Ring{
		db:      db,
		log:     log,
		sealer:  sealer,
		byID:    map[string]cached{},
		current: map[Purpose]cached{},
	}
}

// Check refuses a master key that does not open the stored keys.
func Check(ctx context.Context, db *database.DB, sealer *secret.Sealer) error {
	r := &Ring{db: db, sealer: sealer}
	_, err := r.scan(db.QueryRow(ctx, selectKey+`ORDER BY created_at DESC, id DESC LIMIT 1`))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return explained(err)
}

// explained says what a seal that does not open means.
func explained(err error) error {
	if errors.Is(err, secret.ErrSealBroken) {
		return fmt.Errorf("the master key is not the one this database was sealed with: %w", err)
	}
	return err
}

// Current is the key that signs for a purpose now. The first call makes it.
func (r *Ring) Current(ctx context.Context, purpose Purpose) (Key, error) {
	if key, ok := r.cachedCurrent(purpose); ok {
		return key, nil
	}
	key, err := r.readCurrent(ctx, r.db, purpose)
	if errors.Is(err, sql.ErrNoRows) {
		key, err = r.replace(ctx, principal.Operator(), purpose, false)
	}
	if err != nil {
		return Key{}, fmt.Errorf("signing key for %s: %w", purpose, err)
	}
	r.cache(key)
	return key, nil
}

// Find is the key with this id, current or retired. An id that is unknown, or of another
// purpose, is NotFound.
func (r *Ring) Find(ctx context.Context, purpose Purpose, id string) (Key, error) {
	key, ok := r.cachedByID(id)
	if !ok {
		if !database.IsID(id) {
			return Key{}, fault.New(fault.NotFound, "no such key")
		}
		var err error
		if key, err = r.readByID(ctx, id); err != nil {
			return Key{}, err
		}
		r.cache(key)
	}
	if key.Purpose != purpose {
		return Key{}, fault.New(fault.NotFound, "no such key")
	}
	return key, nil
}

// All lists every key of a purpose, newest first, for verifiers.
func (r *Ring) All(ctx context.Context, purpose Purpose) ([]Key, error) {
	keys, err := database.Collect(ctx, r.db, r.scan, selectKey+`WHERE purpose = $1 ORDER BY created_at DESC, id DESC`,
		purpose)
	if err != nil {
		return nil, fmt.Errorf("list signing keys for %s: %w", purpose, err)
	}
	return keys, nil
}

// Privates are every key of a purpose, current and retired, each of which the master key opened.
func Privates(
	ctx context.Context, q database.Reader, sealer *secret.Sealer, purpose Purpose,
) ([]ed25519.PrivateKey, error) {
	r := &Ring{sealer: sealer}
	keys, err := database.Collect(ctx, q, r.scan, selectKey+`WHERE purpose = $1 ORDER BY created_at, id`, purpose)
	if err != nil {
		return nil, fmt.Errorf("list signing keys for %s: %w", purpose, err)
	}
	privates := make([]ed25519.PrivateKey, len(keys))
	for i, key := range keys {
		privates[i] = key.Private
	}
	return privates, nil
}

// Rotate retires the current key of a purpose and makes a new one.
func (r *Ring) Rotate(ctx context.Context, actor principal.Principal, purpose Purpose) (Key, error) {
	key, err := r.replace(ctx, actor, purpose, true)
	if err != nil {
		return Key{}, fmt.Errorf("rotate the signing key for %s: %w", purpose, err)
	}
	r.cache(key)
	return key, nil
}

func (r *Ring) cachedCurrent(purpose Purpose) (Key, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.current[purpose]
	return known.key, ok && r.db.Now().Sub(known.at) < currentTrust
}

// cachedByID is a cached key. A current one is read again from time to time: another
// replica may have retired it.
func (r *Ring) cachedByID(id string) (Key, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.byID[id]
	return known.key, ok && (known.key.Retired() || r.db.Now().Sub(known.at) < currentTrust)
}

func (r *Ring) cache(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.db.Now()
	r.byID[key.ID] = cached{key, now}
	if !key.Retired() {
		r.current[key.Purpose] = cached{key, now}
	}
}

// replace makes a new current key. Without force it takes a key that another replica made
// meanwhile.
func (r *Ring) replace(
	ctx context.Context, actor principal.Principal, purpose Purpose, force bool,
) (key Key, err error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return Key{}, fmt.Errorf("generate: %w", err)
	}
	err = r.db.Write(ctx, database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		existing, err := r.readCurrent(ctx, tx, purpose)
		if err == nil && !force {
			key = existing
			return nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		key = Key{ID: database.NewID(), Purpose: purpose, Public: public, Private: private}
		if err := r.store(ctx, tx, key); err != nil {
			return err
		}
		if purpose == Checkpoint {
			if err := r.log.SignFirst(tx, private); err != nil {
				return err
			}
		}
		_, err = r.log.Append(ctx, tx, audit.Entry{
			Log: audit.System, Action: "signing_key.created", Actor: actor,
			Subject: audit.Subject{Type: "signing_key", ID: key.ID},
			Payload: map[string]any{"purpose": purpose, "public": fmt.Sprintf("%x", public), "replaces": existing.ID},
		})
		return err
	}})
	return key, err
}
