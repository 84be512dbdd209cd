package main

import (
	"fmt"
	"time"
)

// Sizes of a log at which the cost of a decision is compared.
const (
	smallLog      = 1_000
	largeLog      = 50_000
	veryLargeLog  = 1_000_000 // with -large
	fillAtOnce    = 20_000
	growthSamples = 5_000
)

// growth is what decisions cost the server at two sizes of the log.
type growth struct {
	small, large         int
	smallCost, largeCost time.Duration // of processor, each
}

// measureGrowth fills the organization's log by deciding, and measures on the way.
func (b *bench) measureGrowth(d decider) (growth, error) {
	g := growth{small: smallLog, large: largeLog}
	if b.large {
		g.large = veryLargeLog
	}
	var err error
	if err := b.fill(d, g.small); err != nil {
		return growth{}, err
	}
	if g.smallCost, err = b.costOf(d); err != nil {
		return growth{}, err
	}
	if err := b.fill(d, g.large-g.small-growthSamples); err != nil {
		return growth{}, err
	}
	g.largeCost, err = b.costOf(d)
	return g, err
}

// fill makes decisions, in portions that a connection's time limit allows.
func (b *bench) fill(d decider, decisions int) error {
	for decisions > 0 {
		n := min(decisions, fillAtOnce)
		if err := d.target.askTimes(n, b.connections); err != nil {
			return fmt.Errorf("fill the log: %w", err)
		}
		decisions -= n
	}
	return nil
}

// costOf is what decisions cost once the server has nothing else to do: what it
// shows in telemetry of earlier ones is their cost.
func (b *bench) costOf(d decider) (time.Duration, error) {
	if err := d.target.server.awaitIdle(); err != nil {
		return 0, err
	}
	r, err := d.target.ask(b.connections, readyWithin, (growthSamples+b.connections-1)/b.connections)
	if err != nil {
		return 0, err
	}
	return r.cpuPerRequest(), nil
}

const (
	idlePoll   = 1500 * time.Millisecond // longer than the pauses of scheduled work
	idleUse    = 50 * time.Millisecond
	idleWithin = 10 * time.Minute // a million decisions take a while to be shown
)

// awaitIdle waits until the server does next to nothing.
func (p *process) awaitIdle() error {
	for end := time.Now().Add(idleWithin); time.Now().Before(end); {
		before, err := p.cpu()
		if err != nil {
			return err
		}
		time.Sleep(idlePoll)
		after, err := p.cpu()
		if err != nil {
			return err
		}
		if after-before < idleUse {
			return nil
		}
	}
	return fmt.Errorf("the server is still busy after %s", idleWithin)
}
