package policy

import (
	"context"

	"writ/internal/database"
)

// ProposalNotifier notifies people of proposals. It is called in the transaction that changes the proposal, so that the
// change fails with the notification.
type ProposalNotifier struct {
	// Proposed is called when a proposal is opened.
	Proposed func(ctx context.Context, tx *database.Tx, orgID string, p Proposal) error
	// Settled is called when a proposal is no longer open.
	Settled func(ctx context.Context, tx *database.Tx, orgID, proposalID string) error
}

func (n ProposalNotifier) proposed(ctx context.Context, tx *database.Tx, orgID string, p Proposal) error {
	if n.Proposed == nil {
		return nil
	}
	return n.Proposed(ctx, tx, orgID, p)
}

func (n ProposalNotifier) settled(ctx context.Context, tx *database.Tx, orgID string, proposalIDs ...string) error {
	if n.Settled == nil {
		return nil
	}
	for _, id := range proposalIDs {
		if err := n.Settled(ctx, tx, orgID, id); err != nil {
			return err
		}
	}
	return nil
}
