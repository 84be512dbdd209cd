package approval_test

import (
	"context"
	"testing"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

func (e *env) approve(by principal.Principal, id string, yes approval.Approval) approval.Request {
	e.T.Helper()
	r, err := e.approvals.Approve(e.T.Context(), by, id, yes)
	if err != nil {
		e.T.Fatal(err)
	}
	return r
}

func (e *env) releasable(q approval.Question) *approval.Request {
	e.T.Helper()
	r, err := e.approvals.FindReleasable(e.T.Context(), e.DB, e.key, q, e.DB.Now())
	if err != nil {
		e.T.Fatal(err)
	}
	return r
}

func TestMarkExecuted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		r := e.held(approval.Call{Server: "bank", Tool: "pay"}, `{"n":1}`, hold)
		mark := func(p principal.Principal, id string) error {
			_, err := e.approvals.MarkExecuted(t.Context(), p, id)
			return err
		}
		testenv.WantFault(t, "it waits", mark(e.key, r.ID), fault.Invalid)
		e.approve(bob, r.ID, approval.Approval{})
		stranger := e.key
		stranger.KeyID = database.NewID()
		testenv.WantFault(t, "another key", mark(stranger, r.ID), fault.NotFound)
		testenv.WantFault(t, "a person", mark(bob, r.ID), fault.Forbidden)
		for _, id := range []string{"", "x", database.NewID()} {
			testenv.WantFault(t, "no request", mark(e.key, id), fault.NotFound)
		}
		var first approval.Request
		for i := range 3 {
			got, err := e.approvals.MarkExecuted(t.Context(), e.key, r.ID)
			if i == 0 {
				first = got
			}
			if err != nil || got.ExecutedAt == nil || !got.ExecutedAt.Equal(*first.ExecutedAt) || !got.Used() {
				t.Errorf("marked: %+v, %v", got, err)
			}
			e.Pass(1000)
		}
		e.write(func(ctx context.Context, tx *database.Tx) error {
			if found, err := e.approvals.Find(ctx, tx, r.Call, hold); err != nil || found != nil {
				t.Errorf("executed, and still granted: %+v, %v", found, err)
			}
			return nil
		})
		var entries int
		if err := e.DB.QueryRow(t.Context(),
			`SELECT COUNT(*) FROM audit_entry WHERE action = 'approval.executed'`).Scan(&entries); err != nil ||
			entries != 1 {
			t.Errorf("%d entries, %v", entries, err)
		}
	})
}
