package enforcement_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"writ/internal/approval"
	"writ/internal/enforcement"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// rounds is how often a race is run.
const rounds = 1000

// abreast runs so many rounds, some at a time.
func abreast(n int, round func(i int)) {
	const atOnce = 4
	var all sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		all.Go(func() {
			for i := range next {
				round(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// race is one held call, answered by two persons at the same instant while the
// agent asks twice. It reports whether it was approved, and how often it ran.
func (e *env) race(key, bob, carol principal.Principal, i int) (approved bool, ran int) {
	pay := call("bank", "pay", fmt.Sprintf(`{"n":%d}`, i))
	decide := func() (a enforcement.Answer) {
		for a.Rule = "busy"; a.Rule == "busy"; { // overtaken by the answers of too many others
			a = e.decisions.Decide(e.T.Context(), key, pay)
		}
		return a
	}
	held := decide()
	answers := make([]enforcement.Answer, 3)
	var first, second error
	var all sync.WaitGroup
	all.Go(func() { _, first = e.approvals.Approve(e.T.Context(), bob, held.ApprovalID, approval.Approval{}) })
	all.Go(func() {
		if i%2 == 0 {
			_, second = e.approvals.Reject(e.T.Context(), carol, held.ApprovalID, "")
		} else {
			_, second = e.approvals.Approve(e.T.Context(), carol, held.ApprovalID, approval.Approval{})
		}
	})
	for j := range 2 {
		all.Go(func() { answers[j] = decide() })
	}
	all.Wait()
	answers[2] = decide()
	if held.Verdict != verdict.Hold || (first == nil) == (second == nil) {
		e.T.Errorf("round %d: %s; the answers: %v, %v", i, held.Reason, first, second)
	}
	return first == nil || i%2 == 1, allowed(answers)
}

// TestNoCallRunsTwiceOnOneApproval: approved twice, or approved and rejected, at
// the same instant: one answer wins, and the call runs once or not at all.
func TestNoCallRunsTwiceOnOneApproval(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		carol := testenv.Person(e.User("carol@example.org"), e.acme, principal.Admin)
		e.Member(e.acme, carol.UserID, principal.Admin)
		e.active("rules", holdPay)
		var keys [8]principal.Principal // each round leaves a request that waits, and a key may have 500
		for i := range keys {
			keys[i] = e.key(e.ada, e.acme)
		}
		var yeses, runs atomic.Int64
		abreast(rounds, func(i int) {
			approved, ran := e.race(keys[i%len(keys)], bob, carol, i)
			if approved {
				yeses.Add(1)
			}
			if runs.Add(int64(ran)); approved != (ran == 1) || ran > 1 {
				t.Errorf("round %d: approved %t, and %d calls ran", i, approved, ran)
			}
		})
		if n := e.count(`approval_grant WHERE used_at IS NOT NULL AND decision_id <> ''`); int64(n) != yeses.Load() ||
			runs.Load() != yeses.Load() {
			t.Errorf("%d yeses, %d grants used, %d runs", yeses.Load(), n, runs.Load())
		}
		if n := e.count(`approval_event WHERE kind IN ('approved', 'rejected')`); n != rounds {
			t.Errorf("%d answers announced", n)
		}
		e.verified()
	})
}

// TestALoopingAgent asks the same 500 times: one request, counted, and one
// announcement.
func TestALoopingAgent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", holdPay)
		pay := call("bank", "pay", `{"to":"x"}`)
		for _, a := range e.together(500, func(int) enforcement.Request { return pay }, e.decisions) {
			if a.Verdict != verdict.Hold {
				t.Fatalf("%+v", a)
			}
		}
		if n := e.count(`approval_request`); n != 1 {
			t.Errorf("%d requests", n)
		}
		if n := e.count(`approval_request WHERE repeats = 499 AND last_asked_at IS NOT NULL`); n != 1 {
			t.Error("the repeats were not counted")
		}
		if n := e.count(`approval_event`); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}
