package organization

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// RequiresSecondFactor reports whether members act in the organization only after they proved a second factor.
func (s *Service) RequiresSecondFactor(ctx context.Context, orgID string) (required bool, err error) {
	err = s.db.Prepared().QueryRow(ctx, `SELECT require_second_factor FROM organization WHERE id = $1`, orgID).
		Scan(database.ToBool(&required))
	return required, database.OrMissing(err, nil, "read what organization %s wants of sign-ins", orgID)
}

// RequireSecondFactor sets that. Whoever requires it must have proved their own, so that they do not lock themselves
// out.
func (s *Service) RequireSecondFactor(ctx context.Context, p principal.Principal, required bool) (Membership, error) {
	if required && p.Kind == principal.User && p.SecondFactor.ProvedAt.IsZero() {
		return Membership{}, fault.New(fault.Conflict, "add a second factor to your own account first")
	}
	var changed Membership
	err := s.change(ctx, p, principal.UpdateOrganization, func(
		ctx context.Context, tx *database.Tx, p principal.Principal,
	) error {
		m, err := findMembership(ctx, tx, p.OrgID, p.Role)
		changed = m
		changed.RequireSecondFactor = required
		if err != nil || m.RequireSecondFactor == required {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE organization SET require_second_factor = $2, updated_at = $3 WHERE id = $1`,
			p.OrgID, database.Bit(required), database.Micros(tx.Now())); err != nil {
			return database.Wrap(err, "change organization %s", p.OrgID)
		}
		return s.record(ctx, tx, p, p.OrgID, "organization.second_factor_changed", about("organization", p.OrgID),
			map[string]any{"required": required})
	})
	return changed, err
}
