package carrier

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"writ/internal/execution"
	"writ/internal/mcp/upstream"
	"writ/internal/principal"
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
	}
	c.describe(&r, o)
	// Whoever asked may be gone; the tool has run all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
	defer cancel()
	_, err := c.Executions.ReportCarried(ctx, by.Principal, r)
	if err == nil {
		return true
	}
	c.Logger.ErrorContext(ctx, "the outcome of a call could not be recorded, and is tried again",
		"decision", r.DecisionID, "error", err)
	c.late.add(lateReport{by.Principal, r})
	return false
}

// describe says in a report how the call went.
func (c *Carrier) describe(r *execution.Carried, o *Outcome) {
	if f := o.Failure; f != nil {
		r.Error = f.Reason
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
	r.Output, r.Marks = o.Output, scanResult(o.Output)
}

const (
	reportTime = 10 * time.Second
	// maxLate is how many reports wait at most; the decisions of those beyond stay without an outcome.
	maxLate   = 10_000
	lateEvery = 5 * time.Second
)

type lateReport struct {
	by     principal.Principal
	report execution.Carried
}

// latecomers records reports later that could not be recorded when their call ended.
type latecomers struct {
	executions *execution.Service
	logger     *slog.Logger

	mu      sync.Mutex
	waiting []lateReport
	running bool
	ctx     context.Context
	end     context.CancelFunc
	done    sync.WaitGroup
}

func newLatecomers(executions *execution.Service, logger *slog.Logger) *latecomers {
	l := &latecomers{executions: executions, logger: logger}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// add keeps a report, and starts the work on those that wait.
func (l *latecomers) add(r lateReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxLate {
		l.logger.Error("too many outcomes wait to be recorded: one is given up", "decision", r.report.DecisionID)
		return
	}
	l.waiting = append(l.waiting, r)
	if !l.running && l.ctx.Err() == nil {
		l.running = true
		l.done.Go(l.work)
	}
}

// work records what waits, in order, until nothing does.
func (l *latecomers) work() {
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(lateEvery):
		}
		if l.flush(l.ctx) {
			return
		}
	}
}

// flush records what waits, and reports whether nothing is left.
func (l *latecomers) flush(ctx context.Context) bool {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.running = false
			l.mu.Unlock()
			return true
		}
		next := l.waiting[0]
		l.mu.Unlock()
		if _, err := l.executions.ReportCarried(ctx, next.by, next.report); err != nil {
			return false
		}
		l.mu.Lock()
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
	}
}

// close records what waits once more, and ends.
func (l *latecomers) close() {
	l.end()
	l.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), reportTime)
	defer cancel()
	if !l.flush(ctx) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, r := range l.waiting {
			l.logger.Error("the outcome of a call is lost", "decision", r.report.DecisionID,
				"status", r.report.Status, "tool", r.report.Tool)
		}
	}
}
