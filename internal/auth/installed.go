package auth

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Installed is an account as whoever runs the server sees it.
type Installed struct {
	User
	SecondFactor bool
}

// Installed lists all accounts, the oldest first, without those that were deleted. Only the operator may use it.
func (s *Service) Installed(ctx context.Context, p principal.Principal) ([]Installed, error) {
	if p.Kind != principal.System {
		return nil, fault.New(fault.Forbidden, "only the operator can list all accounts")
	}
	list, err := database.Collect(ctx, s.db, func(s database.Scanner) (i Installed, err error) {
		err = s.Scan(&i.ID, &i.Email, &i.Name, database.ToTime(&i.CreatedAt), database.ToOptionalTime(&i.VerifiedAt),
			database.ToBool(&i.SecondFactor))
		return i, err
	}, `
		SELECT u.id, u.email, u.name, u.created_at, u.verified_at,
			(SELECT COUNT(*) FROM second_factor f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL)
		FROM user_account u
		WHERE u.deleted_at IS NULL
		ORDER BY u.created_at, u.id`)
	return list, database.Wrap(err, "list the accounts")
}
