package api

import (
	"context"
	"strconv"
	"time"

	"writ/internal/decision"
	"writ/internal/intent/plan"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// ReportBody sets what was planned beside what was decided.
type ReportBody struct {
	PlanID    string           `json:"planId" format:"uuid"`
	Status    plan.Status      `json:"status" enum:"active,completed,failed,expired"`
	Steps     []StepReportBody `json:"steps" nullable:"false" doc:"The steps of the plan, in its order."`
	Drift     []DriftBody      `json:"drift" nullable:"false" doc:"Calls that fit no step, by tool."`
	Planned   int              `json:"planned" doc:"How many steps there are."`
	Used      int              `json:"used" doc:"How many of them were allowed at least once."`
	Allowed   int64            `json:"allowed" doc:"Calls that were allowed."`
	Refused   int64            `json:"refused" doc:"Calls that were denied, held or asked about."`
	Truncated bool             `json:"truncated" doc:"Whether there is more than is shown."`
}

// CountsBody counts decisions.
type CountsBody struct {
	Allow int64      `json:"allow"`
	Deny  int64      `json:"deny"`
	Hold  int64      `json:"hold"`
	Ask   int64      `json:"ask"`
	First *time.Time `json:"firstAt" doc:"The first of them; null: there is none."`
	Last  *time.Time `json:"lastAt"`
}

// StepReportBody is a step and what was decided about its calls.
type StepReportBody struct {
	Step   int    `json:"step" doc:"From 0."`
	Server string `json:"server"`
	Tool   string `json:"tool"`
	CountsBody
}

// DriftBody is a tool that was called and fitted no step.
type DriftBody struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	CountsBody
}

func (c *CountsBody) add(t decision.Tally) {
	switch t.Verdict {
	case verdict.Allow:
		c.Allow += t.Count
	case verdict.Hold:
		c.Hold += t.Count
	case verdict.Ask:
		c.Ask += t.Count
	default:
		c.Deny += t.Count
	}
	if c.First == nil || t.First.Before(*c.First) {
		c.First = &t.First
	}
	if c.Last == nil || t.Last.After(*c.Last) {
		c.Last = &t.Last
	}
}

type reportOutput struct{ Body ReportBody }

// getReport reads the names of tools from the plan itself, so that it needs the
// right to read payloads as the tree does.
func (a *API) getReport(ctx context.Context, caller principal.Principal, in *PlanInput) (*reportOutput, error) {
	view, err := a.Plans.Get(ctx, caller, in.PlanID)
	if err != nil {
		return nil, err
	}
	steps, err := a.Plans.Steps(ctx, caller, in.PlanID)
	if err != nil {
		return nil, err
	}
	tallies, err := a.Enforcement.PlanTally(ctx, caller, in.PlanID)
	if err != nil {
		return nil, err
	}
	return &reportOutput{report(view.ID, view.Status, steps, tallies)}, nil
}

func report(planID string, status plan.Status, steps []plan.Step, tallies []decision.Tally) ReportBody {
	body := ReportBody{
		PlanID: planID, Status: status, Steps: make([]StepReportBody, len(steps)), Drift: []DriftBody{},
		Planned: len(steps), Truncated: len(tallies) == decision.MaxTallies,
	}
	for i, step := range steps {
		body.Steps[i] = StepReportBody{Step: i, Server: step.Server, Tool: step.Tool}
	}
	drift := map[DriftBody]int{}
	for _, t := range tallies {
		if t.Verdict == verdict.Allow {
			body.Allowed += t.Count
		} else {
			body.Refused += t.Count
		}
		if i, err := strconv.Atoi(t.Step); err == nil && i >= 0 && i < len(steps) {
			body.Steps[i].add(t)
			continue
		}
		name := DriftBody{Server: t.Server, Tool: t.Tool}
		at, ok := drift[name]
		if !ok {
			at, body.Drift = len(body.Drift), append(body.Drift, name)
			drift[name] = at
		}
		body.Drift[at].add(t)
	}
	for _, step := range body.Steps {
		if step.Allow > 0 {
			body.Used++
		}
	}
	return body
}
