package approval_test

import (
	"context"
	"testing"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

func (w *world) approve(by principal.Principal, id string, yes approval.Approval) approval.Request {
	w.t.Helper()
	r, err := w.approvals.Approve(w.t.Context(), by, id, yes)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) releasable(q approval.Question) *approval.Request {
	w.t.Helper()
	r, err := w.approvals.FindReleasable(w.t.Context(), w.db, w.key, q, w.db.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func TestMarkExecuted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		r := w.held(approval.Call{Server: "bank", Tool: "pay"}, `{"n":1}`, hold)
		mark := func(p principal.Principal, id string) error {
			_, err := w.approvals.MarkExecuted(t.Context(), p, id)
			return err
		}
		wantFault(t, "it waits", mark(w.key, r.ID), fault.Invalid)
		w.approve(bob, r.ID, approval.Approval{})
		stranger := w.key
		stranger.KeyID = database.NewID()
		wantFault(t, "another key", mark(stranger, r.ID), fault.NotFound)
		wantFault(t, "a person", mark(bob, r.ID), fault.Forbidden)
		for _, id := range []string{"", "x", database.NewID()} {
			wantFault(t, "no request", mark(w.key, id), fault.NotFound)
		}
		var first approval.Request
		for i := range 3 {
			got, err := w.approvals.MarkExecuted(t.Context(), w.key, r.ID)
			if i == 0 {
				first = got
			}
			if err != nil || got.ExecutedAt == nil || !got.ExecutedAt.Equal(*first.ExecutedAt) || !got.Used() {
				t.Errorf("marked: %+v, %v", got, err)
			}
			w.pass(1000)
		}
		w.write(func(ctx context.Context, tx *database.Tx) error {
			if found, err := w.approvals.Find(ctx, tx, r.Call, hold); err != nil || found != nil {
				t.Errorf("executed, and still granted: %+v, %v", found, err)
			}
			return nil
		})
		var entries int
		if err := w.db.QueryRow(t.Context(),
			`SELECT COUNT(*) FROM audit_entry WHERE action = 'approval.executed'`).Scan(&entries); err != nil ||
			entries != 1 {
			t.Errorf("%d entries, %v", entries, err)
		}
	})
}
