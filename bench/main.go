// Bench measures a built writd beside a floor, in one run on one machine.
//
//	go run . -writd ../bin/writd -writ ../bin/writ
//
// It starts every server in a process of its own, drives it over real
// connections, and prints a table for each part of the run:
//
//	start     how long writd takes to become ready, how much memory it holds; how long writ takes
//	requests  an authenticated request beside the least an HTTP server in Go can do
//	ingest    durable ingest of spans beside a bare insert, and beside a bare decode
//	otlp      ingest of OpenTelemetry's spans beside that of other clients
//	writes    a small change, alone and beside a saturating ingest
//	reads     summary, lists and details at two sizes, with the query plans
//	search    words in 100,000 traces, with -large in 1,000,000, and how far the index is behind ingest
//	queue     what enqueueing and indexing traces costs ingest, both together: with the queue and without, in turns
//	export    a large organization taken away, alone and beside ingest, and the memory that takes
//	soak      ingest and reads together for a while, and the memory they take
//	enforce   a recorded decision over HTTP beside an echo and beside OPA's server
//	agents    a decision with 10,000 registered agents beside one with none
//	trust     delegations: verified offline, and a decision under a chain of them
//	grounding a decision by what a session knows, a report that adds to it, and the memory that takes
//	proxy     a call through the proxy beside the same call made directly, and the memory of idle sessions
//	replay    recorded decisions replayed under another policy, and a decision beside that
//	evidence  an append to the log with its proof, and the check of a proof
//	policy    a decision beside other policy engines, over 10 to 10,000 rules
//	run       what writ run adds to a command: Landlock and the filter alone, and with namespaces
//	hook      what a hook takes before a tool runs, beside /bin/true and a hook in Node
//	host      what guarding adds to a session of the Gemini CLI with 50 calls
//	before    decisions, reads and ingest of this build beside those of another (-before)
//
// Servers that are compared take turns in short rounds, so that a noisy
// neighbour disturbs both sides of a ratio.
//
// A missed target is printed, and does not change the exit code: it is 1 only when
// something could not be measured. The module is not part of the main one, so that
// we never ship what we compare with.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	o := readOptions()
	run := measureUntilInterrupted
	if o.floor != "" {
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

// bench is a run: what is measured, and where it may write.
type bench struct {
	options
	folder        string
	installations []installation // SQLite, then PostgreSQL if there is one
}

// part measures one subject and prints its table.
type part struct {
	name string
	run  func(b *bench, ctx context.Context) error
}

var parts = []part{
	{"start", (*bench).start},
	{"requests", (*bench).requests},
	{"ingest", (*bench).ingest},
	{"otlp", (*bench).otlp},
	{"writes", (*bench).writes},
	{"reads", (*bench).reads},
	{"search", (*bench).search},
	{"queue", (*bench).queue},
	{"export", (*bench).export},
	{"soak", (*bench).soak},
	{"enforce", (*bench).enforce},
	{"ways", (*bench).ways},
	{"growth", (*bench).growth},
	{"agents", (*bench).agents},
	{"trust", (*bench).trust},
	{"grounding", (*bench).grounding},
	{"proxy", (*bench).proxy},
	{"replay", (*bench).replay},
	{"evidence", (*bench).evidence},
	{"policy", (*bench).policy},
	{"run", (*bench).run},
	{"hook", (*bench).hook},
	{"host", (*bench).host},
	{"before", (*bench).before},
}

// measure runs the parts and prints each table when it is complete.
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
	b := &bench{
		options: o, folder: folder, installations: []installation{onSQLite(o.writd, filepath.Join(folder, "sqlite"))},
	}
	if o.databaseURL != "" {
		b.installations = append(b.installations, onPostgreSQL(o.writd, filepath.Join(folder, "postgresql"),
			o.databaseURL))
	}
	for _, p := range parts {
		if !o.wants(p.name) {
			continue
		}
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (b *bench) start(ctx context.Context) error {
	var startups []startup
	for i := range b.installations {
		s, err := measureStartup(ctx, &b.installations[i], b.connections)
		if err != nil {
			return fmt.Errorf("%s: %w", b.installations[i].engine, err)
		}
		startups = append(startups, s)
	}
	if err := printStartups(os.Stdout, startups); err != nil {
		return err
	}
	c, err := measureClient(ctx, b.writ, b.folder)
	if err != nil {
		return err
	}
	return printClient(os.Stdout, c)
}

func (b *bench) requests(ctx context.Context) error {
	contenders, others, err := measureRequests(ctx, b.installations, b.options)
	if err != nil {
		return err
	}
	return printRequests(os.Stdout, contenders, others)
}

func (b *bench) ingest(ctx context.Context) error {
	ingesters, others, err := measureIngest(ctx, b.installations, b.folder, b.options)
	if err != nil {
		return err
	}
	return printIngest(os.Stdout, ingesters, others)
}

func (b *bench) writes(ctx context.Context) error {
	var all []smallWrites
	for _, i := range b.installations {
		w, err := measureSmallWrites(ctx, i)
		if err != nil {
			return fmt.Errorf("%s: %w", i.engine, err)
		}
		all = append(all, w)
	}
	return printSmallWrites(os.Stdout, all)
}

func (b *bench) reads(ctx context.Context) error {
	r, err := measureReads(ctx, b.installations[0], b.options)
	if err != nil {
		return err
	}
	return printReads(os.Stdout, r)
}

func (b *bench) soak(ctx context.Context) error {
	s, err := measureSoak(ctx, b.installations[0], b.options.soak)
	if err != nil {
		return err
	}
	return printSoak(os.Stdout, s)
}
