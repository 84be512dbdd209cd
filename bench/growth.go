package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Sizes of a log at which the cost of a decision is compared.
const (
	smallLog      = 1_000
	largeLog      = 50_000
	veryLargeLog  = 1_000_000 // with -large
	fillAtOnce    = 20_000
	growthSamples = 2_000 // in a turn
	growthTurns   = 9
)

// grown is a server whose log has a size, and what decisions cost it, turn by turn.
type grown struct {
	decider
	entries int
	costs   []time.Duration // of processor, each
}

// growth compares what a decision costs on a short log and on a long one, in turns: whatever else slows the machine
// slows both.
func (b *bench) growth(ctx context.Context) (err error) {
	rules, err := b.writePolicies(ctx)
	if err != nil {
		return err
	}
	long := largeLog
	if b.large {
		long = veryLargeLog
	}
	logs := []*grown{{entries: smallLog}, {entries: long}}
	for _, g := range logs {
		folder := filepath.Join(b.folder, fmt.Sprintf("log-of-%d", g.entries))
		if g.decider, err = startDecider(ctx, onSQLite(b.writd, folder), rules); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.target.server.stop()) }()
		if err := b.fill(g.decider, g.entries); err != nil {
			return err
		}
	}
	for range growthTurns {
		for _, g := range logs {
			cost, err := b.costOf(g.decider)
			if err != nil {
				return err
			}
			g.costs = append(g.costs, cost)
		}
	}
	return printGrowth(os.Stdout, logs)
}

func printGrowth(out io.Writer, logs []*grown) error {
	table := newTable(out, "a decision, by size of the log (SQLite)", "server CPU/req", "ratio", "target")
	for i, g := range logs {
		ratios, target := make([]float64, 0, growthTurns), "-"
		for turn, cost := range g.costs {
			ratios = append(ratios, float64(cost)/float64(logs[0].costs[turn]))
		}
		if i > 0 {
			target = flatTarget
		}
		table.row(fmt.Sprintf("%d entries at first", g.entries), median(g.costs).String(),
			fmt.Sprintf("%.2f x", median(ratios)), target)
	}
	return table.Flush()
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
