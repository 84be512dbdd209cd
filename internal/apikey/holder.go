package apikey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/principal"
)

// Holder is the caller behind a key that somebody else vouches for: the token of
// a plan names the key that declared it, and some clients send nothing else. The
// key must still be good, for a token does not outlive the key it was issued to.
func (s *Service) Holder(ctx context.Context, keyID string) (principal.Principal, error) {
	if !database.IsID(keyID) {
		return principal.Principal{}, notValid()
	}
	return holder(ctx, s.db, keyID, s.db.Now())
}

// stillHolds refuses a calling key that has ended since it was presented: what it
// makes must not outlive it, and would not be among the keys that ended with it.
func stillHolds(ctx context.Context, tx *database.Tx, p principal.Principal) error {
	if p.Kind != principal.Key {
		return nil
	}
	_, err := holder(ctx, tx, p.KeyID, tx.Now())
	return err
}

func holder(ctx context.Context, r database.Reader, keyID string, now time.Time) (principal.Principal, error) {
	key, err := scanPresented(r.QueryRow(ctx, `
		SELECT `+withStanding+`
		WHERE k.id = $1`, keyID))
	if errors.Is(err, sql.ErrNoRows) {
		return principal.Principal{}, notValid()
	}
	if err != nil {
		return principal.Principal{}, fmt.Errorf("look up API key %s: %w", keyID, err)
	}
	if key.status(now) != "active" {
		return principal.Principal{}, notValid()
	}
	return key.caller(), nil
}
