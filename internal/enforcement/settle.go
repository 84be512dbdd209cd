package enforcement

import (
	"context"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// outcome is what the transaction came to. It is made anew by each run of it.
type outcome struct {
	// attempt is stale also where a limit that the call would take from is spent by
	// now. It is no error: those that share the commit are not to blame.
	attempt
	candidate
	step     int
	approval *approval.Request
	standing *approval.StandingApproval // a wider yes that lets the call run
	opened   bool                       // the approval was asked for by this very decision
	used     bool                       // the approval's grant, or the wider yes
	// told is what the agent reads in place of the reason, where that holds
	// arguments: these are kept in the payload of their own entry and nowhere else.
	agentMessage string
	appended     *audit.Appended
}

// settle makes the candidate so, within the transaction: it is still what would
// be decided, what the call uses up is claimed, and it is recorded.
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
	return o, err
}

// changed reports whether the candidate would perhaps be another one by now.
func changed(ctx context.Context, tx *database.Tx, c *call, v *view, d candidate, now audit.Version) (bool, error) {
	if !d.since.Covers(now) {
		return true, nil
	}
	if d.plan != nil && d.Verdict != verdict.Deny && !tx.Now().Before(d.plan.Expires) {
		return true, nil // it expired on the way
	}
	if v == nil || !v.bySession {
		return false, nil
	}
	// A new plan leaves the generation as it is.
	latest, err := intent.OfSession(ctx, tx, c.by.OrgID, c.by.KeyID, c.request.SessionID)
	return latest != v.sessionPlan, err
}

// claim takes what the call uses up if it runs: from limits, a step of the plan,
// a grant. Nothing is taken for a call that does not run.
func (s *Service) claim(ctx context.Context, tx *database.Tx, c *call, o *outcome) error {
	switch o.Verdict {
	case verdict.Deny:
		return nil
	case verdict.Hold, verdict.Ask:
		if can, err := s.canRun(ctx, tx, o); err != nil || !can {
			return err
		}
		if err := s.seekApproval(ctx, tx, c, o); err != nil || !o.used {
			return err
		}
	}
	spent, err := policy.Claim(ctx, tx, c.by.OrgID, o.Claims)
	if err != nil {
		return err
	}
	if spent != nil {
		o.stale = true // judged again, it is seen to be spent
		return nil
	}
	if o.plan != nil {
		step, refused, err := s.plans.UseStep(ctx, tx, o.plan, o.steps)
		if err != nil {
			return err
		}
		if step < 0 {
			return o.refuseStep(ctx, tx, c, refused)
		}
		o.step, o.server, o.placedOn = step, o.plan.Plan.Steps[step].Server, ""
	}
	if !o.used {
		return nil
	}
	return s.consume(ctx, tx, c, o)
}

// canRun denies a call for which its plan has no step left: nobody need be asked.
func (s *Service) canRun(ctx context.Context, tx *database.Tx, o *outcome) (bool, error) {
	if o.plan == nil {
		return true, nil
	}
	can, refused, err := s.plans.CanUse(ctx, tx, o.plan, o.steps)
	if err == nil && !can {
		o.Decision = refuse(policy.ByIntent, string(refused.Drift), refused.Reason)
	}
	return can, err
}

// refuseStep turns the outcome into a deny, and gives back what was taken.
func (o *outcome) refuseStep(ctx context.Context, tx *database.Tx, c *call, refused plan.Result) error {
	claims := o.Claims
	o.Decision = refuse(policy.ByIntent, string(refused.Drift), refused.Reason)
	o.used, o.approval, o.standing = false, nil, nil
	return policy.GiveBack(ctx, tx, c.by.OrgID, claims)
}
