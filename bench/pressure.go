package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// pressure is how long one caller waits for a decision: alone, and while ingest
// of the same organization saturates the server.
type pressure struct {
	name          string
	alone, beside round
	ingest        float64 // spans a second meanwhile
}

// measurePressure asks over and over on one connection, as an agent does.
func measurePressure(ctx context.Context, name string, d decider) (pressure, error) {
	p := pressure{name: name}
	if err := d.target.server.awaitIdle(); err != nil {
		return pressure{}, err
	}
	var err error
	if p.alone, err = d.target.askFor(aloneFor, 1); err != nil {
		return pressure{}, err
	}
	ingesting := make(chan error, 1)
	var ingested ingestRound
	go func() {
		var err error
		ingested, err = d.account.ingestFor(ctx, recentPayloads(ingestConnections*payloadsEach), besideFor)
		ingesting <- err
	}()
	p.beside, err = d.target.askFor(besideFor, 1)
	if err := errors.Join(err, <-ingesting); err != nil {
		return pressure{}, err
	}
	p.ingest = ingested.perSecond()
	return p, nil
}

func printPressure(out io.Writer, all []pressure) error {
	table := newTable(out, "a decision on one connection", "", "decisions", "p50", "p99", "ingest beside it", "target")
	for _, p := range all {
		for _, side := range []struct {
			name   string
			round  round
			ingest string
		}{
			{"alone", p.alone, "-"},
			{"beside a saturating ingest", p.beside, fmt.Sprintf("%.0f spans/s", p.ingest)},
		} {
			table.row(side.name, p.name, fmt.Sprint(side.round.requests), milliseconds(side.round.p50), milliseconds(side.round.p99), side.ingest, "-")
		}
	}
	return table.Flush()
}
