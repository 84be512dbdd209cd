package enforcement_test

import (
	"encoding/json"
	"slices"
	"testing"

	"writ/internal/agent"
	"writ/internal/approval"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/policy"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// TestAKillWithdrawsHolds: lists, polls and answers show them as cancelled at once, and the rows follow.
func TestAKillWithdrawsHolds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx, bob := t.Context(), e.approver()
		e.active("rules", `id: wait; effect: hold; tools: ["bank.*"]`)
		pay, move, other := as("bot"), as("bot"), as("")
		pay.Server, pay.Tool, move.Server, move.Tool = "bank", "pay", "bank", "move"
		other.Server, other.Tool = "bank", "pay"
		granted, open := e.decide(pay).ApprovalID, e.decide(move).ApprovalID
		others := e.decisions.Decide(ctx, e.other, other).ApprovalID
		if _, err := e.approvals.Approve(ctx, bob, granted, approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		e.kill(agent.OfAgent, "bot")
		check := func(when string) {
			t.Helper()
			for _, id := range []string{granted, open} {
				r, err := e.approvals.Wait(ctx, e.agent, id, approval.MaxWait)
				if err != nil || r.Status != approval.Cancelled || !r.Withdrawn {
					t.Errorf("%s: the poll of the key is answered %s, withdrawn %t, %v", when, r.Status, r.Withdrawn,
						err)
				}
			}
			r, err := e.approvals.Get(ctx, bob, granted)
			if err != nil || r.Status != approval.Approved || !r.Withdrawn {
				t.Errorf("%s: people see what was approved as %s, withdrawn %t, %v", when, r.Status, r.Withdrawn, err)
			}
			if _, err := e.approvals.Reject(ctx, bob, open, ""); !fault.Is(err, fault.Conflict) {
				t.Errorf("%s: rejected: %v", when, err)
			}
			waiting, err := e.approvals.List(ctx, bob, approval.Filter{Status: approval.Pending, Limit: 1})
			if err != nil || len(waiting.Items) != 1 || waiting.Items[0].ID != others {
				t.Errorf("%s: pending are %+v, %v; want the one of the other key", when, waiting.Items, err)
			}
			all, err := e.approvals.List(ctx, bob, approval.Filter{})
			i := slices.IndexFunc(all.Items, func(r approval.Request) bool { return r.ID == open })
			if err != nil || len(all.Items) != 3 || all.Items[i].Status != approval.Cancelled {
				t.Errorf("%s: the list has %+v, %v", when, all.Items, err)
			}
		}
		check("before the rows follow")
		if err := e.approvals.Withdraw(ctx); err != nil {
			t.Fatal(err)
		}
		if n := e.count(`approval_request WHERE status = 'cancelled' AND decided_at_entry > 0`); n != 1 {
			t.Errorf("%d rows are marked, want 1", n)
		}
		check("after")
		e.revive(agent.OfAgent, "bot")
		check("after the revival")
		e.verified()
	})
}

// TestNothingIsAskedWhileStopped: what people approve meanwhile would hold after the revival.
func TestNothingIsAskedWhileStopped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx, bob := t.Context(), e.approver()
		e.active("rules", allowAll)
		ask := approval.Asked{Tool: "bank.pay", Email: "ada@example.org", AgentID: "bot", Arguments: []byte(`{}`)}
		before, _, err := e.approvals.Ask(ctx, e.agent, ask)
		if err != nil {
			t.Fatal(err)
		}
		e.decide(as("bot"))
		e.kill(agent.OfAgent, "bot")
		if _, _, err := e.approvals.Ask(ctx, e.agent, ask); !fault.Is(err, fault.Forbidden) {
			t.Errorf("asked: %v", err)
		}
		e.revive(agent.OfAgent, "bot")
		after, opened, err := e.approvals.Ask(ctx, e.agent, ask)
		if err != nil || !opened || after.ID == before.ID {
			t.Errorf("asked after the revival: %+v, opened %t, %v; want a new request", after, opened, err)
		}
		if _, err := e.approvals.Approve(ctx, bob, after.ID, approval.Approval{}); err != nil {
			t.Error(err)
		}
	})
}

// TestWhatWasDeclaredWhileStoppedHasEnded: SDKs get their token, because some run tools unasked without one,
// and nothing runs by it, also after the revival.
func TestWhatWasDeclaredWhileStoppedHasEnded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.decide(as("bot"))
		stop := e.kill(agent.OfAgent, "bot")
		shown := e.mint(e.agent, twoSteps)
		want(t, e.decide(planned(shown, "bash", `{"command":"make"}`)), verdict.Deny, policy.ByAgent, "stopped")
		e.revive(agent.OfAgent, "bot")
		before, err := agent.EndedBefore(t.Context(), e.DB, e.acme, "bot", e.agent.KeyID)
		if err != nil || before <= stop.Index {
			t.Errorf("what was before entry %d has ended, %v; want the revival behind %d", before, err, stop.Index)
		}
		want(t, e.decide(planned(shown, "bash", `{"command":"make"}`)), verdict.Deny, policy.ByIntent, "has ended")
	})
}

