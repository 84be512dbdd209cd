package notification

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/principal"
)

// TellProposal tells who may confirm a profile that it was proposed. It belongs in
// the change that makes the proposal: what is committed was told, once.
func (s *Service) TellProposal(ctx context.Context, tx *database.Tx, people []Person, p notice.Proposal) error {
	told, e := confirmers(p, people), p.Event()
	err := insertNotifications(ctx, tx, told, row{
		orgID:   p.OrgID,
		cause:   "proposal/" + p.ID,
		kind:    e.Kind,
		subject: p.ID,
		title:   e.Title(),
		at:      p.At,
	})
	if err != nil {
		return err
	}
	if s.Mail != nil {
		unmailed, err := mailOff(ctx, tx, p.OrgID)
		if err != nil {
			return err
		}
		if err := queueMails(ctx, tx, e, told, unmailed); err != nil {
			return err
		}
	}
	return s.Webhooks.Enqueue(ctx, tx, p.OrgID, []notice.Event{e})
}

// SettleProposal takes back what asked for a confirmation, in the change in which the
// proposal was confirmed, withdrawn or replaced.
func (s *Service) SettleProposal(ctx context.Context, tx *database.Tx, orgID, proposalID string) error {
	if err := settle(ctx, tx, orgID, notice.ProfileProposed, proposalID); err != nil {
		return fmt.Errorf("settle proposal %s: %w", proposalID, err)
	}
	return nil
}

// confirmers are those who may confirm a proposal. Who proposed it in person knows of
// it, and is told only where nobody else can confirm; what a key proposed its owner
// may not have seen.
func confirmers(p notice.Proposal, people []Person) []Person {
	may := slices.DeleteFunc(slices.Clone(people), func(q Person) bool { return !q.Role.May(principal.ManagePolicies) })
	others := slices.DeleteFunc(slices.Clone(may), func(q Person) bool { return q.UserID == p.OwnerID && !p.ByKey })
	if len(others) == 0 {
		return may
	}
	return others
}
