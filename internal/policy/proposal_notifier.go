package policy

import (
	"context"

	"writ/internal/database"
)

// ProposalNotifier tells people of proposals of profiles, within the change that makes or ends
// them: what cannot be told does not happen, and what happened was told once.
type ProposalNotifier struct {
	// Proposed: a proposal waits for a confirmation.
	Proposed func(ctx context.Context, tx *database.Tx, orgID string, p Proposal) error
	// Settled: it does not wait any more.
	Settled func(ctx context.Context, tx *database.Tx, orgID, proposalID string) error
}

func (h ProposalNotifier) proposed(ctx context.Context, tx *database.Tx, orgID string, p Proposal) error {
	if h.Proposed == nil {
		return nil
	}
	return h.Proposed(ctx, tx, orgID, p)
}

func (h ProposalNotifier) settled(ctx context.Context, tx *database.Tx, orgID string, proposalIDs ...string) error {
	for _, id := range proposalIDs {
		if h.Settled == nil {
			return nil
		}
		if err := h.Settled(ctx, tx, orgID, id); err != nil {
			return err
		}
	}
	return nil
}
