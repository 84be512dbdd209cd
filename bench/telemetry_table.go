package main

import (
	"fmt"
	"io"
	"time"
)

// The targets for telemetry, printed beside the results.
const (
	ingestTarget  = "at least 50 % of the insert"
	decodeTarget  = "at least 0.25 of it decoding"
	summaryTarget = "at most 1/20"
	growthTarget  = "at most 1.3 x"
	listTarget    = "at most 2 x"
	detailTarget  = "under 5 ms in the server"
	memoryFlat    = "flat"
)

func printIngest(out io.Writer, ingesters []*ingester, others float64) error {
	table := newTable(out, fmt.Sprintf("ingest, %d spans a request", spansPerRequest), "spans/s", "request p50",
		"server CPU/span", "of the insert's rate", "decoding's share of CPU", "target")
	insert, decode := ingesters[0], ingesters[1]
	targets := map[string]string{"writd, SQLite": ingestTarget, "writd, PostgreSQL": decodeTarget}
	for _, i := range ingesters {
		request, share, target := "-", "-", "-"
		if i != insert {
			request = milliseconds(time.Duration(i.median(func(r ingestRound) float64 { return float64(r.p50) })))
			share = fmt.Sprintf("%.2f", 1/i.over(decode, ingestRound.cpuPerSpan))
		}
		if targets[i.name] != "" {
			target = targets[i.name]
		}
		table.row(i.name, fmt.Sprintf("%.0f", i.median(ingestRound.perSecond)), request,
			fmt.Sprintf("%.1f us", i.median(ingestRound.cpuPerSpan)),
			fmt.Sprintf("%.0f %%", 100*i.over(insert, ingestRound.perSecond)), share, target)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printOthers(out, others)
}

func printSmallWrites(out io.Writer, all []smallWrites) error {
	table := newTable(out, "rename an organization", "engine", "writes", "p50", "p99", "ingest beside it", "target")
	for _, w := range all {
		for _, side := range []struct {
			name      string
			latencies []time.Duration
			ingest    string
		}{
			{"alone", w.alone, "-"},
			{"beside a saturating ingest", w.beside, fmt.Sprintf("%.0f spans/s", w.ingest)},
		} {
			table.row(side.name, w.engine, fmt.Sprint(len(side.latencies)),
				milliseconds(percentile(side.latencies, 50)),
				milliseconds(percentile(side.latencies, 99)), side.ingest, "-")
		}
	}
	return table.Flush()
}

func printReads(out io.Writer, r reads) error {
	spans := r.large * r.spansEach
	fmt.Fprintf(out, "\nloaded %d traces with %d spans in %.0f s, %.0f spans/s\n", r.large, spans, r.loaded.Seconds(),
		float64(spans)/r.loaded.Seconds())
	table := newTable(out, "summary of 7 days", "p50", "ratio", "target")
	table.row(fmt.Sprintf("writd, %d spans", r.tenth*r.spansEach), milliseconds(r.summary.tenth), "-", "-")
	table.row(fmt.Sprintf("writd, %d spans", spans), milliseconds(r.summary.full),
		fmt.Sprintf("%.2f x", float64(r.summary.full)/float64(r.summary.tenth)), growthTarget)
	if r.summary.compared > 0 {
		times := func(d time.Duration) string {
			return fmt.Sprintf("writd takes 1/%.0f", float64(d)/float64(r.summary.compared))
		}
		table.row(fmt.Sprintf("PostgreSQL, percentile_cont of %d spans", comparedSpans),
			milliseconds(r.summary.ofSpans), times(r.summary.ofSpans), summaryTarget)
		table.row(fmt.Sprintf("PostgreSQL, the summary's figures from the rows of %d", comparedSpans),
			milliseconds(r.summary.ofRows), times(r.summary.ofRows), "-")
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := printLists(out, r); err != nil {
		return err
	}
	table = newTable(out, fmt.Sprintf("a trace of %d spans", detailSpans), "p50", "server CPU", "target")
	table.row("writd, SQLite", milliseconds(r.detail), milliseconds(r.detailed), detailTarget)
	return table.Flush()
}

func printLists(out io.Writer, r reads) error {
	table := newTable(out, "a page of 50", "filter", fmt.Sprintf("p50 of %d traces", r.small),
		fmt.Sprintf("p50 of %d traces", r.large), "ratio", "target", "query plan")
	for n, l := range r.lists {
		table.row(l.list, l.name, milliseconds(l.small), milliseconds(l.large), fmt.Sprintf("%.2f x", l.ratio()),
			listTarget, r.plans[n].steps)
	}
	return table.Flush()
}

func printSoak(out io.Writer, s soak) error {
	megabytes := func(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
	table := newTable(out, fmt.Sprintf("soak of %s, SQLite", s.length), "requests", "failed", "p50", "p99")
	for _, kind := range []struct {
		name      string
		latencies []time.Duration
	}{{fmt.Sprintf("ingest, %d spans", s.spans), s.ingests}, {"reads of every kind", s.reads}} {
		p50, p99 := "-", "-"
		if len(kind.latencies) > 0 {
			p50, p99 = milliseconds(percentile(kind.latencies, 50)), milliseconds(percentile(kind.latencies, 99))
		}
		table.row(kind.name, fmt.Sprint(len(kind.latencies)), fmt.Sprint(len(s.failures)), p50, p99)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(s.failures) > 0 {
		fmt.Fprintf(out, "the first failure: %v\n", s.failures[0])
	}
	table = newTable(out, "memory", "start", "peak", "end", "target")
	table.row("writd, SQLite", megabytes(s.start), megabytes(s.peak), megabytes(s.end), memoryFlat)
	return table.Flush()
}
