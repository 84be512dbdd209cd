package carrier

import (
	"cmp"
	"context"
	"time"

	"writ/internal/execution"
	"writ/internal/mcp/upstream"
)

// report records what came of a call, and reports whether it is recorded.
func (c *Carrier) report(
	ctx context.Context, by Caller, call Call, o *Outcome, began time.Time, took time.Duration,
) bool {
	r := execution.Carried{
		DecisionID: o.Answer.DecisionID,
		PlanID:     o.Answer.PlanID,
		Step:       o.Answer.Step,
		Server:     cmp.Or(o.Answer.Server, call.Server),
		Tool:       call.Tool,
		AgentID:    o.Answer.AgentID,
		SessionID:  o.Answer.SessionID,
		UserEmail:  call.UserEmail,
		Arguments:  call.Arguments,
		Status:     execution.Success,
		At:         began,
		Duration:   took,
		SpentToken: o.spent,
	}
	c.describe(&r, o)
	// Whoever asked may be gone; the tool has run all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
	defer cancel()
	_, err := c.Executions.ReportCarried(ctx, by.Principal, r)
	if err == nil {
		return true
	}
	if isRefused(err) {
		c.late.giveUp(lateReport{by.Principal, r}, err)
		return false
	}
	c.Logger.ErrorContext(ctx, "the outcome of a call could not be recorded, and is tried again",
		"decision", r.DecisionID, "error", err)
	c.late.add(lateReport{by.Principal, r})
	return false
}

// describe says in a report how the call went.
func (c *Carrier) describe(r *execution.Carried, o *Outcome) {
	if f := o.Failure; f != nil {
		r.Error, r.Marks = f.Reason, o.marks
		switch {
		case !f.Sent:
			r.Status, r.Error = execution.Failed, "not sent: "+f.Reason
		case f.Kind == upstream.Answered:
			r.Status = execution.Failed
		default:
			r.Status = execution.Unknown // it may have run
		}
		return
	}
	if failed(o.Result) {
		r.Status = execution.Failed
	}
	r.Output, r.Marks = o.Output, o.marks
}
