package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// dataset is how much the reads are measured on, all in one database.
type dataset struct {
	small     int // traces of the small organization
	large     int // traces of the large one
	spansEach int
	tenth     int // traces of the one whose summary is compared with the large one's
}

// comparedSpans is how many spans PostgreSQL computes the summary from.
const comparedSpans = 1_000_000

// datasetOf is what a run reads. The large one has 1,000,000 spans, with -large ten
// times as many; its summary is measured beside that of one with a tenth.
func datasetOf(o options) dataset {
	if o.large {
		return dataset{small: 10_000, large: 1_000_000, spansEach: 10, tenth: 100_000}
	}
	return dataset{small: 10_000, large: 200_000, spansEach: 5, tenth: 20_000}
}

// loadedDays is the period that traces are spread over: within the seven days that
// queries ask for by default.
const loadedDays = 6

// load ingests a number of traces, evenly over the last days up to now and in the order
// of time. It goes through the service like any client, so that nothing is there
// that ingest would not have made.
func (a *account) load(ctx context.Context, d dataset, traces int) error {
	tracesEach := spansPerRequest / d.spansEach
	period := loadedDays * 24 * time.Hour
	begin := time.Now().UTC().Add(-period)
	var next atomic.Int64
	take := func() int { return int(next.Add(int64(tracesEach))) - tracesEach }
	errs := make([]error, ingestConnections)
	var group sync.WaitGroup
	for c := range ingestConnections {
		group.Go(func() {
			w := newWorkload()
			for n := take(); n < traces && errs[c] == nil; n = take() {
				start := begin.Add(time.Duration(n) * (period / time.Duration(traces)))
				p := newPayload(w, min(tracesEach, traces-n), d.spansEach, start, period/time.Duration(traces))
				errs[c] = a.ingest(ctx, p)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}
