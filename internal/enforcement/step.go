package enforcement

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/names"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/redaction"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// Step asks whether a plan has a tool, and whether every call of it is allowed.
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
}

func refuseStep(reason string) StepAnswer { return StepAnswer{Answer: refusePlan("", reason)} }

// refusePlan is a deny by the plan.
func refusePlan(planID, reason string) Answer {
	return Answer{Ruling: refuse(policy.ByIntent, "", reason).Ruling, PlanID: planID, Step: -1}
}

// VerifyStep judges a tool by its plan, then by what policies say about every call of it, and records the answer. It
// claims nothing. A caller without a kind has only the plan's token as a credential, and acts as the plan's key.
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
		return refuseStep(shown.Reason), attempt{}, nil // it belongs to no log
	}
	c := step.call(declared.Binding)
	v, err := s.loadView(ctx, c, true)
	switch {
	case err != nil:
		return StepAnswer{}, attempt{}, err
	case !v.key.validAt(s.db.Now()):
		return refuseStep("the API key that declared this plan is not valid any more"), attempt{}, nil
	case v.plan == nil:
		return StepAnswer{}, attempt{stale: true}, nil // deleted meanwhile
	}
	answer := StepAnswer{Plan: v.plan}
	answer.Result = plan.VerifyStep(v.plan, step.Presented, step.Server, step.Tool, step.Claim, by, s.db.Now())
	answer.Answer = refusePlan(v.plan.ID, answer.Result.Reason)
	if answer.Result.OK {
		answer.Answer = s.foreseeStep(c, v, answer.Result.Steps)
	}
	done, err := s.recordStep(ctx, c, v, answer.Answer)
	answer.Recorded = err == nil && !done.stale
	return answer, done, err
}

// call is the step as a call of the principal that declared the plan.
func (s Step) call(by plan.Binding) *call {
	c := callFor(principal.Principal{OrgID: by.OrgID, KeyID: by.KeyID}, Parties{by.AgentID, by.UserID, by.Email})
	c.request.Tool, c.request.Presented = s.Tool, s.Presented
	return c
}

// foreseeStep is what policies say about every call of a step's tool: the strictest answer over the callers, the
// servers of the steps, and the spellings of the name. If it depends on the call, it is not allowed here.
func (s *Service) foreseeStep(c *call, v *view, steps []int) Answer {
	if broken, ok := errors.AsType[*policy.BrokenError](v.broken); ok {
		refused := refusePlan(v.plan.ID, "an active policy cannot be read by this server, so nothing is allowed")
		refused.PolicyID, refused.PolicyVersion = broken.PolicyID, broken.Version
		return refused
	}
	strictest := Answer{Ruling: verdict.Ruling{Verdict: verdict.Allow + 1}}
	for _, i := range steps {
		call := c.toolcall(v, toolname.Name{}, i, s.db.Now())
		questions := engine.Ask(*call, v.plan.Plan.Steps[i].Names(c.request.Tool))
		for _, asked := range forCallers(v.policies.Set, questions) {
			if answer := foreseenAnswer(v.policies.Set.ForeseeNamed(asked)); answer.Verdict < strictest.Verdict {
				answer.Server, answer.PlanID, answer.Step = asked[0].Call.Server, v.plan.ID, i
				strictest = answer
			}
		}
	}
	return strictest
}

// forCallers are the questions for each caller that a set must be asked about.
func forCallers(set *engine.Set, questions []engine.Question) [][]engine.Question {
	alone := slices.Clone(questions)
	for i, q := range questions {
		if alone[i].Call = policy.ForKeyAlone(set, q.Call, nil); alone[i].Call == nil {
			return [][]engine.Question{questions}
		}
	}
	return [][]engine.Question{questions, alone}
}

// foreseenAnswer is a foresight as an answer, which allows only what is certain.
func foreseenAnswer(f engine.Foresight) Answer {
	answer := Answer{Ruling: f.Ruling}
	answer.PolicyID = cmp.Or(answer.PolicyID, policy.ByDefault)
	if answer.Verdict == verdict.Allow && !f.Certain {
		answer.Verdict = verdict.Deny
		answer.Reason = "whether this tool may run depends on its arguments, which were not sent: ask POST /iap/sdk/enforce"
	}
	return answer
}

// recordStep records the answer. If something changed since it was judged, only a deny is recorded.
func (s *Service) recordStep(ctx context.Context, c *call, v *view, a Answer) (done attempt, err error) {
	log := audit.LogOf(c.by.OrgID)
	err = s.write(ctx, c.by.OrgID, func(ctx context.Context, tx *database.Tx) error {
		now, err := s.log.Version(ctx, tx, log)
		if err != nil {
			return err
		}
		judged := v.policies.Version
		done = attempt{a.Verdict != verdict.Deny && !judged.Covers(now), now.Epoch != judged.Epoch}
		if done.stale {
			return nil
		}
		_, err = s.log.Append(ctx, tx, audit.Entry{
			Log:         log,
			Action:      "step.verified",
			Actor:       c.by,
			Subject:     audit.Subject{Type: "plan", ID: a.PlanID},
			Observation: true,
			Payload: checkedStep{
				Tool:    names.Cut(redaction.Text(c.request.Tool), names.MaxBytes),
				Server:  a.Server,
				Agent:   v.plan.Binding.AgentID,
				Verdict: a.Verdict.String(),
				Reason:  a.Reason,
				Policy:  a.PolicyID,
				Version: a.PolicyVersion,
				Rule:    a.Rule,
			},
		})
		return err
	})
	return done, err
}

// checkedStep is the payload of the audit entry about a step.
type checkedStep struct {
	Tool    string `json:"tool"`
	Server  string `json:"server,omitzero"`
	Agent   string `json:"agentId,omitzero"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	Policy  string `json:"policyId,omitzero"`
	Version int    `json:"policyVersion,omitzero"`
	Rule    string `json:"rule,omitzero"`
}
