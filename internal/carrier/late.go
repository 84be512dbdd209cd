package carrier

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/principal"
)

const (
	reportTime = 10 * time.Second
	// maxLate is how many reports wait at most, and maxLateBytes how large they are together; the decisions of those
	// beyond stay without an outcome.
	maxLate      = 10_000
	maxLateBytes = 64 << 20
	lateEvery    = 5 * time.Second
)

type lateReport struct {
	by     principal.Principal
	report execution.Carried
}

// size is about how much memory the report takes.
func (r *lateReport) size() int {
	const names = 1 << 10
	size := names + len(r.report.Arguments) + len(r.report.Output) + len(r.report.Error)
	for _, mark := range r.report.Marks {
		size += len(mark.Detail)
	}
	return size
}

// latecomers records reports later that could not be recorded when their call ended.
type latecomers struct {
	record func(ctx context.Context, r lateReport) error
	forget func(decisionID string) // nil: nothing is kept for reports
	logger *slog.Logger

	mu      sync.Mutex
	waiting []lateReport
	bytes   int // of those that wait
	running bool
	closed  bool // nobody records any more
	ctx     context.Context
	end     context.CancelFunc
	done    sync.WaitGroup
}

func newLatecomers(executions Recorder, logger *slog.Logger) *latecomers {
	l := &latecomers{logger: logger}
	l.record = func(ctx context.Context, r lateReport) error {
		_, err := executions.ReportCarried(ctx, r.by, r.report)
		return err
	}
	if keeps, ok := executions.(interface{ Forget(decisionID string) }); ok {
		l.forget = keeps.Forget
	}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

var (
	errTooMany = errors.New("too many outcomes wait to be recorded")
	errClosed  = errors.New("it came when the server had stopped")
)

// isRefused reports whether a report can never be recorded.
func isRefused(err error) bool { return fault.Is(err, fault.Invalid) }

// giveUp says that an outcome is never recorded.
func (l *latecomers) giveUp(r lateReport, err error) {
	l.logger.Error("the outcome of a call is lost", "decision", r.report.DecisionID, "status", r.report.Status,
		"tool", r.report.Tool, "error", err)
	if l.forget != nil {
		l.forget(r.report.DecisionID)
	}
}

// add keeps a report, and starts the work on those that wait.
func (l *latecomers) add(r lateReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.giveUp(r, errClosed)
		return
	}
	if len(l.waiting) >= maxLate || l.bytes+r.size() > maxLateBytes {
		l.giveUp(r, errTooMany)
		return
	}
	l.waiting = append(l.waiting, r)
	l.bytes += r.size()
	if !l.running && l.ctx.Err() == nil {
		l.running = true
		l.done.Go(l.work)
	}
}

// work records what waits, until nothing does.
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

// flush tries once to record each report that waits, and reports whether nothing is left. Only one flush runs at a
// time.
func (l *latecomers) flush(ctx context.Context) bool {
	l.mu.Lock()
	waiting := l.waiting
	l.mu.Unlock()
	left := l.tryAll(ctx, waiting)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(left, l.waiting[len(waiting):]...) // others may have come
	l.bytes = 0
	for i := range l.waiting {
		l.bytes += l.waiting[i].size()
	}
	l.running = l.running && len(l.waiting) > 0
	return len(l.waiting) == 0
}

// tryAll records reports, in the order of each organization, and gives those that must wait on. One that cannot be
// recorded keeps none of the others from it, unless the log that they belong to or the database is away.
func (l *latecomers) tryAll(ctx context.Context, waiting []lateReport) (left []lateReport) {
	away := map[string]bool{}
	for i, next := range waiting {
		if away[next.by.OrgID] {
			left = append(left, next)
			continue
		}
		limited, cancel := context.WithTimeout(ctx, reportTime)
		err := l.record(limited, next)
		late := limited.Err() != nil
		cancel()
		switch {
		case err == nil:
		case isRefused(err):
			l.giveUp(next, err)
		case late:
			return append(left, waiting[i:]...)
		default:
			left = append(left, next)
			away[next.by.OrgID] = fault.Is(err, fault.Unavailable)
		}
	}
	return left
}

// close records what waits once more, and ends.
func (l *latecomers) close() {
	l.end()
	l.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), reportTime)
	defer cancel()
	l.flush(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, r := range l.waiting {
		l.giveUp(r, context.Canceled)
	}
}
