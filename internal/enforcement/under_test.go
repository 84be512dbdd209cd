package enforcement_test

import (
	"testing"

	"writ/internal/agent"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// TestAcceptedPlansPermitNoMoreThanTheirHolder: a plan that a plugin made by itself was accepted because another one
// permitted its call. It counts no more once that one is revoked, alone or not, or permits the call no more.
func TestAcceptedPlansPermitNoMoreThanTheirHolder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		for name, end := range map[string]func(holder string) error{
			"revoked alone": func(holder string) error {
				_, err := e.plans.Revoke(t.Context(), e.agent, intent.RevokeRequest{ID: holder, Reason: "over"})
				return err
			},
			"re-anchored": func(holder string) error {
				_, err := e.plans.Reanchor(t.Context(), e.agent, intent.ReanchorRequest{
					PlanID: holder, Plan: []byte(`{"goal":"build","steps":[{"action":"read","mcp":"fs"}]}`),
					Widening: intent.HoldWidening,
				})
				return err
			},
		} {
			holder := e.mint(e.agent, twoSteps)
			run := planned(e.mint(e.agent, selfMade), "bash", `{"command":"make"}`)
			h := e.delegated(e.agent, run.Presented, nil)
			want(t, e.decide(run), verdict.Allow, "", "")
			want(t, e.asOther(e.asks(h, "bash", `{"command":"make"}`)), verdict.Allow, "", "")
			if err := end(holder.PlanID); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := e.decide(run); got.Verdict != verdict.Deny {
				t.Errorf("%s: what was accepted under it is still allowed: %s", name, got.Reason)
			}
			_, err := e.plans.SetStatus(t.Context(), e.owner, run.Presented.PlanID, plan.Active)
			testenv.WantFault(t, name+": made active again", err, fault.Conflict)
			if got := e.asOther(e.asks(h, "bash", `{"command":"make"}`)); got.Verdict != verdict.Deny {
				t.Errorf("%s: what was delegated from that is still allowed: %s", name, got.Reason)
			}
		}
	})
}

// TestKilledHoldersTakeDelegationsAlong: the kill switch of a plan stops what was delegated from the plans that were
// accepted under it, too.
func TestKilledHoldersTakeDelegationsAlong(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		holder := e.mint(e.agent, twoSteps)
		h := e.delegated(e.agent, e.mint(e.agent, selfMade), nil)
		want(t, e.asOther(e.asks(h, "bash", `{"command":"make"}`)), verdict.Allow, "", "")
		e.kill(agent.OfPlan, holder.PlanID)
		want(t, e.asOther(e.asks(h, "bash", `{"command":"make"}`)), verdict.Deny, policy.ByAgent, "stopped")
	})
}
