package approval_test

import (
	"context"
	"testing"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// TestAnswersDisturbNoDecision: decisions look for answers themselves, so that none
// is judged anew because somebody answers, or asks and cancels, all the time.
func TestAnswersDisturbNoDecision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		generation := func() int64 {
			head, err := audit.ReadHead(t.Context(), w.db, audit.LogOf(w.org))
			if err != nil {
				t.Fatal(err)
			}
			return head.Generation
		}
		before := generation()
		w.approve(bob, w.open(hold).ID, approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5}})
		if _, err := w.approvals.Reject(t.Context(), bob, w.open(hold).ID, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := w.approvals.Cancel(t.Context(), w.key, w.open(hold).ID); err != nil {
			t.Fatal(err)
		}
		allows, err := w.approvals.ListStanding(t.Context(), bob)
		if err != nil || len(allows) != 1 {
			t.Fatalf("%d allows, %v", len(allows), err)
		}
		if _, err := w.approvals.Revoke(t.Context(), bob, allows[0].ID); err != nil {
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
	each(t, func(t *testing.T, w *world) {
		var err error
		opened := 0
		for ; err == nil && opened <= approval.MaxPending; opened++ {
			var r *approval.Request
			call := approval.Call{
				OrgID:   w.org,
				KeyID:   w.key.KeyID,
				OwnerID: w.ada.UserID,
				Server:  "bank",
				Tool:    "pay",
				Digest:  []byte(database.NewID()),
			}
			err = w.db.Write(t.Context(), database.Change{Logs: []string{w.org}, Do: func(
				ctx context.Context, tx *database.Tx,
			) (err error) {
				r, err = w.approvals.Open(ctx, tx, call, hold)
				return err
			}})
			if err == nil {
				_, err = w.approvals.Cancel(t.Context(), w.key, r.ID)
			}
		}
		wantFault(t, "asked and cancelled without end", err, fault.TooMany)
		w.pass(approval.PendingLife)
		w.open(hold)
	})
}
