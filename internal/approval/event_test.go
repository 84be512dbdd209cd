package approval_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

func (w *world) events(after int64) (kinds []string) {
	w.t.Helper()
	events, err := w.approvals.Events(w.t.Context(), w.org, after, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	for i, e := range events {
		if e.Number != after+int64(i)+1 || e.OrgID != w.org || e.RequestID == "" {
			w.t.Errorf("event %d: %+v", i, e)
		}
		kinds = append(kinds, string(e.Kind))
	}
	return kinds
}

// TestEvents: everything that happens to a request has the next number, and who
// waits in this process is woken.
func TestEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob, carol := w.person(principal.Approver), w.person(principal.Admin)
		two := hold
		two.Approvers = twoApprovers
		var after int64
		expect := func(what string, do func(), kinds ...string) {
			t.Helper()
			woken := w.approvals.Changed(w.org)
			elsewhere := w.approvals.Changed(database.NewID())
			do()
			got := w.events(after)
			if fmt.Sprint(got) != fmt.Sprint(kinds) {
				t.Errorf("%s: %v, want %v", what, got, kinds)
			}
			after += int64(len(got))
			if isClosed(woken) != (len(kinds) > 0) || isClosed(elsewhere) {
				t.Errorf("%s: woken %t", what, isClosed(woken))
			}
		}
		var r *approval.Request
		open := func() {
			r = w.held(approval.Call{Server: "bank", Tool: "pay", SessionID: "s"}, fmt.Sprintf(`{"n":%d}`, after),
				two)
		}
		vote := func(p principal.Principal, yes approval.Approval) func() { return func() { w.approve(p, r.ID, yes) } }
		session := approval.Approval{Scope: approval.Scope{Kind: approval.Session}}
		expect("open", open, "opened")
		expect("repeat", func() {
			w.write(func(ctx context.Context, tx *database.Tx) error { return approval.Repeat(ctx, tx, r) })
		})
		expect("first yes", vote(bob, approval.Approval{}), "voted")
		expect("second yes", vote(carol, approval.Approval{}), "approved")
		expect("use", func() {
			w.write(func(ctx context.Context, tx *database.Tx) error {
				found, err := w.approvals.Find(ctx, tx, r.Call, two)
				if err == nil {
					_, err = w.approvals.Consume(ctx, tx, found, "d")
				}
				return err
			})
		}, "used")
		expect("open another", open, "opened")
		expect("no", func() { _, _ = w.approvals.Reject(t.Context(), bob, r.ID, "") }, "rejected")
		expect("open a third", open, "opened")
		expect("cancel", func() { _, _ = w.approvals.Cancel(t.Context(), w.key, r.ID) }, "cancelled")
		expect("open a fourth", open, "opened")
		expect("a wider yes", vote(bob, session), "voted")
		expect("a wider yes", vote(carol, session), "approved")
		allows, err := w.approvals.ListStanding(t.Context(), bob)
		if err != nil || len(allows) != 1 {
			t.Fatalf("standing: %v, %v", allows, err)
		}
		expect("revoke", func() { _, _ = w.approvals.Revoke(t.Context(), bob, allows[0].ID) }, "revoked")
		expect("open a fifth", open, "opened")
		w.pass(approval.PendingLife)
		expect("expire", func() {
			for range 2 {
				if err := w.approvals.Expire(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}, "expired")
		if last, err := w.approvals.LastEvent(t.Context(), w.org); err != nil || last != after {
			t.Errorf("the last is %d, %v", last, err)
		}
		if events, err := w.approvals.Events(t.Context(), database.NewID(), 0, 100); err != nil || len(events) != 0 {
			t.Errorf("of another organization: %v, %v", events, err)
		}
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestNothingIsAnnouncedThatWasRolledBack, and nobody is woken by it.
func TestNothingIsAnnouncedThatWasRolledBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		woken := w.approvals.Changed(w.org)
		err := w.db.Write(t.Context(), database.Change{Logs: []string{audit.LogOf(w.org)}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			call := approval.Call{
				OrgID:   w.org,
				KeyID:   w.key.KeyID,
				OwnerID: w.ada.UserID,
				Server:  "bank",
				Tool:    "pay",
				Digest:  []byte{1},
			}
			if _, err := w.approvals.Open(ctx, tx, call, hold); err != nil {
				t.Error(err)
			}
			return fault.New(fault.Conflict, "after all not")
		}})
		wantFault(t, "rolled back", err, fault.Conflict)
		if got := w.events(0); len(got) != 0 || isClosed(woken) {
			t.Errorf("announced: %v, woken %t", got, isClosed(woken))
		}
	})
}

// TestExpiry: each request that is over is marked once, in slices, with its entry;
// and a late yes is refused before that as after it.
func TestExpiry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		const many = 120
		var last *approval.Request
		for range many {
			last = w.open(hold)
		}
		w.pass(approval.PendingLife - 1000)
		if err := w.approvals.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.events(many); len(got) != 0 {
			t.Errorf("before their time: %v", got)
		}
		w.pass(1000)
		late := func() {
			t.Helper()
			_, err := w.approvals.Approve(t.Context(), bob, last.ID, approval.Approval{})
			wantFault(t, "a late yes", err, fault.Conflict)
			if got, err := w.approvals.Get(t.Context(), bob, last.ID); err != nil || got.Status != approval.Expired {
				t.Errorf("late: %s, %v", got.Status, err)
			}
		}
		late()
		if err := w.approvals.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		late()
		var marked, entries int
		err := w.db.QueryRow(t.Context(),
			`SELECT COUNT(*), (SELECT COUNT(*) FROM audit_entry WHERE action = 'approval.expired')
			FROM approval_request WHERE status = 'expired'`).Scan(&marked, &entries)
		if err != nil || marked != many || entries != many {
			t.Errorf("%d marked, %d entries, %v", marked, entries, err)
		}
	})
}

// TestWait returns with the answer, with the end of its time, or when its caller
// is gone.
func TestWait(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob, r := w.person(principal.Approver), w.open(hold)
		if got, err := w.approvals.Wait(t.Context(), w.key, r.ID, 0); err != nil || got.Status != approval.Pending {
			t.Errorf("at once: %+v, %v", got, err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.approvals.Wait(gone, w.key, r.ID, time.Minute); err == nil {
			t.Error("it waited for nobody")
		}
		_, err := w.approvals.Wait(t.Context(), w.key, database.NewID(), time.Minute)
		wantFault(t, "no request", err, fault.NotFound)
		stranger := w.key
		stranger.KeyID = database.NewID()
		_, err = w.approvals.Wait(t.Context(), stranger, r.ID, time.Minute)
		wantFault(t, "another key", err, fault.NotFound)

		answered := make(chan approval.Request)
		go func() {
			got, err := w.approvals.Wait(t.Context(), w.key, r.ID, time.Minute)
			if err != nil {
				t.Error(err)
			}
			answered <- got
		}()
		if _, err := w.approvals.Reject(t.Context(), bob, r.ID, "no"); err != nil {
			t.Fatal(err)
		}
		if got := <-answered; got.Status != approval.Rejected || got.Note != "no" {
			t.Errorf("answered: %+v", got)
		}
	})
}
