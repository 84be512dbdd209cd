package enforcement

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/verdict"
)

// settledStep is a step with the outcome of its transaction.
type settledStep struct {
	call *call
	outcome
}

// settleSteps records the answer about a tool that fits these steps, the strictest first, and by which call. A tool is
// allowed once every step that may be used now is, by policies or by a person.
func (s *Service) settleSteps(ctx context.Context, tx *database.Tx, judged []*judgedStep) (outcome, *call, error) {
	judged, err := s.usableSteps(ctx, tx, judged)
	if err != nil {
		return outcome{}, nil, err
	}
	first := judged[0]
	now, err := s.log.Version(ctx, tx, audit.LogOf(first.call.by.OrgID))
	if err != nil {
		return outcome{}, nil, err
	}
	known, err := first.grounded.changed(ctx, tx)
	if err != nil {
		return outcome{}, nil, err
	}
	if known || first.isStale(now, tx.Now()) {
		return outcome{attempt: attempt{true, now.Epoch != first.since.Epoch}}, nil, nil
	}
	steps, decisive, err := s.approveSteps(ctx, tx, judged)
	if err != nil {
		return outcome{}, nil, err
	}
	if decisive == nil {
		if decisive, err = s.useSteps(ctx, tx, steps); err != nil || decisive == nil {
			return outcome{attempt: attempt{stale: true}}, nil, err // judging again finds the limit spent
		}
	}
	err = s.recordStep(ctx, tx, decisive.call, &decisive.outcome)
	return decisive.outcome, decisive.call, err
}

// usableSteps are those that the plan's order and counts let run now, the strictest first; if there is none, the deny.
func (s *Service) usableSteps(ctx context.Context, tx *database.Tx, judged []*judgedStep) ([]*judgedStep, error) {
	var steps []int
	for _, j := range judged {
		steps = append(steps, j.steps...)
	}
	if len(steps) == 0 {
		return judged, nil // it is refused already
	}
	slices.Sort(steps)
	usable, refused, err := s.plans.Usable(ctx, tx, judged[0].plan, steps)
	if err != nil {
		return nil, err
	}
	if len(usable) == 0 {
		none := *judged[0]
		none.Decision, none.steps = refuse(policy.ByIntent, string(refused.Drift), refused.Reason), nil
		return []*judgedStep{&none}, nil
	}
	var left []*judgedStep
	for _, j := range judged {
		of := *j // the transaction may run twice
		of.steps = slices.DeleteFunc(slices.Clone(j.steps), func(i int) bool { return !slices.Contains(usable, i) })
		if len(of.steps) > 0 {
			left = append(left, &of)
		}
	}
	return left, nil
}

// approveSteps finds the approvals of held steps. The decisive one is the first that does not run; nil: all may.
func (s *Service) approveSteps(
	ctx context.Context, tx *database.Tx, judged []*judgedStep,
) (steps []*settledStep, decisive *settledStep, err error) {
	for _, j := range judged {
		o := &settledStep{j.call, outcome{candidate: j.candidate, step: j.step()}}
		steps = append(steps, o)
		if o.Verdict == verdict.Hold || o.Verdict == verdict.Ask {
			if err := s.findStepApproval(ctx, tx, j.call, &o.outcome); err != nil {
				return nil, nil, err
			}
		}
		if o.Verdict != verdict.Allow && !o.used {
			return steps, o, nil
		}
	}
	return steps, nil, nil
}

// findStepApproval finds the answer to the hold or ask of a step, or opens a request for one. It is for this step of
// this plan alone.
func (s *Service) findStepApproval(ctx context.Context, tx *database.Tx, c *call, o *outcome) error {
	asked, want := c.approvalCall(o), requirementOf(o)
	request, err := s.approvals.FindForStep(ctx, tx, asked, want, c.argumentsFrom)
	if err != nil {
		return err
	}
	o.approval = request
	if request != nil {
		if o.applyAnswer(request, tx) {
			return nil
		}
		return approval.Repeat(ctx, tx, request)
	}
	request, err = s.approvals.OpenForStep(ctx, tx, asked, want, c.argumentsFrom)
	if errors.Is(err, approval.ErrTooMany) {
		o.Decision = refuse(policy.ByApproval, "too_many", approval.ErrTooMany.Message)
		return nil
	}
	o.approval, o.opened = request, err == nil
	return err
}

// useSteps takes what the call uses up if it runs: from every limit that applies to one of the steps, a use of a step,
// and the approvals. It returns the step that is recorded; nil: a limit was spent meanwhile.
func (s *Service) useSteps(ctx context.Context, tx *database.Tx, steps []*settledStep) (*settledStep, error) {
	var claims []engine.Claim
	for _, o := range steps {
		claims = append(claims, o.Claims...)
	}
	spent, err := policy.Claim(ctx, tx, steps[0].call.by.OrgID, claims)
	if err != nil || spent != nil {
		return nil, err
	}
	decisive, err := s.claimStep(ctx, tx, steps)
	if err != nil {
		return nil, err
	}
	for _, o := range steps {
		if o.used {
			if err := s.consume(ctx, tx, o.call, &o.outcome); err != nil {
				return nil, err
			}
		}
	}
	return decisive, noteAllowed(ctx, tx, steps)
}

// claimStep claims a use of the step that is recorded: the strictest, except that an ordered plan moves on.
func (s *Service) claimStep(ctx context.Context, tx *database.Tx, steps []*settledStep) (*settledStep, error) {
	decisive, declared := steps[0], steps[0].plan
	of := decisive.steps
	if declared.Plan.Ordered {
		of = nil
		for _, o := range steps {
			of = append(of, o.steps...)
		}
		slices.Sort(of)
	}
	step, refused, err := s.plans.UseStep(ctx, tx, declared, of)
	if err == nil && step < 0 {
		err = fmt.Errorf("use a step of plan %s that was free: %s", declared.ID, refused.Reason)
	}
	if err != nil {
		return nil, err
	}
	if !decisive.used {
		decisive = steps[slices.IndexFunc(steps, func(o *settledStep) bool {
			return slices.Contains(o.steps, step)
		})]
	}
	decisive.step = step
	return decisive, nil
}

// noteAllowed notes the steps that were allowed, if the plan states arguments for any step with the tool: reports are
// compared with those.
func noteAllowed(ctx context.Context, tx *database.Tx, steps []*settledStep) error {
	declared := steps[0].plan
	if !slices.ContainsFunc(declared.Plan.Planned(steps[0].call.request.Tool), func(i int) bool {
		return declared.Plan.Steps[i].PlansArguments()
	}) {
		return nil
	}
	for _, o := range steps {
		if err := intent.NoteAllowed(ctx, tx, declared.ID, o.steps[0]); err != nil {
			return err
		}
	}
	return nil
}

// recordStep records the answer, and where a request was opened by it.
func (s *Service) recordStep(ctx context.Context, tx *database.Tx, c *call, o *outcome) (err error) {
	if o.appended, err = s.record(ctx, tx, c, o); err != nil {
		return fmt.Errorf("record a step: %w", err)
	}
	if o.opened {
		if err := approval.Opened(ctx, tx, o.approval, o.appended); err != nil {
			return err
		}
	}
	return s.remember(ctx, tx, c, o, o.appended)
}
