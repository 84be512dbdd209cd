package enforcement_test

import (
	"strings"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// verify asks about a tool of a plan, without arguments.
func (e *env) verify(shown plan.Presented, tool string) enforcement.StepAnswer {
	e.T.Helper()
	answer, err := e.decisions.VerifyStep(e.T.Context(), e.agent, enforcement.Step{Tool: tool, Presented: shown})
	if err != nil {
		e.T.Fatal(err)
	}
	return answer
}

// lastRecord is the decision that was recorded last.
func (e *env) lastRecord() decision.Record {
	e.T.Helper()
	records, err := decision.Read(e.T.Context(), e.DB, e.acme, 0, 1000)
	if err != nil || len(records) == 0 {
		e.T.Fatalf("no decision is recorded: %v", err)
	}
	return records[len(records)-1]
}

const (
	onlyLs    = `id: ls; effect: allow; tools: ["claude-code.Bash"]; when: args.command == "ls"`
	bashSteps = `{"steps":[{"action":"Bash","mcp":"claude-code","metadata":{"inputs":{"command":"ls"}}}]}`
	bareBash  = `{"steps":[{"action":"Bash","mcp":"claude-code"}]}`
	otherBash = `{"steps":[{"action":"Bash","mcp":"claude-code","metadata":{"inputs":{"command":"rm"}}}]}`
	payStep   = `{"steps":[{"action":"pay","mcp":"bank"}]}`
)

// TestPlannedArgumentsAreJudged: a rule that looks at arguments answers about a step by those that the plan states.
func TestPlannedArgumentsAreJudged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", onlyLs)
		want(t, e.verify(e.mint(e.agent, otherBash), "Bash").Answer, verdict.Deny, "rules", "")
		shown := e.mint(e.agent, bashSteps)
		held := e.verify(shown, "Bash")
		want(t, held.Answer, verdict.Hold, policy.ByIntent, "only with the arguments that its plan states")
		if held.ArgumentsFrom != decision.FromPlan || held.ApprovalID == "" || held.Rule != "planned_arguments" {
			t.Errorf("held by rule %s: approval %q, arguments from %q", held.Rule, held.ApprovalID, held.ArgumentsFrom)
		}
		if r := e.lastRecord(); r.ArgumentsFrom != decision.FromPlan || string(r.Arguments) != `{"command":"ls"}` ||
			!r.Verified || r.PlanID != shown.PlanID || r.Step != "0" || r.ApprovalID != held.ApprovalID {
			t.Errorf("recorded %+v", r)
		}
		e.believePlans()
		allowed := e.verify(shown, "Bash")
		want(t, allowed.Answer, verdict.Allow, "rules", "")
		if err := e.checkReceipt(allowed.Answer); err != nil {
			t.Error(err)
		}
		// What the plan does not state is never trusted.
		want(t, e.verify(e.mint(e.agent, bareBash), "Bash").Answer, verdict.Deny, "rules", "neither sent nor planned")
		want(t, e.verify(e.mint(e.agent, otherBash), "Bash").Answer, verdict.Deny, "rules", "")
		e.verified()
	})
}

// TestAnAllowThatNeedsNoArguments stays one, whatever the plan states.
func TestAnAllowThatNeedsNoArguments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: bash; effect: allow; tools: ["claude-code.*"]`)
		for _, steps := range []string{bashSteps, bareBash, otherBash} {
			want(t, e.verify(e.mint(e.agent, steps), "Bash").Answer, verdict.Allow, "rules", "")
		}
	})
}

// TestUnknownArguments: where a rule may deny a call that nobody has seen, no person can approve it; else one can.
func TestUnknownArguments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: secrets; effect: deny; tools: ["fs.read"]; when: args.?path.orValue("") == "key.pem"`,
			`id: many; effect: hold; tools: ["fs.write"]; when: args.?size.orValue(0) > 9; approvers: {role: admin, count: 2}`,
			`id: ask; effect: ask; tools: ["mail.send"]`, allowAll)
		for _, c := range []struct {
			server, tool string
			want         verdict.Verdict
			rule, reason string
		}{
			{"fs", "read", verdict.Deny, "unknown_arguments", "a rule may deny this tool because of its arguments"},
			{"fs", "write", verdict.Hold, "unknown_arguments", "neither sent nor planned"},
			{"mail", "send", verdict.Ask, "ask", ""},
			{"mail", "list", verdict.Allow, "all", ""},
		} {
			got := e.verify(e.mint(e.agent, `{"steps":[{"action":"`+c.tool+`","mcp":"`+c.server+`"}]}`), c.tool)
			want(t, got.Answer, c.want, "", c.reason)
			if opened := got.ApprovalID != ""; got.Rule != c.rule || got.ArgumentsFrom != decision.FromNowhere ||
				opened != (c.want == verdict.Hold || c.want == verdict.Ask) {
				t.Errorf("%s: rule %s, arguments from %q, approval %q", c.tool, got.Rule, got.ArgumentsFrom,
					got.ApprovalID)
			}
			if c.tool == "write" && (got.Approvers == nil || got.Approvers.Count != 2) {
				t.Errorf("approved by %+v, though a rule may demand two", got.Approvers)
			}
		}
	})
}

