package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// What one request of the ingest measurement holds.
const (
	tracesPerRequest  = 50
	spansPerTrace     = 20
	spansPerRequest   = tracesPerRequest * spansPerTrace
	ingestConnections = 4
	payloadsEach      = 4 // texts that a connection sends in turn
)

// ingestRound is what one server took in one turn.
type ingestRound struct {
	spans    int
	elapsed  time.Duration
	p50, p99 time.Duration // of a request
	cpu      time.Duration // of the server
}

func (r ingestRound) perSecond() float64 { return float64(r.spans) / r.elapsed.Seconds() }

// cpuPerSpan is in microseconds.
func (r ingestRound) cpuPerSpan() float64 { return float64(r.cpu.Microseconds()) / float64(r.spans) }

// ingester takes spans in for a while.
type ingester struct {
	name   string
	server *process
	take   func(ctx context.Context, length time.Duration) (ingestRound, error)
	rounds []ingestRound
}

// median is the median of a number over the rounds.
func (i *ingester) median(figure func(ingestRound) float64) float64 {
	var values []float64
	for _, r := range i.rounds {
		values = append(values, figure(r))
	}
	return median(values)
}

// over compares a number of each round with that of the floor beside it.
func (i *ingester) over(floor *ingester, figure func(ingestRound) float64) float64 {
	var ratios []float64
	for n, r := range i.rounds {
		ratios = append(ratios, figure(r)/figure(floor.rounds[n]))
	}
	return median(ratios)
}

// measureIngest lets the floors and every installation take turns: first the
// bare insert, then the decoder, then the installations.
func measureIngest(
	ctx context.Context, installations []installation, folder string, o options,
) (_ []*ingester, others float64, err error) {
	var ingesters []*ingester
	defer func() {
		for _, i := range ingesters {
			err = errors.Join(err, i.server.stop())
		}
	}()
	for _, begin := range []func() (*ingester, error){
		func() (*ingester, error) { return ingestBare(ctx, folder) },
		func() (*ingester, error) { return ingestAndDrop(ctx) },
	} {
		i, err := begin()
		if err != nil {
			return nil, 0, err
		}
		ingesters = append(ingesters, i)
	}
	for _, installation := range installations {
		i, err := ingestInto(ctx, installation)
		if err != nil {
			return nil, 0, err
		}
		ingesters = append(ingesters, i)
	}
	if err := ingestInTurns(ctx, ingesters, 1, warmUp); err != nil {
		return nil, 0, err
	}
	var servers []*process
	for _, i := range ingesters {
		i.rounds = nil
		servers = append(servers, i.server)
	}
	others, err = shareOfOthers(servers, func() error {
		return ingestInTurns(ctx, ingesters, o.rounds, o.roundLength())
	})
	return ingesters, others, err
}

func ingestInTurns(ctx context.Context, ingesters []*ingester, rounds int, length time.Duration) error {
	for range rounds {
		for _, i := range ingesters {
			before, err := i.server.cpu()
			if err != nil {
				return err
			}
			r, err := i.take(ctx, length)
			if err != nil {
				return fmt.Errorf("%s: %w", i.name, err)
			}
			after, err := i.server.cpu()
			if err != nil {
				return err
			}
			r.cpu = after - before
			i.rounds = append(i.rounds, r)
		}
	}
	return nil
}

func ingestBare(ctx context.Context, folder string) (*ingester, error) {
	server, err := startFloor(ctx, "insert", []byte(folder))
	if err != nil {
		return nil, err
	}
	a := &account{server: server, client: newClient()}
	return &ingester{name: "bare insert, SQLite", server: server,
		take: func(ctx context.Context, length time.Duration) (ingestRound, error) {
			begin := time.Now()
			text, err := a.send(ctx, "GET", "/insert?for="+length.String(), "Accept", "application/json", nil)
			if err != nil {
				return ingestRound{}, err
			}
			var inserted insertedBody
			err = json.Unmarshal(text, &inserted)
			return ingestRound{spans: inserted.Rows, elapsed: time.Since(begin)}, err
		}}, nil
}

func ingestAndDrop(ctx context.Context) (*ingester, error) {
	server, err := startFloor(ctx, "decode", nil)
	if err != nil {
		return nil, err
	}
	return newIngester("decode and drop", &account{server: server, client: newClient()}), nil
}

func ingestInto(ctx context.Context, i installation) (*ingester, error) {
	server, _, err := i.start(ctx)
	if err != nil {
		return nil, err
	}
	a, err := signIn(ctx, i, server)
	if err != nil {
		return nil, errors.Join(err, server.stop())
	}
	return newIngester("writd, "+i.engine, a), nil
}

func newIngester(name string, a *account) *ingester {
	payloads := recentPayloads(ingestConnections * payloadsEach)
	return &ingester{name: name, server: a.server,
		take: func(ctx context.Context, length time.Duration) (ingestRound, error) {
			return a.ingestFor(ctx, payloads, length)
		}}
}

// recentPayloads are requests of traces that just happened.
func recentPayloads(count int) []*payload {
	w := newWorkload()
	var payloads []*payload
	for range count {
		payloads = append(payloads, newPayload(w, tracesPerRequest, spansPerTrace, time.Now().UTC().Add(-time.Minute),
			10*time.Millisecond))
	}
	return payloads
}

// ingestFor keeps every connection busy with one request at a time.
func (a *account) ingestFor(ctx context.Context, payloads []*payload, length time.Duration) (ingestRound, error) {
	return ingestWith(length, func(c, n int) error {
		p := payloads[c*payloadsEach+n%payloadsEach]
		p.renew()
		return a.ingest(ctx, p)
	})
}

// ingestWith has every connection send its requests, one after the other.
func ingestWith(length time.Duration, send func(connection, n int) error) (ingestRound, error) {
	latencies := make([][]time.Duration, ingestConnections)
	errs := make([]error, ingestConnections)
	var group sync.WaitGroup
	begin := time.Now()
	for c := range ingestConnections {
		group.Go(func() {
			for n := 0; time.Since(begin) < length && errs[c] == nil; n++ {
				sent := time.Now()
				errs[c] = send(c, n)
				latencies[c] = append(latencies[c], time.Since(sent))
			}
		})
	}
	group.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(latencies...)))
	return ingestRound{
		spans: len(all) * spansPerRequest, elapsed: time.Since(begin), p50: percentile(all, 50),
		p99: percentile(all, 99),
	}, errors.Join(errs...)
}
