package organization

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"writ/internal/email"
	"writ/internal/fault"
)

// Party is an organization and one of its members, as a decision about a call
// sees them.
type Party struct {
	OrgName string
	Member  Member // zero: nobody is known
}

// PartyOf finds the member of an organization that an address names, or without
// an address the one of an id; that need not be a member any more, but the one of
// an address must. It asks nobody's leave: the edge has found that the caller acts
// in this organization.
func (s *Service) PartyOf(ctx context.Context, orgID, userID, address string) (Party, error) {
	var party Party
	err := s.db.QueryRow(ctx, `SELECT name FROM organization WHERE id = $1 AND closed_at IS NULL`,
		orgID).Scan(&party.OrgName)
	if errors.Is(err, sql.ErrNoRows) {
		return Party{}, notMember()
	}
	if err != nil {
		return Party{}, fmt.Errorf("read organization %s: %w", orgID, err)
	}
	if address == "" {
		party.Member, err = findMember(ctx, s.db, orgID, userID)
		if fault.Is(err, fault.NotFound) {
			return party, nil
		}
		return party, err
	}
	party.Member, err = s.memberByEmail(ctx, orgID, address)
	return party, err
}

func (s *Service) memberByEmail(ctx context.Context, orgID, address string) (Member, error) {
	missing := fault.New(fault.NotFound, "there is no such member in this organization")
	clean, err := email.Normalise(address)
	if err != nil {
		return Member{}, missing // nobody has an address that is none
	}
	m, err := scanMember(s.db.QueryRow(ctx, `
		SELECT m.user_id, u.email, u.name, m.role, m.joined_at
		FROM organization_member m
		JOIN user_account u ON u.id = m.user_id
		WHERE m.org_id = $1 AND u.email = $2`, orgID, clean))
	if errors.Is(err, sql.ErrNoRows) {
		return Member{}, missing
	}
	if err != nil {
		return Member{}, fmt.Errorf("look for a member of %s by e-mail: %w", orgID, err)
	}
	return m, nil
}
