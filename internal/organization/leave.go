package organization

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// IDsOf are the organizations of a person, open and closed, sorted.
func IDsOf(ctx context.Context, r database.Reader, userID string) ([]string, error) {
	ids, err := database.Collect(ctx, r, database.Column[string],
		`SELECT org_id FROM organization_member WHERE user_id = $1 ORDER BY org_id`, userID)
	return ids, database.Wrap(err, "list the organizations of %s", userID)
}

// OnlyOwnedBy are the names of the open organizations that have no other owner than this person, sorted.
func OnlyOwnedBy(ctx context.Context, r database.Reader, userID string) ([]string, error) {
	names, err := database.Collect(ctx, r, database.Column[string], `
		SELECT o.name
		FROM organization_member mine
		JOIN organization o ON o.id = mine.org_id AND o.closed_at IS NULL
		WHERE mine.user_id = $1 AND mine.role = $2 AND NOT EXISTS (
			SELECT 1 FROM organization_member m
			WHERE m.org_id = mine.org_id AND m.role = $2 AND m.user_id <> $1)
		ORDER BY o.name, o.id`, userID, string(principal.Owner))
	return names, database.Wrap(err, "list the organizations that only %s owns", userID)
}

// LeaveAll ends every membership of a person whose account ends, within that change, which declares the logs of IDsOf
// and has made sure that no organization is left without an owner.
func (s *Service) LeaveAll(ctx context.Context, tx *database.Tx, p principal.Principal) error {
	ids, err := IDsOf(ctx, tx, p.UserID)
	if err != nil {
		return err
	}
	for _, orgID := range ids {
		role, err := RoleOf(ctx, tx, orgID, p.UserID)
		if err != nil {
			return err
		}
		if err := deleteMember(ctx, tx, orgID, p.UserID); err != nil {
			return err
		}
		if err := s.record(ctx, tx, p, orgID, "member.removed", about("member", p.UserID),
			map[string]any{"role": string(role), "accountDeleted": true}); err != nil {
			return err
		}
	}
	return nil
}

// ForgetAddress replaces an address in the invitations that are over; the mailbox may still answer those that are open.
func ForgetAddress(ctx context.Context, tx *database.Tx, address, pseudonym string) error {
	_, err := tx.Exec(ctx, `
		UPDATE organization_invite
		SET email = $2
		WHERE email = $1 AND (accepted_at IS NOT NULL OR withdrawn_at IS NOT NULL)`, address, pseudonym)
	return database.Wrap(err, "forget the address of a person")
}

// CheckHeir refuses who cannot take over the keys of a member.
func CheckHeir(ctx context.Context, r database.Reader, orgID, userID, leaving string) error {
	if userID == leaving {
		return fault.Field("keysTo", "must name another member")
	}
	role, err := RoleIn(ctx, r, orgID, userID)
	if fault.Is(err, fault.Forbidden) || err == nil && !role.May(principal.OwnKeys) {
		return fault.Field("keysTo", "must name a member of the organization who may have keys")
	}
	return err
}
