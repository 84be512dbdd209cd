package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// The targets of the project. They are printed beside the results and decide
// nothing.
const (
	startTarget      = "under 0.5 s"
	memoryTarget     = "under 60 MB"
	throughputTarget = "at least 60 %"
)

func printStartups(out io.Writer, startups []startup) error {
	table := newTable(out, "start and memory", "engine", "measured", "lowest to highest", "target")
	for _, s := range startups {
		table.starts("ready, first start", s.engine, s.first)
		table.starts("ready, later start", s.engine, s.later)
		table.memory(fmt.Sprintf("memory, %s after a first start", idleAfter), s.engine, s.idleFirst, memoryTarget)
		table.memory(fmt.Sprintf("memory, %s after a later start", idleAfter), s.engine, s.idle, memoryTarget)
		table.memory(fmt.Sprintf("memory, after %d requests", warmRequests), s.engine, s.warm, "-")
	}
	return table.Flush()
}

func printClient(out io.Writer, c clientStart) error {
	table := newTable(out, "start of the client", "measured", "lowest to highest", "target")
	for _, p := range []struct {
		name  string
		times []time.Duration
	}{{"true (does nothing)", c.floor}, {"writ whoami --json", c.writ}} {
		spread := fmt.Sprintf("%s to %s (%d starts)", milliseconds(slices.Min(p.times)),
			milliseconds(slices.Max(p.times)), len(p.times))
		table.row(p.name, milliseconds(median(p.times)), spread, "-")
	}
	return table.Flush()
}

func printRequests(out io.Writer, contenders []contender, others float64) error {
	table := newTable(out, "GET /api-keys/current", "req/s", "p50", "p99", "server CPU/req", "throughput", "CPU",
		"target")
	floor := contenders[0]
	for _, c := range contenders {
		throughput, cpu := c.over(floor)
		target := "-"
		if c.name != floor.name {
			target = throughputTarget
		}
		table.row(c.name,
			fmt.Sprintf("%.0f", medianOf(c, round.perSecond)),
			milliseconds(medianOf(c, func(r round) time.Duration { return r.p50 })),
			milliseconds(medianOf(c, func(r round) time.Duration { return r.p99 })),
			fmt.Sprintf("%.1f us", float64(medianOf(c, round.cpuPerRequest))/float64(time.Microsecond)),
			fmt.Sprintf("%.0f %%", 100*throughput), fmt.Sprintf("%.2f x", cpu), target)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printOthers(out, others)
}

func printOthers(out io.Writer, share float64) error {
	_, err := fmt.Fprintf(out, "\nOthers on the machine used %.0f %% of its processors during the rounds.\n", 100*share)
	return err
}

// table aligns its columns when it is flushed.
type table struct{ *tabwriter.Writer }

func newTable(out io.Writer, columns ...string) table {
	fmt.Fprintln(out)
	t := table{tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)}
	t.row(columns...)
	return t
}

func (t table) row(cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			cell = "\t" + cell
		}
		fmt.Fprint(t, cell)
	}
	fmt.Fprintln(t)
}

func (t table) starts(what, engine string, times []time.Duration) {
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
	spread := "one start"
	if len(times) > 1 {
		spread = fmt.Sprintf("%s to %s (%d starts)", seconds(slices.Min(times)), seconds(slices.Max(times)), len(times))
	}
	t.row(what, engine, seconds(median(times)), spread, startTarget)
}

func (t table) memory(what, engine string, bytes int64, target string) {
	t.row(what, engine, fmt.Sprintf("%.1f MB", float64(bytes)/1e6), "-", target)
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
