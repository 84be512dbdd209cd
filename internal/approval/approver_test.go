package approval_test

import (
	"context"
	"testing"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/policy/document"
	"writ/internal/principal"
)

func (e *env) remove(p principal.Principal) {
	e.Exec(`DELETE FROM organization_member WHERE org_id = $1 AND user_id = $2`, e.org, p.UserID)
}

func (e *env) demote(p principal.Principal) {
	e.Exec(`UPDATE organization_member SET role = 'member' WHERE org_id = $1 AND user_id = $2`, e.org, p.UserID)
}

// TestAYesEndsWithTheRightToSayIt: a vote, a grant and a wider yes count while who
// said them may still say them.
func TestAYesEndsWithTheRightToSayIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		two := hold
		two.Approvers = &document.Approvers{Role: "approver", Count: 2}
		r, gone := e.open(two), e.person(principal.Approver)
		e.approve(gone, r.ID, approval.Approval{})
		e.remove(gone)
		bob, carol := e.person(principal.Approver), e.person(principal.Admin)
		if got := e.approve(bob, r.ID, approval.Approval{}); got.Status != approval.Pending {
			t.Errorf("one who left and one who is there: %s", got.Status)
		}
		if got := e.approve(carol, r.ID, approval.Approval{}); got.Status != approval.Approved {
			t.Errorf("two who are there: %s", got.Status)
		}
		find := func(call approval.Call, want approval.Requirement) (found *approval.Request) {
			e.write(func(ctx context.Context, tx *database.Tx) (err error) {
				found, err = e.approvals.Find(ctx, tx, call, want)
				return err
			})
			return found
		}
		if found := find(r.Call, two); found == nil || !found.Granted(e.DB.Now()) {
			t.Fatalf("before: %+v", found)
		}
		e.demote(carol)
		if found := find(r.Call, two); found != nil {
			t.Errorf("a grant of somebody who may not approve any more: %+v", found)
		}

		wide := e.open(hold)
		e.approve(bob, wide.ID, approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 60}})
		lifts := func() (found *approval.StandingApproval) {
			e.write(func(ctx context.Context, tx *database.Tx) (err error) {
				found, err = e.approvals.FindStanding(ctx, tx, wide.Call, hold)
				return err
			})
			return found
		}
		if lifts() == nil {
			t.Fatal("a wider yes lifts nothing")
		}
		asked, _ := e.ask(approval.Asked{Tool: "move", Amount: amount(5)})
		e.approve(bob, asked.ID, approval.Approval{})
		e.demote(bob)
		if lifts() != nil {
			t.Error("a wider yes of somebody who may not approve any more")
		}
		if e.releasable(approval.Question{Tool: "move", Amount: 5}) != nil {
			t.Error("given out, by the word of somebody who may not approve any more")
		}
	})
}
