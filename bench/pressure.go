package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// pressure is how long one caller waits for a decision: alone, and while the server
// has other work.
type pressure struct {
	name  string
	sides []pressureSide
}

// pressureSide is one of the situations, and what went on meanwhile.
type pressureSide struct {
	name      string
	round     round
	meanwhile string
}

// measurePressure asks over and over on one connection, as an agent does.
func measurePressure(ctx context.Context, i installation, d decider) (pressure, error) {
	p := pressure{name: "writd, " + i.engine}
	situations := []func(context.Context, installation, decider) (pressureSide, error){askAlone, askBesideIngest}
	if i.engine == sqliteEngine {
		// PostgreSQL drops a day's partition, which leaves nothing to be beside of.
		situations = append(situations, askBesideRetention)
	}
	for _, ask := range situations {
		if err := d.target.server.awaitIdle(); err != nil {
			return pressure{}, err
		}
		side, err := ask(ctx, i, d)
		if err != nil {
			return pressure{}, err
		}
		p.sides = append(p.sides, side)
	}
	return p, nil
}

func askAlone(_ context.Context, _ installation, d decider) (pressureSide, error) {
	r, err := d.target.askFor(aloneFor, 1)
	return pressureSide{"alone", r, "-"}, err
}

// askBesideIngest asks while ingest of the same organization saturates the server.
func askBesideIngest(ctx context.Context, _ installation, d decider) (pressureSide, error) {
	ingesting := make(chan error, 1)
	var ingested ingestRound
	go func() {
		var err error
		ingested, err = d.account.ingestFor(ctx, recentPayloads(ingestConnections*payloadsEach), besideFor)
		ingesting <- err
	}()
	r, err := d.target.askFor(besideFor, 1)
	if err := errors.Join(err, <-ingesting); err != nil {
		return pressureSide{}, err
	}
	return pressureSide{"beside a saturating ingest", r, fmt.Sprintf("%.0f spans/s", ingested.perSecond())}, nil
}

// askBesideRetention asks while retention removes what is too old.
func askBesideRetention(ctx context.Context, i installation, d decider) (pressureSide, error) {
	if err := d.account.loadOld(ctx, i); err != nil {
		return pressureSide{}, err
	}
	if err := d.target.server.awaitIdle(); err != nil {
		return pressureSide{}, err
	}
	run, err := startRetention(ctx, i)
	if err != nil {
		return pressureSide{}, err
	}
	r, err := d.target.askFor(besideFor, 1)
	share, stopErr := run.stop()
	if err := errors.Join(err, stopErr); err != nil {
		return pressureSide{}, err
	}
	return pressureSide{"beside retention", r, fmt.Sprintf("at work for %.0f %% of the time", 100*share)}, nil
}

func printPressure(out io.Writer, all []pressure) error {
	table := newTable(out, "a decision on one connection", "", "decisions", "p50", "p99", "meanwhile", "target")
	for _, p := range all {
		for _, side := range p.sides {
			table.row(side.name, p.name, fmt.Sprint(side.round.requests), milliseconds(side.round.p50),
				milliseconds(side.round.p99), side.meanwhile, "-")
		}
	}
	return table.Flush()
}
