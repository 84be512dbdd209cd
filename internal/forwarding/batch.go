package forwarding

import (
	"context"
	"fmt"
	"time"

	"writ/internal/decision"
	"writ/internal/forwarding/message"
	"writ/internal/telemetry"
)

// How much is sent at a time.
const (
	// fullBatch is the size at which no more spans are added. With one more span of the largest size, of a resource of
	// the largest size, it is still a request that package outbound sends.
	fullBatch = 128 << 10
	maxSpans  = 500 // in one request
	readAhead = 100 // traces, spans or decisions that are read at a time
	// maxPassed is how many traces one step skips: the server's own, and those that have waited too long.
	maxPassed = 5_000
)

// Values of Position.Span below the number of every span.
const (
	nothingSent = int64(-2)
	rootSent    = int64(-1) // the span that stands for the whole trace
)

// batch is what is sent next of one kind.
type batch struct {
	request   message.Request
	decisions bool     // else traces
	next      Position // the position after it was sent
	lost      int64    // traces or decisions that have waited too long
	lostUntil time.Time
}

func (b *batch) isEmpty(f *Forwarding) bool { return b.request.Len() == 0 && b.next == f.Position }

func (b *batch) lose(at time.Time) {
	b.lost++
	b.lostUntil = at
}

func (b *batch) full(limit int) bool {
	return b.request.Len() >= limit || b.request.Size() >= fullBatch
}

// nextDecisions makes a batch of up to limit decisions. A batch with lost decisions holds nothing else, so that losses
// are recorded even while nothing can be sent.
func (s *Service) nextDecisions(ctx context.Context, f *Forwarding, limit int) (*batch, error) {
	b := &batch{decisions: true, next: f.Position}
	expired := s.db.Now().Add(-f.MaxAge)
	for {
		records, err := decision.Read(ctx, s.db, f.OrgID, b.next.Decision, readAhead)
		if err != nil {
			return nil, fmt.Errorf("read decisions to forward: %w", err)
		}
		for i := range records {
			d := &records[i]
			isLost := d.At.Before(expired)
			switch {
			case isLost && b.request.Len() == 0:
				b.lose(d.At)
			case isLost || b.lost > 0 || b.full(limit):
				return b, nil
			default:
				b.request.Add(message.Resource{Service: decisionService}, decisionSpan(d, f.Content))
			}
			b.next.Decision = d.Index + 1
		}
		if len(records) < readAhead || b.lost >= maxPassed {
			return b, nil
		}
	}
}

// nextTraces makes a batch of up to limit spans of traces. It skips the traces in which Writ shows its decisions:
// those are sent from the log. A long trace takes several batches.
func (s *Service) nextTraces(ctx context.Context, f *Forwarding, limit int) (*batch, error) {
	b := &batch{next: f.Position}
	expired := s.db.Now().Add(-f.MaxAge)
	for passed := 0; passed < maxPassed; {
		arrivals, next, err := s.telemetry.Arrived(ctx, f.OrgID, b.next.Trace, readAhead)
		if err != nil {
			return nil, fmt.Errorf("read traces to forward: %w", err)
		}
		if next == b.next.Trace {
			return b, nil
		}
		for i := range arrivals {
			a := &arrivals[i]
			isLost := a.At.Before(expired)
			switch {
			case a.Own():
				passed++
			case isLost && b.request.Len() == 0:
				b.lose(a.At)
				passed++
			case isLost || b.lost > 0:
				return b, nil
			default:
				whole, err := s.addTrace(ctx, b, a, f.Content, limit)
				if err != nil || !whole {
					return b, err
				}
			}
			b.next.Trace, b.next.Span = a.Cursor, nothingSent
		}
		b.next.Trace, b.next.Span = next, nothingSent // beyond the last arrival, if some were removed
	}
	return b, nil
}

// addTrace adds the spans of an arrival, from the batch's position on, and reports whether all of them fit.
func (s *Service) addTrace(
	ctx context.Context, b *batch, a *telemetry.Arrival, content Content, limit int,
) (whole bool, err error) {
	from := message.Resource{Service: serviceOf(&a.TraceItem, content), Reserved: decisionService}
	if a.Source == otlpSource && content != None {
		attributes, err := s.telemetry.ArrivedAttributes(ctx, a)
		if err != nil {
			return false, err
		}
		from.Attributes = resourceOf(attributes, content)
	}
	for {
		spans, err := s.telemetry.ArrivedSpans(ctx, a, max(b.next.Span, telemetry.FirstSpan), readAhead)
		if err != nil {
			return false, fmt.Errorf("read spans to forward: %w", err)
		}
		rooted := !a.Grew &&
			(len(spans) == 0 && b.next.Span < telemetry.WholeSpans ||
				len(spans) > 0 && spans[0].Number < telemetry.WholeSpans)
		if rooted && b.next.Span == nothingSent {
			if b.full(limit) {
				return false, nil
			}
			root := a.TraceItem
			if root.Attributes, err = s.telemetry.ArrivedAttributes(ctx, a); err != nil {
				return false, err
			}
			b.request.Add(from, rootSpan(&root, content))
			b.next.Span = rootSent
		}
		for i := range spans {
			if b.full(limit) {
				return false, nil
			}
			b.request.Add(from, traceSpan(&a.TraceItem, &spans[i], rooted, content))
			b.next.Span = spans[i].Number
		}
		if len(spans) < readAhead {
			return true, nil
		}
	}
}
