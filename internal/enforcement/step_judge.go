package enforcement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"writ/internal/arguments"
	"writ/internal/audit"
	"writ/internal/decision"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/redaction"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// judgedStep is a step of a plan as a call, and what is decided about it. Its steps are alike: any of them may be used.
type judgedStep struct {
	call *call
	candidate
	questions []engine.Question
}

// step is the index of the step in its plan; -1: the tool fits none.
func (j *judgedStep) step() int {
	if len(j.steps) == 0 {
		return -1
	}
	return j.steps[0]
}

// judgeSteps judges every step that a tool fits, the strictest first: at least one. Any of them may be meant, so that
// all of them must be allowed.
func (s *Service) judgeSteps(ctx context.Context, c *call, v *view, fit plan.Result) ([]*judgedStep, error) {
	caller := c.toolcall(v, toolname.Name{}, -1, s.db.Now())
	if refused, ok := c.refuseSteps(v, caller, fit); ok {
		d := candidate{Decision: refused, since: v.policies.Version, plan: v.plan}
		d.place(c, v)
		d.caller, d.counting = caller, v.agent.Counting
		return []*judgedStep{{call: c, candidate: d}}, nil
	}
	var judged []*judgedStep
	for _, alike := range alikeSteps(v.plan.Plan, fit.Steps) {
		of, err := s.withPlanned(ctx, c, &v.plan.Plan.Steps[alike[0]])
		if err != nil {
			return nil, err
		}
		judged = append(judged, s.judgeStep(ctx, of, v, alike, fit))
	}
	slices.SortStableFunc(judged, func(a, b *judgedStep) int { return cmp.Compare(a.Verdict, b.Verdict) })
	return judged, nil
}

// refuseSteps is the deny of a tool that the plan does not permit, or that cannot be judged.
func (c *call) refuseSteps(v *view, caller *toolcall.Call, fit plan.Result) (engine.Decision, bool) {
	if c.problem != "" {
		return refuse(policy.ByDefault, "call", c.problem), true
	}
	if refused, ok := v.refuseCaller(caller); ok {
		return refused, true
	}
	if !fit.OK && fit.Drift != plan.Widened {
		return refuse(policy.ByIntent, string(fit.Drift), redaction.Text(fit.Reason)), true
	}
	if broken, ok := errors.AsType[*policy.BrokenError](v.broken); ok && broken.PolicyID == "" {
		return refuse(policy.ByDefault, "unavailable", unavailableReason(broken)), true
	} else if ok {
		d := refuse(broken.PolicyID, "", "an active policy cannot be read by this server, so nothing is allowed")
		d.PolicyVersion = broken.Version
		return d, true
	}
	return engine.Decision{}, false
}

