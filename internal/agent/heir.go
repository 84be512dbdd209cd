package agent

import (
	"context"
	"errors"

	"writ/internal/database"
	"writ/internal/principal"
)

// HandOver gives the agents of a member who leaves for good to another member, within that change.
func (s *Service) HandOver(
	ctx context.Context, tx *database.Tx, by principal.Principal, orgID, fromID, toID string,
) error {
	ids, err := ownedBy(ctx, tx, orgID, fromID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a, err := find(ctx, tx, orgID, id)
		if err != nil {
			return err
		}
		a.OwnerID = toID
		if err := errors.Join(update(ctx, tx, orgID, a), s.record(ctx, tx, by, orgID, updated, a)); err != nil {
			return err
		}
	}
	return nil
}
