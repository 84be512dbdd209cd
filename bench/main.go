// Bench measures a built writd beside a floor, in one run on one machine.
//
//	go run . -writd ../bin/writd
//
// It starts every server in a process of its own, drives it over real
// connections, and prints a table: how long writd takes to become ready, how
// much memory it holds, and what an authenticated request costs compared with
// the least an HTTP server in Go can do. The servers take turns in short rounds,
// so that a noisy neighbour disturbs both sides of a ratio.
//
// Figures are not tests: a target that is missed is printed, and the exit is
// still 0. It is 1 only when something could not be measured. The module is not
// part of the main one, so that what we compare with never enters what we ship.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	o := readOptions()
	run := measureUntilInterrupted
	if o.floorPort != 0 {
		run = serveFloor // ends with the first signal
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measureUntilInterrupted(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return measure(ctx, o)
}

// options are what to measure, and how.
type options struct {
	writd       string
	seconds     float64
	connections int
	rounds      int
	databaseURL string
	floorPort   int
}

func readOptions() options {
	var o options
	flag.StringVar(&o.writd, "writd", "../bin/writd", "the `program` to measure")
	flag.Float64Var(&o.seconds, "seconds", 2, "`length` of a round")
	flag.IntVar(&o.connections, "connections", 32, "`number` of connections that ask at once")
	flag.IntVar(&o.rounds, "rounds", 5, "`number` of rounds of each server")
	flag.StringVar(&o.databaseURL, "database", "", "measure on the empty PostgreSQL database at this `URL` too; it is not emptied afterwards")
	flag.IntVar(&o.floorPort, "floor", 0, "be the floor on this `port`: the benchmark starts itself so")
	flag.Parse()
	return o
}

func (o options) check() error {
	if o.seconds < 0.1 || o.connections < 1 || o.rounds < 1 || flag.NArg() > 0 {
		return errors.New("-seconds is at least 0.1, -connections and -rounds are at least 1, and there are no further arguments")
	}
	return nil
}

func (o options) roundLength() time.Duration { return time.Duration(o.seconds * float64(time.Second)) }

// command is how to repeat the run. A database's URL may hold a password.
func (o options) command() string {
	command := fmt.Sprintf("go run . -writd %s -seconds %g -connections %d -rounds %d", o.writd, o.seconds, o.connections, o.rounds)
	if o.databaseURL != "" {
		command += " -database URL"
	}
	return command
}

// measure runs everything and prints each table when it is complete.
func measure(ctx context.Context, o options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	machine, err := describeMachine(o.writd)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "writ-bench-")
	if err != nil {
		return fmt.Errorf("make a folder for the data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()

	fmt.Printf("command  %s\nmachine  %s\n", o.command(), machine)
	installations := []installation{onSQLite(o.writd, filepath.Join(folder, "sqlite"))}
	if o.databaseURL != "" {
		installations = append(installations, onPostgreSQL(o.writd, filepath.Join(folder, "postgresql"), o.databaseURL))
	}
	var startups []startup
	for i := range installations {
		s, err := measureStartup(ctx, &installations[i], o.connections)
		if err != nil {
			return fmt.Errorf("start on %s: %w", installations[i].engine, err)
		}
		startups = append(startups, s)
	}
	if err := printStartups(os.Stdout, startups); err != nil {
		return err
	}
	contenders, others, err := measureRequests(ctx, installations, o)
	if err != nil {
		return fmt.Errorf("requests by API key: %w", err)
	}
	return printRequests(os.Stdout, contenders, others)
}
