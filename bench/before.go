package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// beforeTarget is what a change of structure may cost.
const beforeTarget = "at most 1.05 x"

// beforeTraces are ingested before traces are listed and read.
const beforeTraces = 2

// before lets the build of -before and the build of -writd take turns at a
// decision, at reads and at ingest, and compares the processor time of each.
func (b *bench) before(ctx context.Context) (err error) {
	if b.beforeProgram == "" {
		return nil
	}
	rules, err := b.writePolicies(ctx)
	if err != nil {
		return err
	}
	var builds []decider
	defer func() {
		for _, d := range builds {
			err = errors.Join(err, d.target.server.stop())
		}
	}()
	for n, program := range []string{b.beforeProgram, b.writd} {
		folder := filepath.Join(b.folder, fmt.Sprintf("build%d", n))
		d, err := startDecider(ctx, onSQLite(program, folder), rules)
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		builds = append(builds, d)
	}
	return b.compareBuilds(ctx, builds)
}

// compareBuilds prints a row a subject: what it cost before, what it costs now.
func (b *bench) compareBuilds(ctx context.Context, builds []decider) error {
	table := newTable(os.Stdout, "server CPU per request (per span of ingest)", "before", "now", "ratio", "target")
	for _, subject := range []struct {
		name   string
		target func(ctx context.Context, d decider) (target, error)
	}{
		{"POST /iap/sdk/enforce", func(_ context.Context, d decider) (target, error) { return d.target, nil }},
		{"GET /api-keys/current", func(_ context.Context, d decider) (target, error) {
			return newTarget(d.target.server, "/api-keys/current", d.account.key)
		}},
		{"GET the summary of telemetry", readOf("/analytics/summary")},
		{"GET a page of traces", readOf("/traces?limit=50")},
	} {
		var contenders []contender
		for _, d := range builds {
			t, err := subject.target(ctx, d)
			if err != nil {
				return fmt.Errorf("%s: %w", subject.name, err)
			}
			contenders = append(contenders, contender{name: subject.name, target: t})
		}
		if _, err := b.race(ctx, contenders); err != nil {
			return err
		}
		_, ratio := contenders[1].over(contenders[0])
		table.row(subject.name, microseconds(contenders[0]), microseconds(contenders[1]),
			fmt.Sprintf("%.2f x", ratio), beforeTarget)
	}
	ingesters := []*ingester{newIngester("before", builds[0].account), newIngester("now", builds[1].account)}
	if err := ingestInTurns(ctx, ingesters, 1, warmUp); err != nil {
		return err
	}
	ingesters[0].rounds, ingesters[1].rounds = nil, nil
	if err := ingestInTurns(ctx, ingesters, b.rounds, b.roundLength()); err != nil {
		return err
	}
	table.row("POST /observability/spans", fmt.Sprintf("%.1f us", ingesters[0].median(ingestRound.cpuPerSpan)),
		fmt.Sprintf("%.1f us", ingesters[1].median(ingestRound.cpuPerSpan)),
		fmt.Sprintf("%.2f x", ingesters[1].over(ingesters[0], ingestRound.cpuPerSpan)), beforeTarget)
	return table.Flush()
}

// readOf reads a path of the organization's telemetry, after some was ingested.
func readOf(path string) func(ctx context.Context, d decider) (target, error) {
	return func(ctx context.Context, d decider) (target, error) {
		for _, p := range recentPayloads(beforeTraces) {
			if err := d.account.ingest(ctx, p); err != nil {
				return target{}, err
			}
		}
		whole := "/organization/" + d.account.org + "/observability" + path
		if err := d.account.do(ctx, http.MethodGet, whole, nil, nil); err != nil {
			return target{}, err
		}
		request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n",
			whole, d.target.server.address, d.account.token)
		return target{server: d.target.server, request: request, begins: []byte("{")}, nil
	}
}

func microseconds(c contender) string {
	return fmt.Sprintf("%.1f us", float64(medianOf(c, round.cpuPerRequest))/float64(time.Microsecond))
}
