package enforcement

import (
	"context"
	"errors"
	"fmt"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/intent"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// settleSteps records the answer about a tool that fits these steps, the strictest first, and which of them gave it. A
// tool is allowed once every step is, by policies or by a person.
func (s *Service) settleSteps(
	ctx context.Context, tx *database.Tx, v *view, judged []*judgedStep,
) (outcome, *judgedStep, error) {
	first := judged[0]
	now, err := s.log.Version(ctx, tx, audit.LogOf(first.call.by.OrgID))
	if err != nil {
		return outcome{}, nil, err
	}
	done := attempt{first.isStale(now), now.Epoch != first.since.Epoch}
	if !done.stale && first.Verdict != verdict.Deny {
		done.stale = !tx.Now().Before(v.plan.Expires)
	}
	if done.stale {
		return outcome{attempt: done}, nil, nil
	}
	outcomes, decisive, err := s.approveSteps(ctx, tx, judged)
	if err != nil {
		return outcome{}, nil, err
	}
	o := outcomes[decisive]
	if o.Verdict == verdict.Allow || o.used {
		if err := s.useSteps(ctx, tx, judged, outcomes, o); err != nil || o.stale {
			return *o, nil, err
		}
	}
	err = s.recordStep(ctx, tx, judged[decisive].call, o)
	return *o, judged[decisive], err
}

// approveSteps finds the approvals of held steps. The decisive one is the first that does not run.
func (s *Service) approveSteps(
	ctx context.Context, tx *database.Tx, judged []*judgedStep,
) (outcomes []*outcome, decisive int, err error) {
	for i, j := range judged {
		o := &outcome{candidate: j.candidate, step: j.step()}
		outcomes = append(outcomes, o)
		if o.Verdict == verdict.Hold || o.Verdict == verdict.Ask {
			if err := s.findStepApproval(ctx, tx, j.call, o); err != nil {
				return nil, 0, err
			}
		}
		if o.Verdict != verdict.Allow && !o.used {
			return outcomes, i, nil
		}
	}
	return outcomes, 0, nil
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

// useSteps takes what the call uses up if it runs: from limits, and the approvals of its steps.
func (s *Service) useSteps(
	ctx context.Context, tx *database.Tx, judged []*judgedStep, outcomes []*outcome, by *outcome,
) error {
	spent, err := policy.Claim(ctx, tx, judged[0].call.by.OrgID, by.Claims)
	if err != nil {
		return err
	}
	if spent != nil {
		by.stale = true // judging again finds the limit spent
		return nil
	}
	for i, o := range outcomes {
		if o.used {
			if err := s.consume(ctx, tx, judged[i].call, o); err != nil {
				return err
			}
		}
		if judged[i].call.argumentsFrom == decision.FromPlan {
			if err := intent.NoteAllowed(ctx, tx, o.plan.ID, o.step); err != nil {
				return err
			}
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
		return approval.Opened(ctx, tx, o.approval, o.appended)
	}
	return nil
}
