package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// The targets of decisions, as ratios to what ran in the same turns.
const (
	decisionThroughputTarget = "throughput 1 x OPA"
	decisionLatencyTarget    = "p99 0.7 x OPA"
	decisionCPUTarget        = "CPU 4 x echo"
	flatTarget               = "1 x"
)

// printDecisions prints the contenders: the floor, OPA with a bare input and with the
// same request, and installations. The ratios are to the same request.
func printDecisions(out io.Writer, contenders []contender, others float64) error {
	table := newTable(out, "POST /iap/sdk/enforce", "req/s", "p50", "p99", "server CPU/req", "throughput / OPA",
		"p99 / OPA", "CPU / echo", "target")
	echo, opa := contenders[0], contenders[2]
	p99 := func(r round) time.Duration { return r.p99 }
	for _, c := range contenders {
		throughput, _ := c.over(opa)
		_, cpu := c.over(echo)
		target := "-"
		if strings.HasPrefix(c.name, "writd, SQLite") {
			target = decisionThroughputTarget + ", " + decisionLatencyTarget + ", " + decisionCPUTarget
		}
		table.row(c.name,
			fmt.Sprintf("%.0f", medianOf(c, round.perSecond)),
			milliseconds(medianOf(c, func(r round) time.Duration { return r.p50 })),
			milliseconds(medianOf(c, p99)),
			fmt.Sprintf("%.1f us", float64(medianOf(c, round.cpuPerRequest))/float64(time.Microsecond)),
			fmt.Sprintf("%.2f x", throughput),
			fmt.Sprintf("%.2f x", float64(medianOf(c, p99))/float64(medianOf(opa, p99))),
			fmt.Sprintf("%.2f x", cpu), target)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printOthers(out, others)
}
