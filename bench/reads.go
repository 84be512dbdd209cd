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

// measureReads loads both organizations and reads from them.
func measureReads(ctx context.Context, i installation, o options) (r reads, err error) {
	r.dataset = datasetOf(o)
	err = i.whileServing(ctx, func(a *account) error {
		small, err := a.inNewOrganization(ctx, "small")
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
		begin := time.Now()
		if err := large.load(ctx, r.dataset, r.early); err != nil {
			return err
		}
		r.loaded = time.Since(begin)
		if r.summary.early, err = large.summarize(ctx, &r, r.early, i, o); err != nil {
			return err
		}
		begin = time.Now()
		if err := large.load(ctx, r.dataset, r.large-r.early); err != nil {
			return err
		}
		r.loaded += time.Since(begin)
		if r.summary.full, err = large.summarize(ctx, &r, r.large, i, o); err != nil {
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

// summarize measures the summary of so many traces, and beside it what PostgreSQL
// takes, when there is one and the number of spans is the one to compare at.
func (a *account) summarize(ctx context.Context, r *reads, traces int, i installation, o options) (time.Duration, error) {
	took, err := a.medianOf(ctx, "/analytics/summary")
	if err != nil || o.databaseURL == "" || traces*r.spansEach != comparedSpans {
		return took, err
	}
	r.summary.compared = took
	if err := r.summary.compare(ctx, i, a.org, o.databaseURL); err != nil {
		return 0, fmt.Errorf("compare with PostgreSQL: %w", err)
	}
	return took, nil
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
