package enforcement

import (
	"context"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// outcome is the result of the transaction.
type outcome struct {
	// attempt is also stale if a limit that the call takes from was spent meanwhile. That is no error, because an error
	// would fail the other changes of the same commit too.
	attempt
	candidate
	step     int
	approval *approval.Request
	standing *approval.StandingApproval // lets the call run
	opened   bool                       // this decision opened the approval request
	used     bool                       // the call uses the request's grant, or the standing approval
	// agentMessage replaces the reason in the agent's answer if it holds arguments, which must not be recorded again.
	agentMessage string
	appended     *audit.Appended
}

// settle checks in the transaction that the candidate is still current, claims what the call uses up, and records it.
func (s *Service) settle(ctx context.Context, tx *database.Tx, c *call, v *view, d candidate) (outcome, error) {
	now, err := s.log.Version(ctx, tx, audit.LogOf(c.by.OrgID))
	if err != nil {
		return outcome{}, err
	}
	o := outcome{candidate: d, step: -1}
	if !d.final {
		if stale, err := changed(ctx, tx, c, v, d, now); err != nil || stale {
			return outcome{attempt: attempt{stale, now.Epoch != d.since.Epoch}}, err
		}
		if err := s.claim(ctx, tx, c, &o); err != nil || o.stale {
			return o, err
		}
	}
	if o.appended, err = s.record(ctx, tx, c, &o); err == nil && o.opened {
		err = approval.Opened(ctx, tx, o.approval, o.appended)
	}
	if err == nil {
		err = s.remember(ctx, tx, c, &o, o.appended)
	}
	return o, err
}

// changed reports whether the call must be judged again.
func changed(ctx context.Context, tx *database.Tx, c *call, v *view, d candidate, now audit.Version) (bool, error) {
	if !d.since.Covers(now) {
		return true, nil
	}
	if d.plan != nil && d.Verdict != verdict.Deny && !tx.Now().Before(d.plan.Expires) {
		return true, nil // the plan expired meanwhile
	}
	if more, err := d.grounded.changed(ctx, tx); err != nil || more {
		return more, err
	}
	if v == nil || !v.asksSession(c) {
		return false, nil
	}
	// Neither a new plan nor a new turn raises the generation.
	latest, err := intent.OfSession(ctx, tx.Prepared(), c.by.OrgID, c.by.KeyID, c.request.SessionID)
	return latest != v.session, err
}

// claim takes what the call uses up if it runs: from limits, a step of the plan, and an approval.
func (s *Service) claim(ctx context.Context, tx *database.Tx, c *call, o *outcome) error {
	switch o.Verdict {
	case verdict.Deny:
		return nil
	case verdict.Hold, verdict.Ask:
		if can, err := s.canRun(ctx, tx, o); err != nil || !can {
			return err
		}
		if err := s.findApproval(ctx, tx, c, o); err != nil || !o.used {
			return err
		}
	}
	spent, err := policy.Claim(ctx, tx, c.by.OrgID, o.Claims)
	if err != nil {
		return err
	}
	if spent != nil {
		o.stale = true // judging again finds the limit spent
		return nil
	}
	if refused, err := s.claimChain(ctx, tx, c, o); err != nil || !refused.OK {
		if err != nil {
			return err
		}
		return o.refuseStep(ctx, tx, c, refused)
	}
	if o.plan != nil && !o.unplanned() {
		step, refused, err := s.plans.UseStep(ctx, tx, o.plan, o.steps)
		if err != nil {
			return err
		}
		if step < 0 {
			return o.refuseStep(ctx, tx, c, refused)
		}
		o.step = step
		planned := &o.plan.Plan.Steps[step]
		if !planned.Joins(c.request.Server, c.request.Tool) && !planned.Dotted() &&
			(!toolname.IsStamp(planned.Server) || toolname.IsBare(planned.Tool)) {
			o.server, o.placedOn = planned.Server, ""
		}
	}
	if !o.used {
		return nil
	}
	return s.consume(ctx, tx, c, o)
}

// unplanned reports whether the call fits no step, and grounding let it through: there is none to claim.
func (o *outcome) unplanned() bool { return len(o.steps) == 0 && o.grounded.judged }

// canRun denies a call whose plan has no step left, before anybody is asked to approve it.
func (s *Service) canRun(ctx context.Context, tx *database.Tx, o *outcome) (bool, error) {
	if o.plan == nil || o.unplanned() {
		return true, nil
	}
	can, refused, err := s.plans.CanUse(ctx, tx, o.plan, o.steps)
	if err == nil && can {
		can, refused, err = s.chainLeft(ctx, tx, o)
	}
	if err == nil && !can {
		o.Decision = refuse(policy.ByIntent, string(refused.Drift), refused.Reason)
	}
	return can, err
}

// refuseStep turns the outcome into a deny, and gives back what was claimed.
func (o *outcome) refuseStep(ctx context.Context, tx *database.Tx, c *call, refused plan.Result) error {
	claims := o.Claims
	o.Decision = refuse(policy.ByIntent, string(refused.Drift), refused.Reason)
	o.used, o.approval, o.standing = false, nil, nil
	return policy.GiveBack(ctx, tx, c.by.OrgID, claims)
}
