package policy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/principal"
)

// TestProposalsAreToldOnce: each that is new, and each that ends, in the organization
// that it is of.
func TestProposalsAreToldOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx, member := t.Context(), person(e.acme, principal.Member)
		var told []string
		names := map[string]string{}
		e.policies = policy.New(e.DB, e.Log, nil, policy.ProposalNotifier{
			Proposed: func(_ context.Context, _ *database.Tx, orgID string, p policy.Proposal) error {
				if orgID != e.acme || p.State != policy.Open || p.OwnerID != member.UserID {
					t.Errorf("told of %+v in %s", p, orgID)
				}
				names[p.ID] = fmt.Sprint("profile ", len(names)+1)
				told = append(told, names[p.ID]+" waits")
				return nil
			},
			Settled: func(_ context.Context, _ *database.Tx, orgID, id string) error {
				if orgID != e.acme {
					t.Errorf("settled in %s", orgID)
				}
				told = append(told, names[id]+" ended")
				return nil
			},
		})
		e.proposed(member, "Bash")
		e.proposed(member, "Bash") // waits already
		second := e.proposed(member, "Read")
		if _, err := e.policies.ConfirmProfile(ctx, e.owner, second.ID, second.Hash); err != nil {
			t.Fatal(err)
		}
		if _, err := e.policies.ConfirmProfile(ctx, e.owner, second.ID, second.Hash); err != nil { // active already
			t.Fatal(err)
		}
		third := e.proposed(member, "Write")
		for range 2 {
			if err := e.policies.WithdrawProposal(ctx, member, third.ID); err != nil {
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
	each(t, func(t *testing.T, e *env) {
		ctx, member := t.Context(), person(e.acme, principal.Member)
		waits := e.proposed(member, "Bash")
		broken := errors.New("nobody can be told")
		e.policies = policy.New(e.DB, e.Log, nil, policy.ProposalNotifier{
			Proposed: func(context.Context, *database.Tx, string, policy.Proposal) error { return broken },
			Settled:  func(context.Context, *database.Tx, string, string) error { return broken },
		})
		other := person(e.acme, principal.Member)
		if _, err := e.policies.StageProfile(ctx, other, e.profile("Read")); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"propose":  second(e.policies.ProposeProfile(ctx, other, "a reason")),
			"confirm":  second(e.policies.ConfirmProfile(ctx, e.owner, waits.ID, waits.Hash)),
			"withdraw": e.policies.WithdrawProposal(ctx, member, waits.ID),
			"delete":   e.policies.Delete(ctx, e.owner, waits.PolicyID),
		} {
			if !errors.Is(err, broken) {
				t.Errorf("%s: %v, want that it fails", what, err)
			}
		}
		open, err := e.policies.Proposals(ctx, e.owner, policy.Open, "", page.MaxLimit)
		if err != nil || len(open.Items) != 1 || open.Items[0].ID != waits.ID || open.Items[0].Active {
			t.Errorf("open are %+v, %v; want the first alone", open.Items, err)
		}
	})
}
