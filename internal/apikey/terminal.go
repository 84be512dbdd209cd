package apikey

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/principal"
)

// A terminal's key stands for a person's sign-in and ends with it, and so does that of a consent. The keys of agents
// belong to the organization and keep working. The functions below run within a
// change of another area, which declares the organization's log and calls Forget
// afterwards.

// ofTerminals selects the live keys of terminals and consents of an organization, with the roles of
// their owners.
const ofTerminals = `
	SELECT ` + columns + `
	FROM api_key k
	LEFT JOIN organization_member m ON m.org_id = k.org_id AND m.user_id = k.owner_id
	WHERE k.org_id = $1 AND k.revoked_at IS NULL
		AND (k.hidden = 1 OR ' ' || k.scopes || ' ' LIKE '% cli %')`

// EndVouched revokes the terminals' keys of everyone, or of one person, whom the
// organization's identity provider vouched for when the key was made.
func (s *Service) EndVouched(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID string,
) error {
	return s.end(ctx, tx, actor,
		ofTerminals+` AND k.limited = 1 AND ($2 = '' OR k.owner_id = $2) ORDER BY k.created_at, k.id`, orgID, userID)
}

// EndUnvouched revokes the terminals' keys of everyone else but owners: the
// organization requires them to sign in with its identity provider.
func (s *Service) EndUnvouched(ctx context.Context, tx *database.Tx, actor principal.Principal, orgID string) error {
	return s.end(ctx, tx, actor,
		ofTerminals+` AND k.limited = 0 AND COALESCE(m.role, '') <> $2 ORDER BY k.created_at, k.id`, orgID,
		string(principal.Owner))
}

// Forget empties the cache, so that every key is looked up again.
func (s *Service) Forget() { s.cache.empty() }

func (s *Service) end(
	ctx context.Context, tx *database.Tx, actor principal.Principal, query string, args ...any,
) error {
	keys, err := database.Collect(ctx, tx, scanKey, query, args...)
	if err != nil {
		return fmt.Errorf("find the keys of terminals: %w", err)
	}
	for _, k := range keys {
		if _, err := markRevoked(ctx, tx, k.ID); err != nil {
			return err
		}
		if err := s.record(ctx, tx, actor, revoked, k, nil); err != nil {
			return err
		}
	}
	return nil
}
