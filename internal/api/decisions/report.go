package decisions

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"writ/internal/decision"
	"writ/internal/execution"
	"writ/internal/intent/plan"
	"writ/internal/principal"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// ReportBody sets what was planned beside what was decided and what was done.
type ReportBody struct {
	PlanID    string           `json:"planId" format:"uuid"`
	Status    plan.Status      `json:"status" enum:"active,completed,failed,expired"`
	Steps     []StepReportBody `json:"steps" nullable:"false" doc:"The steps of the plan, in its order."`
	Drift     []DriftBody      `json:"drift" nullable:"false" doc:"Calls that fit no step, by tool."`
	Planned   int              `json:"planned" doc:"How many steps there are."`
	Used      int              `json:"used" doc:"How many of them were allowed at least once."`
	Allowed   int64            `json:"allowed" doc:"Calls that were allowed."`
	Refused   int64            `json:"refused" doc:"Calls that were denied, held or asked about."`
	Executed  int64            `json:"executed" doc:"Calls that clients report to have run. A report is their word."`
	Truncated bool             `json:"truncated" doc:"Whether there is more than is shown."`
}

// CountsBody counts decisions and reports.
type CountsBody struct {
	Allow int64      `json:"allow"`
	Deny  int64      `json:"deny"`
	Hold  int64      `json:"hold"`
	Ask   int64      `json:"ask"`
	Done  int64      `json:"executed" doc:"Reported to have run."`
	Fail  int64      `json:"failed" doc:"Of those, reported to have failed."`
	First *time.Time `json:"firstAt" doc:"The first decision; null: there is none."`
	Last  *time.Time `json:"lastAt"`
}

// StepReportBody is a step, what was decided about its calls and what ran.
type StepReportBody struct {
	Step   int    `json:"step" doc:"From 0."`
	Server string `json:"server"`
	Tool   string `json:"tool"`
	CountsBody
}

// DriftBody is a tool that was called, or ran, and fits no step.
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

// getReport reads the names of tools from the plan itself, so that it needs the
// right to read payloads as the tree does.
func (h *Handlers) getReport(ctx context.Context, caller principal.Principal, in *PlanInput) (ReportBody, error) {
	view, err := h.Intent.Get(ctx, caller, in.PlanID)
	if err != nil {
		return ReportBody{}, err
	}
	steps, err := h.Intent.Steps(ctx, caller, in.PlanID)
	if err != nil {
		return ReportBody{}, err
	}
	decided, err := h.Enforcement.PlanTally(ctx, caller, in.PlanID)
	if err != nil {
		return ReportBody{}, err
	}
	done, err := h.Executions.PlanTally(ctx, caller, in.PlanID)
	return report(view.ID, view.Status, steps, decided, done), err
}

func report(
	planID string, status plan.Status, steps []plan.Step, decided []decision.Tally, done []execution.Tally,
) ReportBody {
	r := reporter{body: ReportBody{
		PlanID: planID, Status: status, Steps: make([]StepReportBody, len(steps)), Drift: []DriftBody{},
		Planned: len(steps), Truncated: len(decided) == decision.MaxTallies || len(done) == execution.MaxTallies,
	}, drift: map[DriftBody]int{}}
	for i, step := range steps {
		r.body.Steps[i] = StepReportBody{Step: i, Server: step.Server, Tool: step.Tool}
	}
	for _, t := range decided {
		r.decided(t)
	}
	for _, t := range done {
		r.done(t)
	}
	for _, step := range r.body.Steps {
		if step.Allow > 0 {
			r.body.Used++
		}
	}
	return r.body
}

// reporter fills a report.
type reporter struct {
	body  ReportBody
	drift map[DriftBody]int // index of what fits no step
}

func (r *reporter) decided(t decision.Tally) {
	if t.Verdict == verdict.Allow {
		r.body.Allowed += t.Count
	} else {
		r.body.Refused += t.Count
	}
	step, err := strconv.Atoi(t.Step)
	if err != nil {
		step = -1
	}
	r.at(step, t.Server, t.Tool).add(t)
}

// done counts what ran. Clients count steps, or name the tool alone.
func (r *reporter) done(t execution.Tally) {
	if t.Status == execution.Blocked {
		return
	}
	r.body.Executed += t.Count
	counts := r.at(r.stepOf(t), t.Server, t.Tool)
	counts.Done += t.Count
	if t.Status == execution.Failed {
		counts.Fail += t.Count
	}
}

// stepOf is the step that a report is about: the one it names if the tool is that
// step's, else the first with the tool, else none. A step may have the name that a
// harness calls the tool by, and its own name for a server.
func (r *reporter) stepOf(t execution.Tally) int {
	fits := func(s StepReportBody) bool {
		return strings.EqualFold(s.Tool, t.Tool) && (t.Server == "" || strings.EqualFold(s.Server, t.Server)) ||
			toolname.Spells(s.Tool, toolname.Name{Server: t.Server, Tool: t.Tool})
	}
	if t.Step >= 0 && t.Step < len(r.body.Steps) && fits(r.body.Steps[t.Step]) {
		return t.Step
	}
	return slices.IndexFunc(r.body.Steps, fits)
}

// at is where something is counted: at its step, or among the drift.
func (r *reporter) at(step int, server, tool string) *CountsBody {
	if step >= 0 && step < len(r.body.Steps) {
		return &r.body.Steps[step].CountsBody
	}
	name := DriftBody{Server: server, Tool: tool}
	at, ok := r.drift[name]
	if !ok {
		at = len(r.body.Drift)
		r.drift[name], r.body.Drift = at, append(r.body.Drift, name)
	}
	return &r.body.Drift[at].CountsBody
}
