package enforcement

import "writ/internal/intent/plan"

// guarded is what the answer to a call says of its guarded session; nil: it is none.
func (v *view) guarded() *GuardedSession {
	if !v.session.Guarded {
		return nil
	}
	return &GuardedSession{Turn: v.session.Turn, AllowMonitor: v.settings.AllowMonitor}
}

// checkTurn compares the call with the turn of its guarded session. In such a session nothing runs without a
// plan of the turn, whatever the organization requires of other calls.
func (c *call) checkTurn(v *view) (refused plan.Result, ok bool) {
	guarded := v.session.Guarded
	switch stated := c.request.Turn; {
	case stated != 0 && (!guarded || stated != v.session.Turn):
		return plan.Result{
			Drift:  plan.OtherTurn,
			Reason: "the call belongs to another turn of the session than the present one: wait for the person's next prompt",
		}, false
	case guarded && v.session.Ended:
		return plan.Result{
			Drift: plan.Ended, Reason: "the session has ended: it goes on with the person's next prompt",
		}, false
	case guarded && v.plan != nil && v.plan.ID != v.session.PlanID:
		return plan.Result{
			Drift: plan.Elsewhere, Reason: "the plan is not the one that was registered last in this turn of the session",
		}, false
	case guarded && v.plan == nil:
		return plan.Result{
			Drift: plan.NoPlan,
			Reason: "this turn has no plan: register one that names the tools you will use and what for " +
				"(register_intent_plan), then call the tool again",
		}, false
	}
	return plan.Result{}, true
}
