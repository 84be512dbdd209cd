package approval_test

import (
	"context"
	"testing"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// TestAnswersDisturbNoDecision: decisions look for answers themselves, so that none
// is judged anew because somebody answers, or asks and cancels, all the time.
func TestAnswersDisturbNoDecision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		generation := func() int64 {
			head, err := audit.ReadHead(t.Context(), e.DB, audit.LogOf(e.org))
			if err != nil {
				t.Fatal(err)
			}
			return head.Generation
		}
		before := generation()
		e.approve(bob, e.open(hold).ID, approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5}})
		if _, err := e.approvals.Reject(t.Context(), bob, e.open(hold).ID, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := e.approvals.Cancel(t.Context(), e.key, e.open(hold).ID); err != nil {
			t.Fatal(err)
		}
		allows, err := e.approvals.ListStanding(t.Context(), bob)
		if err != nil || len(allows) != 1 {
			t.Fatalf("%d allows, %v", len(allows), err)
		}
		if _, err := e.approvals.Revoke(t.Context(), bob, allows[0].ID); err != nil {
			t.Fatal(err)
		}
		if after := generation(); after != before {
			t.Errorf("answers raised the generation from %d to %d", before, after)
		}
	})
}

// TestAskingAndCancellingIsBounded as asking is.
func TestAskingAndCancellingIsBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var err error
		opened := 0
		for ; err == nil && opened <= approval.MaxPending; opened++ {
			var r *approval.Request
			call := approval.Call{
				OrgID:   e.org,
				KeyID:   e.key.KeyID,
				OwnerID: e.ada.UserID,
				Server:  "bank",
				Tool:    "pay",
				Digest:  []byte(database.NewID()),
			}
			err = e.DB.Write(t.Context(), database.Change{Logs: []string{e.org}, Do: func(
				ctx context.Context, tx *database.Tx,
			) (err error) {
				r, err = e.approvals.Open(ctx, tx, call, hold)
				return err
			}})
			if err == nil {
				_, err = e.approvals.Cancel(t.Context(), e.key, r.ID)
			}
		}
		testenv.WantFault(t, "asked and cancelled without end", err, fault.TooMany)
		e.Pass(approval.PendingLife)
		e.open(hold)
	})
}
