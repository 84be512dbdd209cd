package organization

import (
	"context"

	"writ/internal/database"
	"writ/internal/email"
	"writ/internal/fault"
)

// Party is an organization and one of its members, as a decision about a call
// sees them.
type Party struct {
	OrgName string
	Member  Member // zero: unknown
}

// PartyOf finds the member of an organization with an address, who must exist, or
// without an address the one with an id, who may have left. It checks no right: the
// edge has found that the caller acts in this organization.
func (s *Service) PartyOf(ctx context.Context, orgID, userID, address string) (Party, error) {
	var party Party
	err := s.db.QueryRow(ctx, `SELECT name FROM organization WHERE id = $1 AND closed_at IS NULL`,
		orgID).Scan(&party.OrgName)
	if err != nil {
		return Party{}, database.OrMissing(err, notMember(), "read organization %s", orgID)
	}
	if address == "" {
		party.Member, err = findMember(ctx, s.db, orgID, userID)
		if fault.Is(err, fault.NotFound) {
			return party, nil
		}
		return party, err
	}
	clean, err := email.Normalise(address)
	if err != nil {
		return party, noSuchMember()
	}
	party.Member, err = findMemberByEmail(ctx, s.db, orgID, clean)
	return party, err
}
