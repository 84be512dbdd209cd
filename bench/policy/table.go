package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// The targets of the project. They are printed beside the results and decide
// nothing.
const (
	cedarTarget = "at least 5 x"
	opaTarget   = "at least 20 x"
	oursTarget  = "at most 2 us at 100, at most 2 x of that at 10,000"
)

// compared is the size at which engines are compared.
const compared = 100

type cell struct {
	call, engine string
	size         int
}

type results struct{ times map[cell][]time.Duration }

func newResults() *results { return &results{map[cell][]time.Duration{}} }

func (r *results) add(call, engine string, size int, took time.Duration) {
	at := cell{call, engine, size}
	r.times[at] = append(r.times[at], took)
}

func (r *results) of(call, engine string, size int) time.Duration {
	return median(r.times[cell{call, engine, size}])
}

func (r *results) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t,
		"CPU per decision\tengine\t10 rules\t100\t1,000\t10,000\t100 beside ours\t10,000 beside 100\ttarget")
	for _, c := range calls {
		for _, engine := range []string{ours, cedarGo, opa, celScan} {
			fmt.Fprintf(t, "%s\t%s", c.name, engine)
			for _, size := range sizes {
				fmt.Fprintf(t, "\t%.2f us", float64(r.of(c.name, engine, size))/float64(time.Microsecond))
			}
			at100 := float64(r.of(c.name, engine, compared))
			fmt.Fprintf(t, "\t%.1f x\t%.1f x\t%s\n",
				at100/float64(r.of(c.name, ours, compared)), float64(r.of(c.name, engine, sizes[len(sizes)-1]))/at100,
				target(engine))
		}
	}
	return t.Flush()
}

func target(engine string) string {
	switch engine {
	case ours:
		return oursTarget
	case cedarGo:
		return cedarTarget
	case opa:
		return opaTarget
	}
	return "-"
}