// TestAnApprovedStepRunsOnce: an approval of a step is for that step of that plan, once, and for no other route.
func TestAnApprovedStepRunsOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, allowAll)
		shown := e.mint(e.agent, payStep)
		other := e.mint(e.agent, `{"goal":"other","steps":[{"action":"pay","mcp":"bank"}]}`)
		held := e.verify(shown, "pay")
		want(t, held.Answer, verdict.Hold, "rules", "held for approval by rule pay")
		if again := e.verify(shown, "pay"); again.ApprovalID != held.ApprovalID {
			t.Errorf("asked again: request %s, want %s", again.ApprovalID, held.ApprovalID)
		}
		for name, refused := range map[string]approval.Approval{
			"for a while":    {Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5}},
			"for the plan":   {Scope: approval.Scope{Kind: approval.Plan}},
			"with arguments": {Arguments: []byte(`{"amount":1}`)},
		} {
			if _, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, refused); err == nil {
				t.Errorf("approved %s", name)
			}
		}
		request := e.say(held.Answer, approval.Approval{})
		if request.ArgumentsFrom != decision.FromNowhere || request.Step != 0 || request.PlanID != shown.PlanID ||
			!strings.Contains(request.Scope.Words(request), "nobody has seen them") {
			t.Errorf("the request is %+v: %s", request, request.Scope.Words(request))
		}
		want(t, e.decide(planned(shown, "pay", `{}`)), verdict.Hold, "rules", "")
		want(t, e.decide(call("bank", "pay", `{}`)), verdict.Hold, "rules", "")
		released, err := e.decisions.CheckApproved(t.Context(), e.agent, approval.Question{Tool: "pay"})
		if err != nil || released != nil {
			t.Errorf("check-approved released it: %+v, %v", released, err)
		}
		want(t, e.verify(other, "pay").Answer, verdict.Hold, "rules", "")
		used := e.verify(shown, "pay")
		want(t, used.Answer, verdict.Allow, policy.ByApproval, "approved, once")
		if used.ApprovalID != held.ApprovalID {
			t.Errorf("allowed by %s, want %s", used.ApprovalID, held.ApprovalID)
		}
		if next := e.verify(shown, "pay"); next.Verdict != verdict.Hold || next.ApprovalID == held.ApprovalID {
			t.Errorf("after its use: %+v", next.Answer)
		}
		e.verified()
	})
}

// TestAnApprovalOfACallIsNotForAStep: a grant or standing approval that names arguments, or a tool, does not let a step
// run whose arguments nobody has seen.
func TestAnApprovalOfACallIsNotForAStep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, allowAll)
		shown := e.mint(e.agent, payStep)
		e.say(e.decide(planned(shown, "pay", `{}`)), approval.Approval{})
		want(t, e.verify(shown, "pay").Answer, verdict.Hold, "rules", "")
		e.say(e.decide(planned(shown, "pay", `{"n":1}`)), approval.Approval{Scope: approval.Scope{Kind: approval.Plan}})
		want(t, e.verify(shown, "pay").Answer, verdict.Hold, "rules", "")
	})
}

// TestARejectedStep is denied with what the approver said, until the request expires.
func TestARejectedStep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, allowAll)
		life := (2 * approval.PendingLife).Seconds()
		shown := e.mint(e.agent, payStep, func(r *intent.Request) { r.ExpiresIn = &life })
		held := e.verify(shown, "pay")
		if _, err := e.approvals.Reject(t.Context(), bob, held.ApprovalID, "not today"); err != nil {
			t.Fatal(err)
		}
		want(t, e.verify(shown, "pay").Answer, verdict.Deny, policy.ByApproval, "said no: not today")
		e.Pass(approval.PendingLife + time.Minute)
		want(t, e.verify(shown, "pay").Answer, verdict.Hold, "rules", "")
	})
}

