package enforcement_test

import (
	"testing"

	"writ/internal/database/dbtest"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/intent/plan"
)

// TestBudgetsAreExactAcrossReplicas: two delegates share what was delegated to the one before them, each with less of
// their own, on two servers at once; and a proof that is sent to both servers counts once.
func TestBudgetsAreExactAcrossReplicas(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.Postgres(t))
	second := open(t, e.Replica().DB)
	e.active("rules", allowAll)
	calls := func(n int64) func(*intent.DelegateRequest) {
		return func(r *intent.DelegateRequest) { r.Budget = n }
	}
	top, err := e.delegate(e.agent, e.mint(e.agent, twoSteps), nil, calls(17))
	if err != nil {
		t.Fatal(err)
	}
	var delegates [2]held
	for i, budget := range []int64{5, 15} {
		if delegates[i], err = e.delegate(e.agent, plan.Presented{}, &top, calls(budget)); err != nil {
			t.Fatal(err)
		}
	}
	requests := make([]enforcement.Request, 200)
	for i := 0; i < len(requests); i += 2 {
		requests[i] = e.asks(delegates[i/2%2], "read", `{}`)
		requests[i+1] = requests[i] // for the other server
	}
	answers := e.together(len(requests), func(i int) enforcement.Request { return requests[i] }, e.decisions,
		second.decisions)
	of := map[int]int{}
	for i := 0; i < len(answers); i += 2 {
		passed := allowed(answers[i : i+2])
		if of[i/2%2] += passed; passed == 2 {
			t.Errorf("a proof was taken twice")
		}
	}
	if of[0] > 5 || of[1] > 15 || of[0]+of[1] != 17 {
		t.Errorf("%d and %d calls passed, want 5 and 15 at most, and 17 in all", of[0], of[1])
	}
	if n := e.count(`delegation WHERE budget = 17 AND uses = 17`); n != 1 {
		t.Errorf("%d delegations are used up", n)
	}
	if n := e.verified(); n != len(requests) {
		t.Errorf("%d decisions", n)
	}
}
