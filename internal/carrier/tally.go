package carrier

import (
	"maps"
	"sync"
	"time"

	"writ/internal/mcp/upstream"
	"writ/internal/verdict"
)

// DurationBounds are the upper bounds of the durations that are counted, in seconds.
var DurationBounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// Tally counts what a carrier has done since it was made.
type Tally struct {
	Calls    map[verdict.Verdict]uint64 // by the decision
	Failures map[upstream.Kind]uint64   // of MCP servers, without those that answered with an error of the protocol
	// Durations are the allowed calls that took no longer than each bound, and Seconds how long all of them took.
	Durations  map[float64]uint64
	Carried    uint64
	Seconds    float64
	Unrecorded uint64 // outcomes that could not be recorded when their call ended
}

type tally struct {
	mu sync.Mutex
	Tally
}

func newTally() *tally {
	return &tally{Tally: Tally{
		Calls:     map[verdict.Verdict]uint64{},
		Failures:  map[upstream.Kind]uint64{},
		Durations: map[float64]uint64{},
	}}
}

// add counts a call. took is of an allowed one.
func (t *tally) add(o *Outcome, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Calls[o.Answer.Verdict]++
	if !o.Answer.Allowed() {
		return
	}
	t.Carried++
	t.Seconds += took.Seconds()
	for _, bound := range DurationBounds {
		if took.Seconds() <= bound {
			t.Durations[bound]++
		}
	}
	if f := o.Failure; f != nil && f.Kind != upstream.Answered {
		t.Failures[f.Kind]++
	}
	if o.Unrecorded {
		t.Unrecorded++
	}
}

// Tally is what was counted.
func (c *Carrier) Tally() Tally {
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	t := c.tally.Tally
	t.Calls, t.Failures, t.Durations = maps.Clone(t.Calls), maps.Clone(t.Failures), maps.Clone(t.Durations)
	return t
}
