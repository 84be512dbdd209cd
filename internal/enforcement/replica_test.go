package enforcement_test

import (
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/database/dbtest"
	"writ/internal/enforcement"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// TestApprovalsAcrossReplicas: what is approved in one process runs once over all
// of them, and who waits in another sees the answer.
func TestApprovalsAcrossReplicas(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.Postgres(t))
	second := open(t, e.Replica().DB)
	bob := e.approver()
	e.active("rules", holdPay)
	for _, yes := range []struct {
		approval.Approval
		runs int
	}{
		{approval.Approval{}, 1},
		{approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5, Uses: 9}}, 9},
	} {
		pay := call("bank", "pay", `{"n":1}`)
		held := e.decide(pay)
		answered := make(chan approval.Request)
		go func() {
			r, err := second.approvals.Wait(t.Context(), e.agent, held.ApprovalID, time.Minute)
			if err != nil {
				t.Error(err)
			}
			answered <- r
		}()
		if _, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, yes.Approval); err != nil {
			t.Fatal(err)
		}
		if r := <-answered; r.Status != approval.Approved {
			t.Errorf("the other process sees %+v", r)
		}
		if n := allowed(e.together(60, func(int) enforcement.Request { return pay }, e.decisions,
			second.decisions)); n != yes.runs {
			t.Errorf("%d calls ran, want %d", n, yes.runs)
		}
	}
	waiting := e.decide(call("bank", "pay", `{"n":2}`)).ApprovalID
	e.Pass(approval.PendingLife)
	errs := make(chan error)
	for _, a := range []*areas{e.areas, second} {
		go func() { errs <- a.approvals.Expire(t.Context()) }()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := e.count(`approval_event WHERE kind = 'expired' AND request_id = '` + waiting + `'`); n != 1 {
		t.Errorf("expired %d times", n)
	}
	if r, err := second.approvals.Get(t.Context(), testenv.Person(e.bob, e.acme, principal.Approver),
		waiting); err != nil ||
		r.Status != approval.Expired {
		t.Errorf("after its time: %+v, %v", r, err)
	}
	e.verified()
}