// TestEveryStepThatMayBeMeant: a name that fits several steps is allowed once all of them are.
func TestEveryStepThatMayBeMeant(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", onlyLs, `id: make; effect: hold; tools: ["claude-code.Bash"]; when: args.command == "make"`)
		shown := e.mint(e.agent, `{"steps":[{"action":"Bash","mcp":"claude-code","inputs":{"command":"ls"}},
			{"action":"Bash","mcp":"claude-code","inputs":{"command":"make"}},
			{"action":"Bash","mcp":"claude-code","inputs":{"command":"ls"}}]}`)
		first := e.verify(shown, "Bash")
		want(t, first.Answer, verdict.Hold, "", "")
		e.say(first.Answer, approval.Approval{})
		second := e.verify(shown, "Bash")
		want(t, second.Answer, verdict.Hold, "", "")
		if second.ApprovalID == first.ApprovalID || second.Step == first.Step {
			t.Errorf("step %d, then %d", first.Step, second.Step)
		}
		e.say(second.Answer, approval.Approval{})
		want(t, e.verify(shown, "Bash").Answer, verdict.Allow, policy.ByApproval, "")
		want(t, e.verify(shown, "Bash").Answer, verdict.Hold, "", "")
		if n := e.count(`approval_request`); n != 3 {
			t.Errorf("%d requests, want one for each of the two steps and one after their use", n)
		}
	})
}

// TestAVerifiedStepTakesFromLimits as a call does: nothing tells a question that is asked again from one about a second
// call, so that each is a decision of its own and a use.
func TestAVerifiedStepTakesFromLimits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: two; effect: allow; tools: ["bank.pay"]; limit: {calls: 2, per: 1h, by: org}`)
		shown := e.mint(e.agent, payStep)
		first, second := e.verify(shown, "pay"), e.verify(shown, "pay")
		if !first.Allowed() || !second.Allowed() || first.DecisionID == second.DecisionID {
			t.Errorf("%+v\n%+v", first.Answer, second.Answer)
		}
		want(t, e.verify(shown, "pay").Answer, verdict.Deny, "rules", "")
		want(t, e.decide(planned(shown, "pay", `{}`)), verdict.Deny, "rules", "")
	})
}

// TestAStepSeesWhatIsKnown: the environment of the key, the session of the plan and the time are those of a call.
func TestAStepSeesWhatIsKnown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules",
			`id: early; effect: allow; tools: ["bank.pay"]; when: session.calls < 1 && intent.declared && now < timestamp("2999-01-01T00:00:00Z")`)
		want(t, e.verify(e.mint(e.agent, payStep), "pay").Answer, verdict.Allow, "rules", "")
	})
}

// TestAStepThatWidensItsPlan is held as its call is, and a person can agree to it.
func TestAStepThatWidensItsPlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", allowAll)
		in := func(r *intent.Request) { r.ContextID = "work" }
		e.mint(e.agent, payStep, in)
		wider := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank"},{"action":"wipe","mcp":"disk"}]}`, in)
		want(t, e.verify(wider, "pay").Answer, verdict.Allow, "rules", "")
		held := e.verify(wider, "wipe")
		want(t, held.Answer, verdict.Hold, policy.ByIntent, "a person must agree")
		e.say(held.Answer, approval.Approval{})
		want(t, e.verify(wider, "wipe").Answer, verdict.Allow, policy.ByApproval, "")
		want(t, e.verify(wider, "wipe").Answer, verdict.Hold, policy.ByIntent, "")
	})
}

// TestStepsThatArePlannedInOrder: each verification claims a step, as a call does, and shares the position with calls.
func TestStepsThatArePlannedInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		shown := e.mint(e.agent, `{"ordered":true,"steps":[{"action":"a","mcp":"x"},{"action":"b","mcp":"x"},
			{"action":"c","mcp":"x"}]}`)
		want(t, e.verify(shown, "b").Answer, verdict.Deny, policy.ByIntent, "comes before this one")
		if first := e.verify(shown, "a"); first.Step != 0 || !first.Allowed() {
			t.Errorf("the first: %+v", first.Answer)
		}
		want(t, e.verify(shown, "c").Answer, verdict.Deny, policy.ByIntent, "comes before this one")
		want(t, e.verify(shown, "a").Answer, verdict.Allow, "rules", "")
		want(t, e.decide(planned(shown, "b", `{}`)), verdict.Allow, "rules", "")
		want(t, e.verify(shown, "a").Answer, verdict.Deny, policy.ByIntent, "this step is behind")
		if last := e.verify(shown, "c"); last.Step != 2 || !last.Allowed() {
			t.Errorf("the last: %+v", last.Answer)
		}
		if r := e.lastRecord(); r.Step != "2" || r.Verdict != verdict.Allow || !r.Verified {
			t.Errorf("recorded %+v", r)
		}
		e.verified()
	})
}

