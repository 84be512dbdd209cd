package organization

import (
	"context"

	"writ/internal/database"
	"writ/internal/principal"
)

// RoleFrom is RoleOf with whatever can be read from, a change included.
func RoleFrom(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error) {
	return findRole(ctx, r, orgID, userID)
}

// Join makes a person a member within a change of the caller's, who declared the
// organization's log and has found that the organization's identity provider
// vouches for the person.
func (s *Service) Join(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID string, role principal.Role,
) error {
	return s.join(ctx, tx, actor, orgID, userID, role)
}