// alikeSteps groups the steps that have the same server, tool and arguments: they are judged once.
func alikeSteps(p *plan.Plan, steps []int) (groups [][]int) {
	type same struct {
		server, tool, arguments string
		isStrict                bool
	}
	known := map[same]int{}
	for _, i := range steps {
		s := &p.Steps[i]
		key := same{s.Server, s.Tool, s.Arguments().Text(), s.Strict}
		at, ok := known[key]
		if !ok {
			at = len(groups)
			known[key], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// withPlanned is the call with the arguments that a step states.
func (s *Service) withPlanned(ctx context.Context, c *call, step *plan.Step) (*call, error) {
	of := *c
	if !step.PlansArguments() {
		of.argumentsFrom, of.args.Incomplete = decision.FromNowhere, true
		return &of, nil
	}
	text := step.Arguments().Text()
	var err error
	if of.args, err = arguments.Read([]byte(text)); err != nil {
		return nil, fmt.Errorf("read the arguments of a step: %w", err)
	}
	digester, err := s.plans.Digester(ctx, c.by.OrgID)
	if err != nil {
		return nil, err
	}
	digest := digester.Arguments(text)
	of.digest, of.argumentsFrom = digest[:], decision.FromPlan
	return &of, nil
}

// judgeStep judges steps that are alike as one call.
func (s *Service) judgeStep(ctx context.Context, c *call, v *view, alike []int, fit plan.Result) *judgedStep {
	c.grounded = c.ground(v, plan.Result{OK: true, Steps: alike[:1]})
	j := &judgedStep{call: c, questions: c.questions(v, plan.Result{OK: true, Steps: alike[:1]}, s.db.Now())}
	j.since, j.plan, j.steps, j.widened = v.policies.Version, v.plan, alike, fit.Drift == plan.Widened
	j.endedBefore, j.counting = v.agent.EndedBefore, v.agent.Counting
	j.spelled = c.spelledIn(v, j.questions)
	if refused, ok := v.refuseStopped(j.questions); ok {
		j.Decision, j.caller = refused, j.questions[0].Call
		j.server = j.caller.Server
		return j
	}
	s.judgeByPolicies(ctx, c, v, j.questions, &j.candidate)
	j.PolicyID = cmp.Or(j.PolicyID, policy.ByDefault)
	j.weighArguments(v, s.policies.Spent(ctx, c.by.OrgID))
	j.grounded = c.grounded
	j.Decision = v.holdUngrounded(j.Decision, j.grounded)
	j.Decision = v.holdUnaccepted(j.Decision, j.questions)
	if j.widened {
		j.restrict(verdict.Hold, string(fit.Drift), fit.Reason)
	}
	j.noteDoubt()
	return j
}

// The rules of answers that depend on arguments which nobody has seen.
const (
	rulePlannedArguments = "planned_arguments"
	ruleUnknownArguments = "unknown_arguments"
)

// Why an answer is stricter than what policies say.
const (
	onlyPlanned = "policies allow this step only with the arguments that its plan states, and nobody has seen those of " +
		"the call: a person must agree"
	unknownHeld = "whether this tool may run depends on its arguments, which were neither sent nor planned: a person must " +
		"agree, or state them in the step's inputs, or ask POST /iap/sdk/enforce"
	unknownDenied = "a rule may deny this tool because of its arguments, which were neither sent nor planned: state them in " +
		"the step's inputs, or ask POST /iap/sdk/enforce"
	unknownHint = "; its arguments were neither sent nor planned, and the answer may depend on them: state them in the " +
		"step's inputs, or ask POST /iap/sdk/enforce"
)

// weighArguments makes the answer stricter where it depends on arguments that nobody has seen.
func (j *judgedStep) weighArguments(v *view, spent engine.Spent) {
	f := j.foresee(v.policies.Set, spent)
	switch isPlanned := j.call.argumentsFrom == decision.FromPlan; {
	case f.certain:
	case isPlanned && j.Verdict == verdict.Allow && !v.settings.PlannedMayAllow:
		j.restrict(verdict.Hold, rulePlannedArguments, onlyPlanned)
	case isPlanned:
	case j.Verdict == verdict.Deny:
		j.Reason += unknownHint
	case f.mayDeny:
		j.restrict(verdict.Deny, ruleUnknownArguments, unknownDenied)
	case j.Verdict == verdict.Hold:
		j.Reason += unknownHint
	default:
		j.restrict(verdict.Hold, ruleUnknownArguments, unknownHeld)
	}
	if j.call.argumentsFrom == decision.FromNowhere && j.Verdict == verdict.Hold {
		j.Approvers = j.mostApprovers(v.policies.Set)
	}
}

// restrict makes the answer at least as strict as a verdict that no policy gave.
func (j *judgedStep) restrict(to verdict.Verdict, rule, reason string) {
	by := refuse(policy.ByIntent, rule, reason)
	by.Verdict = to
	j.Decision = policy.Stricter(j.Decision, by)
}

// foreseenStep is what is known of the answer while nobody has seen the arguments.
type foreseenStep struct {
	certain bool // it is the same for all
	mayDeny bool // a rule denies some
}

func (j *judgedStep) foresee(set *engine.Set, spent engine.Spent) foreseenStep {
	result := foreseenStep{certain: true}
	for _, questions := range forCallers(set, j.questions) {
		f := set.ForeseeUnseen(questions, spent)
		result.certain = result.certain && f.Certain
		result.mayDeny = result.mayDeny || f.MayDeny
	}
	return result
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

// mostApprovers are the approvers that satisfy every rule about the tool: which of them decides is unknown.
func (j *judgedStep) mostApprovers(set *engine.Set) *document.Approvers {
	most := j.Approvers
	for _, questions := range forCallers(set, j.questions) {
		for _, q := range questions {
			for _, wanted := range set.Approvers(q.Call) {
				most = policy.MoreApprovers(most, &wanted)
			}
		}
	}
	return most
}

// isStale reports whether a step must be judged again. A deny is recorded whatever changed.
func (j *judgedStep) isStale(now audit.Version, at time.Time) bool {
	return j.Verdict != verdict.Deny && (!j.since.Covers(now) || !at.Before(j.plan.Expires))
}
