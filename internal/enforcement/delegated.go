package enforcement

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"writ/internal/agent"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/intent/trust"
)

func (v *view) delegated() bool { return v.plan != nil && v.plan.Delegation != nil }

// endDelegated takes a delegation away if it, or a plan that it came from, is from before whoever made it was stopped.
func (s *Service) endDelegated(ctx context.Context, v *view, lineage []*plan.Declared) error {
	for i, link := range lineage {
		if len(v.delegators) == 0 {
			break // the chain is broken, and permits nothing
		}
		by := v.delegators[min(i, len(v.delegators)-1)]
		if by.key.holder == nil || by.agent.EndedBefore < 0 {
			continue
		}
		log := audit.LogOf(link.Binding.OrgID)
		declared, err := audit.FirstAbout(ctx, s.db, log, audit.Subject{Type: "plan", ID: link.ID})
		if err != nil {
			return fmt.Errorf("find when a plan was delegated: %w", err)
		}
		if declared < by.agent.EndedBefore {
			ended := *v.plan
			ended.Status = plan.Failed
			v.plan = &ended
		}
	}
	return nil
}

// checkDelegated compares a call with the delegation that it presents, and with every plan that it came from.
func (c *call) checkDelegated(v *view, now time.Time) plan.Result {
	r := &c.request
	var held plan.Result
	switch {
	case v.enveloped != nil:
		held = c.checkEnvelope(v, now)
	case v.presented.Contradictory:
		held = plan.Result{Drift: plan.NotGenuine, Reason: "the token was altered: use the token as it was issued"}
	default:
		held = trust.Held(v.plan, v.presented, r.Held, r.Sent, now)
	}
	if !held.OK {
		return held
	}
	if named := v.plan.Delegation.AgentID; named != "" && r.AgentID != "" && r.AgentID != named {
		return plan.Result{Drift: plan.Elsewhere, Reason: "the plan was delegated to another agent"}
	}
	declared := v.plan.Chain[len(v.plan.Chain)-1]
	if declared.Binding.AnotherUser(plan.Binding{UserID: r.UserID, Email: r.UserEmail}) {
		return plan.Result{Drift: plan.Elsewhere, Reason: "the plan was declared for another user: declare a new one"}
	}
	fit, steps := v.plan.FitChain(plan.Call{Server: r.Server, Tool: r.Tool, Arguments: c.args.Canonical})
	if fit.OK && c.contradicts() {
		called, _ := v.plan.FitChain(plan.Call{Tool: r.CalledAs, Arguments: c.args.Canonical})
		if !called.OK {
			return called
		}
	}
	if fit.OK {
		if proved := c.proveDelegated(v, steps); !proved.OK {
			return proved
		}
	}
	v.chain = steps
	return fit
}

// checkEnvelope checks what a published SDK shows in place of a delegation's token: the token of the plan that it came
// from, and the sub-tree.
func (c *call) checkEnvelope(v *view, now time.Time) plan.Result {
	r := &c.request
	checked := plan.CheckPresented(v.enveloped, v.presented, plan.Binding{
		OrgID:   c.by.OrgID,
		KeyID:   c.by.KeyID,
		UserID:  r.UserID,
		Email:   r.UserEmail,
		AgentID: r.AgentID,
		Context: r.ContextID,
		Session: r.SessionID,
	}, now)
	if !checked.OK {
		return checked
	}
	var proved *plan.Claim
	if r.Carried != nil {
		proved = r.Carried.Proof
	}
	issued, ok := v.enveloped.SubtreeAt(v.plan.Delegation.ParentRoot, v.plan.Delegation.Subtree)
	if !ok || !r.Envelope.Fits(issued, v.plan.Delegation.ParentRoot, proved) {
		return plan.Result{
			Drift: plan.BadProof, Reason: "the sub-tree is not the one that was delegated, or the call lies outside of it",
		}
	}
	return v.plan.CheckChain(now)
}

