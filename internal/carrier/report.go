package carrier

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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

// write writes a result as JSON, as the SDK that made it does. Of parts that are nothing the SDK may panic: the tool
// has run all the same.
func (o *Outcome) write(server string) {
	if o.Failure != nil {
		return
	}
	text, err := written(o.Result)
	if err == nil {
		o.Output = text
		return
	}
	o.Result = nil
	o.Failure = &upstream.Failure{
		Kind:   upstream.Broken,
		Server: server,
		Reason: "its result cannot be written as JSON",
		Sent:   true,
		Cause:  err,
	}
}

func written(result any) (text []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return json.Marshal(result)
}

// failed reports whether a result says that the tool failed.
func failed(result any) bool {
	called, ok := result.(*mcp.CallToolResult)
	return ok && called.IsError
}
