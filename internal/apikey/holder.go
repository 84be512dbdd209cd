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
	var p presentedKey
	var closed sql.NullInt64
	var member sql.NullString
	key, err := scanKey(s.db.QueryRow(ctx, `
		SELECT `+columns+`,
			o.closed_at,
			m.user_id
		FROM api_key k
		LEFT JOIN organization o ON o.id = k.org_id
		LEFT JOIN organization_member m ON m.org_id = k.org_id AND m.user_id = k.owner_id
		WHERE k.id = $1`, keyID), &closed, &member)
	if errors.Is(err, sql.ErrNoRows) {
		return principal.Principal{}, notValid()
	}
	if err != nil {
		return principal.Principal{}, fmt.Errorf("look up API key %s: %w", keyID, err)
	}
	p.Key, p.orgClosed, p.ownerIsGone = key, closed.Valid, key.OrgID != "" && !member.Valid
	if p.standing(s.db.Now()) != "active" {
		return principal.Principal{}, notValid()
	}
	return key.caller(), nil
}
