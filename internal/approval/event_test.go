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
	"writ/internal/testenv"
)

func (e *env) events(after int64) (kinds []string) {
	e.T.Helper()
	events, err := e.approvals.Events(e.T.Context(), e.org, after, 100)
	if err != nil {
		e.T.Fatal(err)
	}
	for i, event := range events {
		if event.Number != after+int64(i)+1 || event.OrgID != e.org || event.RequestID == "" {
			e.T.Errorf("event %d: %+v", i, event)
		}
		kinds = append(kinds, string(event.Kind))
	}
	return kinds
}

// TestEvents: everything that happens to a request has the next number, and who
// waits in this process is woken.
func TestEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob, carol := e.person(principal.Approver), e.person(principal.Admin)
		two := hold
		two.Approvers = twoApprovers
		var after int64
		expect := func(what string, do func(), kinds ...string) {
			t.Helper()
			woken := e.approvals.Changed(e.org)
			elsewhere := e.approvals.Changed(database.NewID())
			do()
			got := e.events(after)
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
			r = e.held(approval.Call{Server: "bank", Tool: "pay", SessionID: "s"}, fmt.Sprintf(`{"n":%d}`, after),
				two)
		}
		vote := func(p principal.Principal, yes approval.Approval) func() { return func() { e.approve(p, r.ID, yes) } }
		session := approval.Approval{Scope: approval.Scope{Kind: approval.Session}}
		expect("open", open, "opened")
		expect("repeat", func() {
			e.write(func(ctx context.Context, tx *database.Tx) error { return approval.Repeat(ctx, tx, r) })
		})
		expect("first yes", vote(bob, approval.Approval{}), "voted")
		expect("second yes", vote(carol, approval.Approval{}), "approved")
		expect("use", func() {
			e.write(func(ctx context.Context, tx *database.Tx) error {
				found, err := e.approvals.Find(ctx, tx, r.Call, two)
				if err == nil {
					_, err = e.approvals.Consume(ctx, tx, found, "d")
				}
				return err
			})
		}, "used")
		expect("open another", open, "opened")
		expect("no", func() { _, _ = e.approvals.Reject(t.Context(), bob, r.ID, "") }, "rejected")
		expect("open a third", open, "opened")
		expect("cancel", func() { _, _ = e.approvals.Cancel(t.Context(), e.key, r.ID) }, "cancelled")
		expect("open a fourth", open, "opened")
		expect("a wider yes", vote(bob, session), "voted")
		expect("a wider yes", vote(carol, session), "approved")
		allows, err := e.approvals.ListStanding(t.Context(), bob)
		if err != nil || len(allows) != 1 {
			t.Fatalf("standing: %v, %v", allows, err)
		}
		expect("revoke", func() { _, _ = e.approvals.Revoke(t.Context(), bob, allows[0].ID) }, "revoked")
		expect("open a fifth", open, "opened")
		e.Pass(approval.PendingLife)
		expect("expire", func() {
			for range 2 {
				if err := e.approvals.Expire(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}, "expired")
		if last, err := e.approvals.LastEvent(t.Context(), e.org); err != nil || last != after {
			t.Errorf("the last is %d, %v", last, err)
		}
		if events, err := e.approvals.Events(t.Context(), database.NewID(), 0, 100); err != nil || len(events) != 0 {
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
	each(t, func(t *testing.T, e *env) {
		woken := e.approvals.Changed(e.org)
		err := e.DB.Write(t.Context(), database.Change{Logs: []string{audit.LogOf(e.org)}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			call := approval.Call{
				OrgID:   e.org,
				KeyID:   e.key.KeyID,
				OwnerID: e.ada.UserID,
				Server:  "bank",
				Tool:    "pay",
				Digest:  []byte{1},
			}
			if _, err := e.approvals.Open(ctx, tx, call, hold); err != nil {
				t.Error(err)
			}
			return fault.New(fault.Conflict, "after all not")
		}})
		testenv.WantFault(t, "rolled back", err, fault.Conflict)
		if got := e.events(0); len(got) != 0 || isClosed(woken) {
			t.Errorf("announced: %v, woken %t", got, isClosed(woken))
		}
	})
}

// TestExpiry: each request that is over is marked once, in slices, with its entry;
// and a late yes is refused before that as after it.
func TestExpiry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		const many = 120
		var last *approval.Request
		for range many {
			last = e.open(hold)
		}
		e.Pass(approval.PendingLife - 1000)
		if err := e.approvals.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := e.events(many); len(got) != 0 {
			t.Errorf("before their time: %v", got)
		}
		e.Pass(1000)
		late := func() {
			t.Helper()
			_, err := e.approvals.Approve(t.Context(), bob, last.ID, approval.Approval{})
			testenv.WantFault(t, "a late yes", err, fault.Conflict)
			if got, err := e.approvals.Get(t.Context(), bob, last.ID); err != nil || got.Status != approval.Expired {
				t.Errorf("late: %s, %v", got.Status, err)
			}
		}
		late()
		if err := e.approvals.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		late()
		var marked, entries int
		err := e.DB.QueryRow(t.Context(),
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
	each(t, func(t *testing.T, e *env) {
		bob, r := e.person(principal.Approver), e.open(hold)
		if got, err := e.approvals.Wait(t.Context(), e.key, r.ID, 0); err != nil || got.Status != approval.Pending {
			t.Errorf("at once: %+v, %v", got, err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.approvals.Wait(gone, e.key, r.ID, time.Minute); err == nil {
			t.Error("it waited for nobody")
		}
		_, err := e.approvals.Wait(t.Context(), e.key, database.NewID(), time.Minute)
		testenv.WantFault(t, "no request", err, fault.NotFound)
		stranger := e.key
		stranger.KeyID = database.NewID()
		_, err = e.approvals.Wait(t.Context(), stranger, r.ID, time.Minute)
		testenv.WantFault(t, "another key", err, fault.NotFound)

		answered := make(chan approval.Request)
		go func() {
			got, err := e.approvals.Wait(t.Context(), e.key, r.ID, time.Minute)
			if err != nil {
				t.Error(err)
			}
			answered <- got
		}()
		if _, err := e.approvals.Reject(t.Context(), bob, r.ID, "no"); err != nil {
			t.Fatal(err)
		}
		if got := <-answered; got.Status != approval.Rejected || got.Note != "no" {
			t.Errorf("answered: %+v", got)
		}
	})
}