// selfMade is a plan that a plugin makes of a call.
const selfMade = `{"goal":"g","steps":[{"action":"bash","mcp":"sh","metadata":{"inputs":{"command":"make"}}}],"metadata":{"source":"claude-code"}}`

// TestAnEndedPlanCarriesNoOther: neither one from before a kill, nor one that was killed; and what it carried ends.
func TestAnEndedPlanCarriesNoOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		e.active("rules", allowAll)
		carried := func() error {
			_, err := e.plans.Mint(ctx, e.agent, intent.Request{Plan: []byte(selfMade)})
			return err
		}
		e.decide(as("bot"))
		e.mint(e.agent, twoSteps)
		e.mint(e.agent, selfMade)
		e.kill(agent.OfAgent, "bot")
		e.revive(agent.OfAgent, "bot")
		if err := carried(); !fault.Is(err, fault.Forbidden) {
			t.Errorf("under a plan from before the kill: %v", err)
		}
		parent := e.mint(e.agent, twoSteps)
		child := e.mint(e.agent, selfMade)
		run := planned(child, "bash", `{"command":"make"}`)
		want(t, e.decide(run), verdict.Allow, "", "")
		e.kill(agent.OfPlan, parent.PlanID)
		want(t, e.decide(run), verdict.Deny, policy.ByAgent, "stopped")
		if err := carried(); !fault.Is(err, fault.Forbidden) {
			t.Errorf("under a killed plan: %v", err)
		}
		e.revive(agent.OfPlan, parent.PlanID)
		want(t, e.decide(run), verdict.Allow, "", "")
	})
}

// TestOtherSurfacesKnowKills: what answers beside decisions must not say allow.
func TestOtherSurfacesKnowKills(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		e.active("rules", allowAll)
		e.decide(as("bot"))
		minted, err := e.plans.Mint(ctx, e.agent, intent.Request{Plan: []byte(twoSteps), AgentID: "bot"})
		if err != nil {
			t.Fatal(err)
		}
		says := func() (action, access bool, tools []string, status agent.Status) {
			t.Helper()
			token, _ := json.Marshal(minted.Token)
			proof, _ := json.Marshal(minted.StepProofs[0])
			verified, err := e.plans.VerifyAction(ctx, intent.ActionRequest{
				Path: "/steps/[0]/action", Value: []byte(`"read"`), Proof: proof, Token: token,
			})
			if err != nil {
				t.Fatal(err)
			}
			x, err := e.decisions.Explain(ctx, e.owner, toolcall.Call{Server: "fs", Tool: "read"})
			if err != nil {
				t.Fatal(err)
			}
			validation, _ := e.decisions.Foresee(ctx, e.agent, minted.Plan, nil, enforcement.Parties{AgentID: "bot"})
			if status, err = e.agents.StatusOf(ctx, e.agent, "bot"); err != nil {
				t.Fatal(err)
			}
			return verified.Allowed, x.Decision.Verdict == verdict.Allow, validation.AllowedTools, status
		}
		action, access, tools, status := says()
		if !action || !access || !slices.Equal(tools, []string{"bash", "read"}) || status == agent.Killed {
			t.Fatalf("before: %t, %t, %v, %s", action, access, tools, status)
		}
		for _, c := range []struct {
			scope   agent.Scope
			subject string
			tools   []string
			action  bool
			access  bool
			status  agent.Status
		}{
			{agent.OfServer, "fs", []string{"bash"}, true, false, agent.Unregistered},
			{agent.OfTool, "read", []string{"bash"}, true, false, agent.Unregistered},
			{agent.OfPlan, minted.PlanID, []string{"bash", "read"}, false, true, agent.Unregistered},
			{agent.OfKey, e.agent.KeyID, nil, false, true, agent.Killed},
			{agent.OfOrganization, "", nil, false, false, agent.Killed},
		} {
			e.kill(c.scope, c.subject)
			action, access, tools, status := says()
			if action != c.action || access != c.access || !slices.Equal(tools, c.tools) || status != c.status {
				t.Errorf("%s: verified %t, access %t, tools %v, status %s; want %+v", c.scope, action, access, tools,
					status, c)
			}
			e.revive(c.scope, c.subject)
			if c.status == agent.Killed { // its plans have ended
				minted, err = e.plans.Mint(ctx, e.agent, intent.Request{Plan: []byte(twoSteps), AgentID: "bot"})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestAPlanFromBeforeAKillVerifiesNothing after the revival either.
func TestAPlanFromBeforeAKillVerifiesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.decide(as("bot"))
		minted, err := e.plans.Mint(t.Context(), e.agent, intent.Request{Plan: []byte(twoSteps)})
		if err != nil {
			t.Fatal(err)
		}
		e.kill(agent.OfAgent, "bot")
		e.revive(agent.OfAgent, "bot")
		token, _ := json.Marshal(minted.Token)
		proof, _ := json.Marshal(minted.StepProofs[0])
		verified, err := e.plans.VerifyAction(t.Context(), intent.ActionRequest{
			Path: "/steps/[0]/action", Value: []byte(`"read"`), Proof: proof, Token: token,
		})
		if err != nil || verified.Allowed {
			t.Errorf("%+v, %v", verified, err)
		}
	})
}
