package main

import (
	"context"
	"fmt"
	"time"
)

const (
	readTimes   = 41 // how often a read is measured
	detailSpans = 500
	detailTimes = 200
)

// reads is what reading takes on SQLite, as one client sees it.
type reads struct {
	dataset
	loaded   time.Duration // what the ingest of the large organization took
	summary  summaryReads
	lists    []listRead
	detail   time.Duration // median for a trace with detailSpans
	detailed time.Duration // processor time of the server for it
	plans    []plan
}

// listRead is one page with one filter, medians in both organizations.
type listRead struct {
	*filter
	small, large time.Duration
}

// ratio is how much longer the page takes in the large organization.
func (l listRead) ratio() float64 { return float64(l.large) / float64(l.small) }

// measureReads loads the organizations and reads from them.
func measureReads(ctx context.Context, i installation, o options) (r reads, err error) {
	r.dataset = datasetOf(o)
	err = i.whileServing(ctx, func(a *account) error {
		small, err := a.inNewOrganization(ctx, "small")
		if err != nil {
			return err
		}
		tenth, err := a.inNewOrganization(ctx, "tenth")
		if err != nil {
			return err
		}
		large, err := a.inNewOrganization(ctx, "large")
		if err != nil {
			return err
		}
		if err := small.load(ctx, r.dataset, r.small); err != nil {
			return err
		}
		if err := tenth.load(ctx, r.dataset, r.tenth); err != nil {
			return err
		}
		begin := time.Now()
		if err := large.load(ctx, r.dataset, r.large); err != nil {
			return err
		}
		r.loaded = time.Since(begin)
		if err := r.summarize(ctx, tenth, large, i, o); err != nil {
			return err
		}
		if r.lists, err = readLists(ctx, small, large); err != nil {
			return err
		}
		r.detail, r.detailed, err = small.readDetail(ctx)
		return err
	})
	if err == nil {
		r.plans, err = explain(ctx, i)
	}
	return r, err
}

// summarize measures the summary of two organizations in turns, so that a noisy
// neighbour disturbs both alike, and beside it what PostgreSQL takes for the one
// that has as many spans as are compared.
func (r *reads) summarize(ctx context.Context, tenth, large *account, i installation, o options) error {
	const rounds = 5
	var ofTenth, ofLarge []time.Duration
	for range rounds {
		for _, side := range []struct {
			account *account
			took    *[]time.Duration
		}{{tenth, &ofTenth}, {large, &ofLarge}} {
			took, err := side.account.medianOf(ctx, "/analytics/summary")
			if err != nil {
				return err
			}
			*side.took = append(*side.took, took)
		}
	}
	r.summary.tenth, r.summary.full = median(ofTenth), median(ofLarge)
	if o.databaseURL == "" {
		return nil
	}
	compared := large
	r.summary.compared = r.summary.full
	if r.tenth*r.spansEach == comparedSpans {
		compared, r.summary.compared = tenth, r.summary.tenth
	}
	if err := r.summary.compare(ctx, i, compared.org, o.databaseURL); err != nil {
		return fmt.Errorf("compare with PostgreSQL: %w", err)
	}
	return nil
}

// medianOf is what a read of the organization's telemetry takes.
func (a *account) medianOf(ctx context.Context, path string) (time.Duration, error) {
	var latencies []time.Duration
	for n := range readTimes + 3 {
		if err := a.renewToken(ctx); err != nil {
			return 0, err
		}
		sent := time.Now()
		if err := a.get(ctx, path); err != nil {
			return 0, err
		}
		if n >= 3 { // the first ones warm up
			latencies = append(latencies, time.Since(sent))
		}
	}
	return median(latencies), nil
}

// readLists reads a first page with each filter, and one further on.
func readLists(ctx context.Context, small, large *account) ([]listRead, error) {
	var lists []listRead
	for i := range filters {
		f := &filters[i]
		l := listRead{filter: f}
		for _, side := range []struct {
			account *account
			took    *time.Duration
		}{{small, &l.small}, {large, &l.large}} {
			path, err := f.path(ctx, side.account)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			if *side.took, err = side.account.medianOf(ctx, path); err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
		}
		lists = append(lists, l)
	}
	return lists, nil
}

// readDetail ingests one trace with many spans and reads it.
func (a *account) readDetail(ctx context.Context) (latency, cpu time.Duration, err error) {
	p := newPayload(newWorkload(), 1, detailSpans, time.Now().UTC().Add(-time.Minute), 0)
	if err := a.ingest(ctx, p); err != nil {
		return 0, 0, err
	}
	path := "/traces/" + string(p.text[p.traces[0]:p.traces[0]+idLength])
	before, err := a.server.cpu()
	if err != nil {
		return 0, 0, err
	}
	var latencies []time.Duration
	for range detailTimes {
		sent := time.Now()
		if err := a.get(ctx, path); err != nil {
			return 0, 0, err
		}
		latencies = append(latencies, time.Since(sent))
	}
	after, err := a.server.cpu()
	return median(latencies), (after - before) / detailTimes, err
}
