package enforcement

import (
	"sync/atomic"

	"writ/internal/verdict"
)

// verdicts is how many there are.
const verdicts = int(verdict.Allow) + 1

// Counts are what a process decided since it began.
type Counts struct {
	Recorded   [verdicts]int64 // by verdict
	Unrecorded int64           // denied, because they could not be recorded
}

// counters are counts as they grow.
type counters struct {
	recorded   [verdicts]atomic.Int64
	unrecorded atomic.Int64
}

// count counts a decision that was recorded. What is no verdict counts as deny.
func (c *counters) count(v verdict.Verdict) {
	if int(v) >= verdicts {
		v = verdict.Deny
	}
	c.recorded[v].Add(1)
}

// Counts is what was decided.
func (s *Service) Counts() (c Counts) {
	for v := range c.Recorded {
		c.Recorded[v] = s.counters.recorded[v].Load()
	}
	c.Unrecorded = s.counters.unrecorded.Load()
	return c
}
