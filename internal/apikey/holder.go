package apikey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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
	key, err := scanPresented(s.db.QueryRow(ctx, `
		SELECT `+withStanding+`
		WHERE k.id = $1`, keyID))
	if errors.Is(err, sql.ErrNoRows) {
		return principal.Principal{}, notValid()
	}
	if err != nil {
		return principal.Principal{}, fmt.Errorf("look up API key %s: %w", keyID, err)
	}
	if key.standing(s.db.Now()) != "active" {
		return principal.Principal{}, notValid()
	}
	return key.caller(), nil
}
