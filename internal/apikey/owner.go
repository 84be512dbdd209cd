package apikey

import (
	"context"
	"slices"

	"writ/internal/database"
	"writ/internal/principal"
)

const handedOver action = "key.handed_over"

// OrganizationsOf are the organizations in which a person has keys that are not revoked, sorted; empty for keys that
// are bound to none.
func OrganizationsOf(ctx context.Context, r database.Reader, ownerID string) ([]string, error) {
	ids, err := database.Collect(ctx, r, database.Column[string], `
		SELECT DISTINCT COALESCE(org_id, '')
		FROM api_key
		WHERE owner_id = $1 AND revoked_at IS NULL
		ORDER BY 1`, ownerID)
	return ids, database.Wrap(err, "list the organizations of the keys of %s", ownerID)
}

// EndOf revokes the keys of a person whose account ends, within that change, which declares the logs of OrganizationsOf
// and calls Forget afterwards. Keys of agents go on with a new owner where heirs, by organization, names one; those of
// terminals and consents stand for the person and end.
func (s *Service) EndOf(
	ctx context.Context, tx *database.Tx, by principal.Principal, ownerID string, heirs map[string]string,
) error {
	keys, err := database.Collect(ctx, tx, scanKey, `SELECT `+columns+`
		FROM api_key k
		WHERE k.owner_id = $1 AND k.revoked_at IS NULL
		ORDER BY k.created_at, k.id`, ownerID)
	if err != nil {
		return database.Wrap(err, "list the keys of %s", ownerID)
	}
	for _, k := range keys {
		heir := heirs[k.OrgID]
		if heir != "" && k.OrgID != "" && !k.Hidden && !slices.Contains(k.Scopes, principal.CLI) {
			err = s.handOver(ctx, tx, by, k, heir)
		} else if _, err = markRevoked(ctx, tx, k.ID); err == nil {
			err = s.record(ctx, tx, by, revoked, k, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) handOver(
	ctx context.Context, tx *database.Tx, by principal.Principal, k Key, heir string,
) error {
	if _, err := tx.Exec(ctx, `UPDATE api_key SET owner_id = $2 WHERE id = $1`, k.ID, heir); err != nil {
		return database.Wrap(err, "hand over API key %s", k.ID)
	}
	k.OwnerID = heir
	return s.record(ctx, tx, by, handedOver, k, nil)
}