// proveDelegated checks the proof of the call's step: in the delegation itself, where it has a token, which needs none,
// or in the plan that the sub-tree of an envelope is of, which may.
func (c *call) proveDelegated(v *view, steps [][]int) plan.Result {
	in, at := v.plan, steps[0]
	if v.enveloped != nil {
		in, at = v.enveloped, steps[1]
	}
	carried := c.request.Carried
	switch {
	case carried == nil:
	case carried.Proof != nil:
		return in.ProveCall(at, *carried.Proof)
	case v.enveloped != nil && c.mustProve(v):
		return plan.Unproved()
	}
	return plan.Result{OK: true}
}

// loadEnvelope finds the delegation that a published SDK shows the sub-tree of.
func (s *Service) loadEnvelope(ctx context.Context, c *call, v *view) (err error) {
	if c.request.Envelope == nil || v.plan == nil {
		return nil
	}
	v.enveloped = v.plan
	v.plan, err = s.plans.FindEnvelope(ctx, c.by.OrgID, v.policies.Generation, v.enveloped, *c.request.Envelope)
	return err
}

// chainLeft reports whether every plan that a delegation came from has a step left for the call, and every budget a
// call.
func (s *Service) chainLeft(ctx context.Context, tx *database.Tx, o *outcome) (bool, plan.Result, error) {
	if len(o.chain) == 0 {
		return true, plan.Result{}, nil
	}
	for i, link := range o.plan.Chain {
		can, refused, err := s.plans.CanUse(ctx, tx, link, o.chain[i+1])
		if err != nil || !can {
			return false, refused, err
		}
	}
	left, err := intent.BudgetLeft(ctx, tx, o.plan)
	spent := plan.Result{
		Drift: plan.UsedUp, Reason: "the calls that were delegated are used up: ask for another delegation",
	}
	return left, spent, err
}

// claimChain takes the proof of a delegation, which counts once, and what the call uses up of the plans that it came
// from. It reports a refusal before it takes anything else.
func (s *Service) claimChain(ctx context.Context, tx *database.Tx, c *call, o *outcome) (refused plan.Result,
	err error) {
	if len(o.chain) == 0 {
		return plan.Result{OK: true}, nil
	}
	left, refused, err := s.chainLeft(ctx, tx, o)
	if err != nil || !left {
		return refused, err
	}
	if held := c.request.Held; held != nil && !o.plan.Delegation.Envelope {
		first, err := intent.UseProof(ctx, tx, o.plan.ID, held.Nonce)
		if err != nil || !first {
			return plan.Result{
				Drift: plan.Replayed, Reason: "the proof was used before: make a new one for every request",
			}, err
		}
	}
	can, refused, err := s.plans.CanUse(ctx, tx, o.plan, o.steps)
	if err != nil || !can {
		return refused, err
	}
	for i, link := range o.plan.Chain {
		step, refused, err := s.plans.UseStep(ctx, tx, link, o.chain[i+1])
		if err == nil && step < 0 {
			err = fmt.Errorf("a step of plan %s was used meanwhile: %s", link.ID, refused.Reason)
		}
		if err != nil {
			return plan.Result{}, err
		}
	}
	return plan.Result{OK: true}, intent.TakeBudget(ctx, tx, o.plan)
}

// stops are those of the caller and of everybody who delegated the call.
func (v *view) stops() []*agent.Stopped {
	stops := []*agent.Stopped{&v.agent.Stopped}
	for i, d := range v.delegators {
		if i == 0 || d != v.delegators[i-1] {
			stops = append(stops, &d.agent.Stopped)
		}
	}
	return stops
}

// planIDs are the plan of the call and those that it was delegated from, each with the one that it was accepted under.
func (v *view) planIDs() []string {
	if v.plan == nil {
		return nil
	}
	var ids []string
	for _, link := range v.plan.Lineage() {
		ids = append(ids, link.ID, cmp.Or(link.Under, link.ID))
	}
	return ids
}
