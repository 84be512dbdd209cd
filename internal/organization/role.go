package organization

import (
	"context"

	"writ/internal/database"
	"writ/internal/principal"
)

// RoleIn is RoleOf within a change, for who must know that it still holds when
// the change is made.
func RoleIn(ctx context.Context, tx *database.Tx, orgID, userID string) (principal.Role, error) {
	return findRole(ctx, tx, orgID, userID)
}
