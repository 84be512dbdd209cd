package approval_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/principal"
)

// TestCounts: what was committed counts, and nothing else.
func TestCounts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		first, second := e.open(hold), e.open(hold)
		e.open(hold)
		undone := errors.New("undone")
		err := e.DB.Write(t.Context(), database.Change{Logs: []string{e.org}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			call := approval.Call{
				OrgID:   e.org,
				KeyID:   e.key.KeyID,
				OwnerID: e.ada.UserID,
				Server:  "s",
				Tool:    "t",
				Digest:  []byte("d"),
			}
			if _, err := e.approvals.Open(ctx, tx, call, hold); err != nil {
				return err
			}
			return undone
		}})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		if _, err := e.approvals.Approve(t.Context(), bob, first.ID, approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.approvals.Reject(t.Context(), bob, second.ID, ""); err != nil {
			t.Fatal(err)
		}
		want := map[approval.EventKind]int64{
			approval.EventOpened: 3, approval.EventApproved: 1, approval.EventRejected: 1,
		}
		if diff := cmp.Diff(want, e.approvals.Counts()); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		if n, err := e.approvals.Waiting(t.Context()); err != nil || n != 1 {
			t.Errorf("%d wait, %v; want 1", n, err)
		}
	})
}
