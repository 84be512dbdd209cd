package apikey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// OwnerOf is the person a key of an organization belongs to, whatever became of
// the key; empty for one that is not there.
func (s *Service) OwnerOf(ctx context.Context, orgID, id string) (ownerID string, err error) {
	err = s.db.QueryRow(ctx, `SELECT owner_id FROM api_key WHERE org_id = $1 AND id = $2`, orgID, id).Scan(&ownerID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read the owner of API key %s: %w", id, err)
	}
	return ownerID, nil
}
