package notification

import (
	"context"
	"slices"

	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/principal"
)

// NotifyProposal notifies the people who may confirm a proposed profile, within the
// change that makes the proposal.
func (s *Service) NotifyProposal(ctx context.Context, tx *database.Tx, people []Person, p notice.Proposal) error {
	return s.notify(ctx, tx, confirmers(p, people), p.Event(), "proposal/"+p.ID)
}

// SettleProposal settles the notifications of a proposal, within the change that
// confirms, withdraws or replaces it.
func (s *Service) SettleProposal(ctx context.Context, tx *database.Tx, orgID, proposalID string) error {
	return settle(ctx, tx, orgID, notice.ProfileProposed, proposalID)
}

// confirmers are the people to notify of a proposal: those who may confirm it. A
// person who made it in person knows of it, and is notified only if nobody else can
// confirm it. The owner of a key may not have seen what the key proposed.
func confirmers(p notice.Proposal, people []Person) []Person {
	may := allowed(people, principal.ManagePolicies)
	others := slices.DeleteFunc(slices.Clone(may), func(q Person) bool { return q.UserID == p.OwnerID && !p.ByKey })
	if len(others) == 0 {
		return may
	}
	return others
}
