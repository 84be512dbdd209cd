package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	soakPause   = 200 * time.Millisecond // between ingest requests: 5000 spans a second
	soakReaders = 2
	soakSample  = 250 * time.Millisecond
)

// soak is what a server did under a mixed load, and the memory it held.
type soak struct {
	length           time.Duration
	spans            int
	ingests, reads   []time.Duration // sorted
	failures         []error
	start, peak, end int64 // bytes of resident memory
}

// measureSoak ingests and reads at once for a while. A request that fails is
// counted, and the load goes on.
func measureSoak(ctx context.Context, i installation, length time.Duration) (s soak, err error) {
	s.length = length
	err = i.whileServing(ctx, func(a *account) (err error) {
		if s.start, err = a.server.memory(); err != nil {
			return err
		}
		load := &soakLoad{account: a, end: time.Now().Add(length)}
		var group sync.WaitGroup
		group.Go(func() { load.ingest(ctx) })
		for range soakReaders {
			group.Go(func() { load.read(ctx) })
		}
		watched := make(chan error, 1)
		go func() { watched <- s.watch(ctx, a.server, load.end) }()
		group.Wait()
		if err := <-watched; err != nil {
			return err
		}
		s.ingests, s.reads, s.failures = slices.Sorted(slices.Values(load.ingests)),
			slices.Sorted(slices.Values(load.reads)), load.failures
		s.spans = len(s.ingests) * spansPerRequest
		s.end, err = a.server.memory()
		return errors.Join(err, ctx.Err())
	})
	return s, err
}

// watch notes the most memory the server holds.
func (s *soak) watch(ctx context.Context, server *process, end time.Time) error {
	for s.peak = s.start; time.Now().Before(end) && ctx.Err() == nil; time.Sleep(soakSample) {
		held, err := server.memory()
		if err != nil {
			return err
		}
		s.peak = max(s.peak, held)
	}
	return nil
}

// soakLoad is the requests of a soak.
type soakLoad struct {
	*account
	end time.Time

	mu             sync.Mutex // guards what follows
	ingests, reads []time.Duration
	failures       []error
}

// note keeps what came of one request.
func (l *soakLoad) note(latencies *[]time.Duration, sent time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failures = append(l.failures, err)
		return
	}
	*latencies = append(*latencies, time.Since(sent))
}

func (l *soakLoad) goesOn(ctx context.Context) bool {
	return time.Now().Before(l.end) && ctx.Err() == nil
}

func (l *soakLoad) ingest(ctx context.Context) {
	w := newWorkload()
	for sent := time.Now(); l.goesOn(ctx); sent = time.Now() {
		p := newPayload(w, tracesPerRequest, spansPerTrace, sent.UTC().Add(-time.Second), time.Millisecond)
		l.note(&l.ingests, sent, l.account.ingest(ctx, p))
		time.Sleep(soakPause - time.Since(sent))
	}
}

// read asks for everything that can be read, in turn, as somebody of its own.
func (l *soakLoad) read(ctx context.Context) {
	reader := *l.account
	for n := 0; l.goesOn(ctx); n++ {
		if err := reader.renewToken(ctx); err != nil {
			l.note(nil, time.Time{}, err)
			return
		}
		path, err := reader.soakPath(ctx, n)
		sent := time.Now()
		if err == nil {
			err = reader.get(ctx, path)
		}
		l.note(&l.reads, sent, err)
	}
}

// soakPath is the n-th thing to read.
func (a *account) soakPath(ctx context.Context, n int) (string, error) {
	fixed := []string{
		"/analytics/summary", "/policies/policy-1", "/tokens", "/tokens?groupBy=session", "/sessions", "/traces",
		"/traces?hasError=true", "/traces?minDurationMs=1000", "/traces?name=plan.07", "/sessions?status=active",
	}
	lists := []string{"/traces", "/sessions"}
	n %= len(fixed) + len(lists)
	if n < len(fixed) {
		return fixed[n], nil
	}
	list := lists[n-len(fixed)]
	var page struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	if err := a.read(ctx, list, &page); err != nil || len(page.Items) == 0 {
		return list, err
	}
	return fmt.Sprintf("%s/%s", list, page.Items[n%len(page.Items)].ID), nil
}
