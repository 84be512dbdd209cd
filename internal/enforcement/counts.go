package enforcement

import (
	"sync/atomic"

	"writ/internal/verdict"
)

// verdicts is the number of verdicts.
const verdicts = int(verdict.Allow) + 1

// Counts are the decisions of a process since it started.
type Counts struct {
	Recorded   [verdicts]int64 // by verdict
	Unrecorded int64           // denied because they could not be recorded
}

type counters struct {
	recorded   [verdicts]atomic.Int64
	unrecorded atomic.Int64
}

// count counts a recorded decision. An invalid verdict is a deny.
func (c *counters) count(v verdict.Verdict) {
	if int(v) >= verdicts {
		v = verdict.Deny
	}
	c.recorded[v].Add(1)
}

// Counts returns the current counts.
func (s *Service) Counts() (c Counts) {
	for v := range c.Recorded {
		c.Recorded[v] = s.counters.recorded[v].Load()
	}
	c.Unrecorded = s.counters.unrecorded.Load()
	return c
}
