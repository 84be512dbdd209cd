package approval_test

import (
	"context"
	"testing"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/policy/document"
	"writ/internal/principal"
)

func (w *world) remove(p principal.Principal) {
	w.exec(`DELETE FROM organization_member WHERE org_id = $1 AND user_id = $2`, w.org, p.UserID)
}

func (w *world) demote(p principal.Principal) {
	w.exec(`UPDATE organization_member SET role = 'member' WHERE org_id = $1 AND user_id = $2`, w.org, p.UserID)
}

// TestAYesEndsWithTheRightToSayIt: a vote, a grant and a wider yes count while who
// said them may still say them.
func TestAYesEndsWithTheRightToSayIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		two := hold
		two.Approvers = &document.Approvers{Role: "approver", Count: 2}
		r, gone := w.open(two), w.person(principal.Approver)
		w.approve(gone, r.ID, approval.Approval{})
		w.remove(gone)
		bob, carol := w.person(principal.Approver), w.person(principal.Admin)
		if got := w.approve(bob, r.ID, approval.Approval{}); got.Status != approval.Pending {
			t.Errorf("one who left and one who is there: %s", got.Status)
		}
		if got := w.approve(carol, r.ID, approval.Approval{}); got.Status != approval.Approved {
			t.Errorf("two who are there: %s", got.Status)
		}
		find := func(call approval.Call, want approval.Requirement) (found *approval.Request) {
			w.write(func(ctx context.Context, tx *database.Tx) (err error) {
				found, err = w.approvals.Find(ctx, tx, call, want)
				return err
			})
			return found
		}
		if found := find(r.Call, two); found == nil || !found.Granted(w.db.Now()) {
			t.Fatalf("before: %+v", found)
		}
		w.demote(carol)
		if found := find(r.Call, two); found != nil {
			t.Errorf("a grant of somebody who may not approve any more: %+v", found)
		}

		wide := w.open(hold)
		w.approve(bob, wide.ID, approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 60}})
		lifts := func() (found *approval.StandingApproval) {
			w.write(func(ctx context.Context, tx *database.Tx) (err error) {
				found, err = w.approvals.FindStanding(ctx, tx, wide.Call, hold)
				return err
			})
			return found
		}
		if lifts() == nil {
			t.Fatal("a wider yes lifts nothing")
		}
		asked, _ := w.ask(approval.Asked{Tool: "move", Amount: amount(5)})
		w.approve(bob, asked.ID, approval.Approval{})
		w.demote(bob)
		if lifts() != nil {
			t.Error("a wider yes of somebody who may not approve any more")
		}
		if w.releasable(approval.Question{Tool: "move", Amount: 5}) != nil {
			t.Error("given out, by the word of somebody who may not approve any more")
		}
	})
}
