package enforcement

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/toolname"
)

// Step asks whether a call of a plan's tool may run now, without the arguments of the call.
type Step struct {
	Server    string // empty: not stated
	Tool      string
	Presented plan.Presented
	Claim     *plan.Claim // the step, with the client's proof; nil: any
}

// StepAnswer is the answer about a step.
type StepAnswer struct {
	Answer
	// Plan is the step's plan, and Result what it says about the tool. Plan is nil if the token is not of a plan of the
	// caller; then nothing is recorded.
	Plan   *plan.Declared
	Result plan.Result
	// ArgumentsFrom says by which arguments the step was judged, as decision.Details does.
	ArgumentsFrom string
}

// refuseStep is the answer to a token that belongs to no log, so that it is not recorded.
func refuseStep(reason string) StepAnswer {
	return StepAnswer{Answer: Answer{Ruling: refuse(policy.ByIntent, "", reason).Ruling, Step: -1}}
}

// VerifyStep decides about a step of a plan as Decide does about a call, and records it. The arguments that the plan
// states are judged as those of the call. A caller without a kind has only the plan's token as a credential, and acts
// as the plan's key.
func (s *Service) VerifyStep(ctx context.Context, p principal.Principal, step Step) (answer StepAnswer, err error) {
	current, err := s.retry(func(bool) (done attempt, err error) {
		answer, done, err = s.verifyStep(ctx, p, step)
		return done, err
	})
	if err == nil && !current {
		answer = refuseStep("what the plan is judged by keeps changing: try again")
	}
	return answer, err
}

func (s *Service) verifyStep(ctx context.Context, p principal.Principal, step Step) (StepAnswer, attempt, error) {
	declared, err := s.plans.FindByToken(ctx, step.Presented)
	if err != nil {
		return StepAnswer{}, attempt{}, err
	}
	if declared == nil {
		return refuseStep(plan.Missing().Reason), attempt{}, nil
	}
	by := plan.Binding{OrgID: p.OrgID, KeyID: p.KeyID}
	if p.Kind == "" {
		by = declared.Binding
	}
	switch shown := plan.CheckPresented(declared, step.Presented, by, s.db.Now()); shown.Drift {
	case plan.NotGenuine, plan.Elsewhere:
		return refuseStep(shown.Reason), attempt{}, nil
	}
	c := step.call(declared)
	v, err := s.loadView(ctx, c, true)
	switch {
	case err != nil:
		return StepAnswer{}, attempt{}, err
	case !v.key.validAt(s.db.Now()):
		return refuseStep("the API key that declared this plan is not valid any more"), attempt{}, nil
	case v.plan == nil:
		return StepAnswer{}, attempt{stale: true}, nil // deleted meanwhile
	}
	c.request.Environment = c.by.Environment // known since the key is
	fit := plan.VerifyStep(v.plan, step.Presented, step.Server, step.Tool, step.Claim, by, s.db.Now())
	return s.decideStep(ctx, c, v, fit)
}

// call is the step as a call of the principal that declared the plan, from the harness that the plan names.
func (s Step) call(d *plan.Declared) *call {
	by := d.Binding
	c := callFor(principal.Principal{OrgID: by.OrgID, KeyID: by.KeyID}, Parties{by.AgentID, by.UserID, by.Email})
	c.id, c.started, c.verifies = database.NewID(), time.Now(), true
	c.request.Server, c.request.Tool, c.request.Presented = s.Server, s.Tool, s.Presented
	if harness := toolname.Harness(d.Plan.Source); harness != toolname.Local {
		c.request.Source = harness
	}
	c.readNames()
	return c
}

// decideStep judges the steps that a tool fits, and records the strictest answer.
func (s *Service) decideStep(ctx context.Context, c *call, v *view, fit plan.Result) (StepAnswer, attempt, error) {
	judged, err := s.judgeSteps(ctx, c, v, fit)
	if err != nil {
		return StepAnswer{}, attempt{}, err
	}
	var o outcome
	var by *call
	err = s.write(ctx, c.by.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		o, by, err = s.settleSteps(ctx, tx, judged)
		return err
	})
	if err != nil || o.stale {
		return StepAnswer{}, o.attempt, err
	}
	if o.step >= 0 {
		fit.Steps = []int{o.step}
	}
	answer := StepAnswer{Plan: v.plan, Result: fit, ArgumentsFrom: by.argumentsFrom}
	answer.Answer = s.answer(ctx, by, &o)
	return answer, o.attempt, nil
}