// TestAnOrderedPlanMovesOn where the next step has the same tool, and judges only what may be used now.
func TestAnOrderedPlanMovesOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.believePlans()
		e.active("rules", onlyLs, `id: make; effect: allow; tools: ["claude-code.Bash"]; when: args.command == "make"`,
			`id: read; effect: allow; tools: ["*.Read"]`)
		shown := e.mint(e.agent,
			`{"ordered":true,"steps":[{"action":"Bash","mcp":"claude-code","inputs":{"command":"ls"}},
			{"action":"Bash","mcp":"claude-code","inputs":{"command":"make"}},{"action":"Read","mcp":"claude-code"},
			{"action":"Bash","mcp":"claude-code","inputs":{"command":"rm"}}]}`)
		for i, c := range []struct{ tool, rule, args string }{
			{"Bash", "ls", `{"command":"ls"}`}, {"Bash", "make", `{"command":"make"}`}, {"Read", "read", ""},
		} {
			got := e.verify(shown, c.tool)
			if r := e.lastRecord(); !got.Allowed() || got.Step != i || got.Rule != c.rule ||
				string(r.Arguments) != c.args &&
					c.args != "" {
				t.Errorf("step %d: %+v, judged by %s", i, got.Answer, r.Arguments)
			}
		}
		want(t, e.verify(shown, "Bash").Answer, verdict.Deny, "rules", "") // only rm is left
	})
}

// believePlans lets the arguments that plans state allow a step.
func (e *env) believePlans() {
	e.T.Helper()
	settings := enforcement.Defaults()
	settings.PlannedMayAllow = true
	if _, err := e.decisions.SetSettings(e.T.Context(), e.owner, settings); err != nil {
		e.T.Fatal(err)
	}
}

// TestCountedSteps: every verification that allows is one use of a step, together with those of calls.
func TestCountedSteps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		shown := e.mint(e.agent,
			`{"steps":[{"action":"a","mcp":"x","max_calls":2},{"action":"a","mcp":"x","max_calls":1,"inputs":{"n":1}},
			{"action":"b","mcp":"x","max_calls":2}]}`)
		for _, step := range []int{0, 0, 1} {
			if got := e.verify(shown, "a"); !got.Allowed() || got.Step != step {
				t.Errorf("step %d: %+v", step, got.Answer)
			}
		}
		want(t, e.verify(shown, "a").Answer, verdict.Deny, policy.ByIntent, "used up")
		want(t, e.decide(planned(shown, "a", `{}`)), verdict.Deny, policy.ByIntent, "used up")
		want(t, e.decide(planned(shown, "b", `{}`)), verdict.Allow, "rules", "")
		want(t, e.verify(shown, "b").Answer, verdict.Allow, "rules", "")
		want(t, e.verify(shown, "b").Answer, verdict.Deny, policy.ByIntent, "used up")
	})
}

// TestACountedStepThatIsHeld uses nothing up until it runs, and nobody is asked about one that is used up.
func TestACountedStepThatIsHeld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, allowAll)
		shown := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank","max_calls":1}]}`)
		held := e.verify(shown, "pay")
		want(t, held.Answer, verdict.Hold, "rules", "")
		e.verify(shown, "pay")
		e.say(held.Answer, approval.Approval{})
		want(t, e.verify(shown, "pay").Answer, verdict.Allow, policy.ByApproval, "")
		want(t, e.verify(shown, "pay").Answer, verdict.Deny, policy.ByIntent, "used up")
		if n := e.count(`approval_request`); n != 1 {
			t.Errorf("%d requests, want one", n)
		}
	})
}

// TestEveryLimitThatAppliesIsClaimed: a name that fits two steps takes from the limits of both, each once.
func TestEveryLimitThatAppliesIsClaimed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: bank; effect: allow; tools: ["bank.pay"]; limit: {calls: 5, per: 1h, by: org}`,
			`id: shop; effect: allow; tools: ["shop.pay"]; limit: {calls: 2, per: 1h, by: org}`)
		shown := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank"},{"action":"pay","mcp":"shop"}]}`)
		for range 2 {
			want(t, e.verify(shown, "pay").Answer, verdict.Allow, "rules", "")
		}
		// Both took two: of the shop nothing is left, of the bank three.
		want(t, e.verify(shown, "pay").Answer, verdict.Deny, "rules", "")
		want(t, e.decide(call("shop", "pay", `{}`)), verdict.Deny, "rules", "")
		for range 3 {
			want(t, e.decide(call("bank", "pay", `{}`)), verdict.Allow, "rules", "")
		}
		want(t, e.decide(call("bank", "pay", `{}`)), verdict.Deny, "rules", "")
	})
}
