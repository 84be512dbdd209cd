package apikey

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/principal"
)

// Terminals' keys stand for a person who signed in. Where the sign-in counts no
// more, neither do they; the keys of agents are the organization's, and go on. The
// changes below run within another area's, which declares the organization's log
// and calls Forget when it is over.

// ofTerminals selects the live ones of an organization, with the role of who has
// them.
const ofTerminals = `
	SELECT ` + columns + `
	FROM api_key k
	LEFT JOIN organization_member m ON m.org_id = k.org_id AND m.user_id = k.owner_id
	WHERE k.org_id = $1 AND k.revoked_at IS NULL AND ' ' || k.scopes || ' ' LIKE '% cli %'`

// EndVouched revokes the terminals' keys of people, or of one person, whom the
// organization's identity provider had vouched for when they were made.
func (s *Service) EndVouched(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID string,
) error {
	return s.end(ctx, tx, actor,
		ofTerminals+` AND k.limited = 1 AND ($2 = '' OR k.owner_id = $2) ORDER BY k.created_at, k.id`, orgID, userID)
}

// EndUnvouched revokes those of everyone else who is no owner: the organization
// wants them to sign in with its identity provider.
func (s *Service) EndUnvouched(ctx context.Context, tx *database.Tx, actor principal.Principal, orgID string) error {
	return s.end(ctx, tx, actor,
		ofTerminals+` AND k.limited = 0 AND COALESCE(m.role, '') <> $2 ORDER BY k.created_at, k.id`, orgID,
		string(principal.Owner))
}

// Forget has every key be looked up again that is presented from now on.
func (s *Service) Forget() { s.cache.empty() }

func (s *Service) end(
	ctx context.Context, tx *database.Tx, actor principal.Principal, query string, args ...any,
) error {
	keys, err := database.Collect(ctx, tx, func(s database.Scanner) (Key, error) { return scanKey(s) }, query, args...)
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
