package enforcement_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"writ/internal/database/dbtest"
	"writ/internal/enforcement"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// together makes n calls at once, spread over the services, and gives the
// answers.
func (e *env) together(
	n int, request func(i int) enforcement.Request, services ...*enforcement.Service,
) []enforcement.Answer {
	e.T.Helper()
	answers := make([]enforcement.Answer, n)
	var next atomic.Int64
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				answers[i] = services[i%len(services)].Decide(e.T.Context(), e.agent, request(i))
			}
		})
	}
	callers.Wait()
	return answers
}

func allowed(answers []enforcement.Answer) (n int) {
	for _, a := range answers {
		if a.Allowed() {
			n++
		}
	}
	return n
}

// TestAThousandCallsOnOneStep: exactly one passes, and every one is recorded.
func TestAThousandCallsOnOneStep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		shown := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank","max_calls":1}]}`)
		answers := e.together(1000, func(int) enforcement.Request { return planned(shown, "pay", `{}`) }, e.decisions)
		if n := allowed(answers); n != 1 {
			t.Errorf("%d calls passed", n)
		}
		for _, a := range answers {
			if !a.Allowed() {
				want(t, a, verdict.Deny, policy.ByIntent, "only once")
			}
			if !a.Recorded {
				t.Fatalf("not recorded: %+v", a)
			}
		}
		if n := e.verified(); n != 1000 {
			t.Errorf("%d decisions", n)
		}
		for _, a := range answers[:20] {
			if err := e.checkReceipt(a); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestLimitsAreExact(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: few; effect: allow; tools: ["bank.*"]; limit: {calls: 7, per: 1h, by: org}`)
		answers := e.together(200, func(int) enforcement.Request { return call("bank", "pay", `{}`) }, e.decisions)
		if n := allowed(answers); n != 7 {
			t.Errorf("%d calls passed, want 7", n)
		}
		if n := e.verified(); n != 200 {
			t.Errorf("%d decisions", n)
		}
		if n := e.count(`limit_use WHERE used = 7`); n != 1 {
			t.Errorf("%d counters at 7", n)
		}
	})
}

// TestLimitsAreExactAcrossReplicas has two processes share a database.
func TestLimitsAreExactAcrossReplicas(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.Postgres(t))
	second := open(t, e.Replica().DB)
	e.active("rules", `id: pace; effect: deny; tools: ["bank.*"]; limit: {calls: 11, per: 1h, by: agent}`, allowAll)
	shown := e.mint(e.agent,
		`{"steps":[{"action":"pay","mcp":"bank","max_calls":30},{"action":"get","mcp":"web","max_calls":5}]}`)
	answers := e.together(150, func(i int) enforcement.Request {
		if i%3 == 0 {
			return planned(shown, "get", `{}`)
		}
		return planned(shown, "pay", `{}`)
	}, e.decisions, second.decisions)
	passed := map[string]int{}
	for _, a := range answers {
		if a.Allowed() {
			passed[a.Server]++
		}
		if !a.Recorded {
			t.Errorf("not recorded: %s", a.Reason)
		}
	}
	if passed["bank"] != 11 || passed["web"] != 5 {
		t.Errorf("passed: %v", passed)
	}
	if n := e.verified(); n != 150 {
		t.Errorf("%d decisions", n)
	}
}

// TestARefusedStepTakesNothing: a limit is given back when the plan refuses.
func TestARefusedStepTakesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: few; effect: allow; tools: ["bank.*"]; limit: {calls: 2, per: 1h, by: org}`)
		ordered := e.mint(e.agent,
			`{"ordered":true,"steps":[{"action":"first","mcp":"bank"},{"action":"second","mcp":"bank"}]}`)
		for range 3 {
			want(t, e.decide(planned(ordered, "second", `{}`)), verdict.Deny, policy.ByIntent,
				"step 0 (first) comes before")
		}
		want(t, e.decide(planned(ordered, "first", `{}`)), verdict.Allow, "", "")
		want(t, e.decide(planned(ordered, "second", `{}`)), verdict.Allow, "", "")
		want(t, e.decide(planned(ordered, "second", `{}`)), verdict.Deny, "rules", "")
		want(t, e.decide(planned(ordered, "first", `{}`)), verdict.Deny, "", "")
	})
}

// TestALimitThatIsSpentTakesNoStep: the call is judged again, and another rule
// may let it through.
func TestALimitThatIsSpentFallsBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: few; effect: allow; tools: ["bank.*"]; limit: {calls: 1, per: 1h, by: org}`,
			`id: some; effect: allow; tools: ["bank.*"]; limit: {calls: 3, per: 1h, by: org}`)
		answers := e.together(40, func(int) enforcement.Request { return call("bank", "pay", `{}`) }, e.decisions)
		if n := allowed(answers); n != 3 {
			t.Errorf("%d calls passed, want 3", n)
		}
	})
}

// TestConcurrentDecisionsAreEachRecordedOnce mixes what is allowed, denied and held.
func TestConcurrentDecisionsAreEachRecordedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: a; effect: allow; tools: ["a.*"]`, `id: h; effect: hold; tools: ["h.*"]`)
		servers := []string{"a", "d", "h"}
		answers := e.together(300, func(i int) enforcement.Request {
			return call(servers[i%3], "t", fmt.Sprintf(`{"i":%d}`, i%30))
		}, e.decisions)
		places := map[int64]bool{}
		for _, a := range answers {
			if err := e.checkReceipt(a); err != nil || places[a.Receipt.Index] {
				t.Fatalf("receipt: %v, %+v", err, a)
			}
			places[a.Receipt.Index] = true
		}
		if n := e.verified(); n != 300 || allowed(answers) != 100 {
			t.Errorf("%d decisions, %d allowed", n, allowed(answers))
		}
		if n := e.count("approval_request"); n != 10 {
			t.Errorf("%d requests for 10 calls", n)
		}
	})
}
