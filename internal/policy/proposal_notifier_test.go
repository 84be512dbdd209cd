package policy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/principal"
)

// TestProposalsAreToldOnce: each that is new, and each that ends, in the organization
// that it is of.
func TestProposalsAreToldOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, member := t.Context(), person(w.acme, principal.Member)
		var told []string
		names := map[string]string{}
		w.policies = policy.New(w.db, audit.Unsigned(w.db), nil, policy.ProposalNotifier{
			Proposed: func(_ context.Context, _ *database.Tx, orgID string, p policy.Proposal) error {
				if orgID != w.acme || p.State != policy.Open || p.OwnerID != member.UserID {
					t.Errorf("told of %+v in %s", p, orgID)
				}
				names[p.ID] = fmt.Sprint("profile ", len(names)+1)
				told = append(told, names[p.ID]+" waits")
				return nil
			},
			Settled: func(_ context.Context, _ *database.Tx, orgID, id string) error {
				if orgID != w.acme {
					t.Errorf("settled in %s", orgID)
				}
				told = append(told, names[id]+" ended")
				return nil
			},
		})
		w.proposed(member, "Bash")
		w.proposed(member, "Bash") // waits already
		second := w.proposed(member, "Read")
		if _, err := w.policies.ConfirmProfile(ctx, w.owner, second.ID, second.Hash); err != nil {
			t.Fatal(err)
		}
		if _, err := w.policies.ConfirmProfile(ctx, w.owner, second.ID, second.Hash); err != nil { // active already
			t.Fatal(err)
		}
		third := w.proposed(member, "Write")
		for range 2 {
			if err := w.policies.WithdrawProposal(ctx, member, third.ID); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{
			"profile 1 waits", "profile 1 ended", "profile 2 waits", "profile 2 ended", "profile 3 waits",
			"profile 3 ended",
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// TestWhatCannotBeToldIsNotProposed: nor ended, so that nobody waits for nothing.
func TestWhatCannotBeToldIsNotProposed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, member := t.Context(), person(w.acme, principal.Member)
		waits := w.proposed(member, "Bash")
		broken := errors.New("nobody can be told")
		w.policies = policy.New(w.db, audit.Unsigned(w.db), nil, policy.ProposalNotifier{
			Proposed: func(context.Context, *database.Tx, string, policy.Proposal) error { return broken },
			Settled:  func(context.Context, *database.Tx, string, string) error { return broken },
		})
		other := person(w.acme, principal.Member)
		if _, err := w.policies.StageProfile(ctx, other, w.profile("Read")); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"propose":  second(w.policies.ProposeProfile(ctx, other, "a reason")),
			"confirm":  second(w.policies.ConfirmProfile(ctx, w.owner, waits.ID, waits.Hash)),
			"withdraw": w.policies.WithdrawProposal(ctx, member, waits.ID),
			"delete":   w.policies.Delete(ctx, w.owner, waits.PolicyID),
		} {
			if !errors.Is(err, broken) {
				t.Errorf("%s: %v, want that it fails", what, err)
			}
		}
		open, err := w.policies.Proposals(ctx, w.owner, policy.Open, "", page.MaxLimit)
		if err != nil || len(open.Items) != 1 || open.Items[0].ID != waits.ID || open.Items[0].Active {
			t.Errorf("open are %+v, %v; want the first alone", open.Items, err)
		}
	})
}
