package enforcement_test

import (
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/database/dbtest"
	"writ/internal/enforcement"
	"writ/internal/principal"
)

// TestApprovalsAcrossReplicas: what is approved in one process runs once over all
// of them, and who waits in another sees the answer.
func TestApprovalsAcrossReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Postgres(t))
	second := open(t, w.options)
	bob := w.approver()
	w.active("rules", holdPay)
	for _, yes := range []struct {
		approval.Approval
		runs int
	}{
		{approval.Approval{}, 1},
		{approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5, Uses: 9}}, 9},
	} {
		pay := call("bank", "pay", `{"n":1}`)
		held := w.decide(pay)
		answered := make(chan approval.Request)
		go func() {
			r, err := second.approvals.Wait(t.Context(), w.agent, held.ApprovalID, time.Minute)
			if err != nil {
				t.Error(err)
			}
			answered <- r
		}()
		if _, err := w.approvals.Approve(t.Context(), bob, held.ApprovalID, yes.Approval); err != nil {
			t.Fatal(err)
		}
		if r := <-answered; r.Status != approval.Approved {
			t.Errorf("the other process sees %+v", r)
		}
		if n := allowed(w.together(60, func(int) enforcement.Request { return pay }, w.decisions,
			second.decisions)); n != yes.runs {
			t.Errorf("%d calls ran, want %d", n, yes.runs)
		}
	}
	waiting := w.decide(call("bank", "pay", `{"n":2}`)).ApprovalID
	w.pass(approval.PendingLife)
	errs := make(chan error)
	for _, a := range []*areas{w.areas, second} {
		go func() { errs <- a.approvals.Expire(t.Context()) }()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := w.count(`approval_event WHERE kind = 'expired' AND request_id = '` + waiting + `'`); n != 1 {
		t.Errorf("expired %d times", n)
	}
	if r, err := second.approvals.Get(t.Context(), person(w.bob, w.acme, principal.Approver), waiting); err != nil ||
		r.Status != approval.Expired {
		t.Errorf("after its time: %+v, %v", r, err)
	}
	w.verified()
}
