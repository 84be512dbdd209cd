package replay

import (
	"math"
	"time"

	"writ/internal/policy/engine"
)

const (
	// maxCounters bounds the counters of one simulation. Beyond it there are no further
	// ones, and the upper bound of a limit's use is unknown.
	maxCounters = 200_000
	// lateSeconds is how long a window stays after its end: a call was judged a moment
	// before it was recorded.
	lateSeconds = 60
)

// counters simulate limits over recorded calls: they know how much of each was used at
// least and at most. They know nothing about cost and tokens, which records lack.
type counters struct {
	// since is when counting began, in Unix seconds: of windows that began earlier,
	// only the lower bound is known.
	since int64
	used  map[engine.LimitKey]use
	// open counts calls whose limit's subject is unknown. Its keys have no subject.
	open map[engine.LimitKey]int64
	full bool
}

type use struct{ least, most int64 }

func newCounters(since time.Time) *counters {
	return &counters{since: since.Unix(), used: map[engine.LimitKey]use{}, open: map[engine.LimitKey]int64{}}
}

// Range is how much of a limit is used.
func (c *counters) Range(key engine.LimitKey, anySubject bool) (least, most int64) {
	if key.Unit != engine.Calls || anySubject {
		return 0, math.MaxInt64
	}
	u := c.used[key]
	if c.full || key.Window < c.since {
		return u.least, math.MaxInt64
	}
	key.Subject = ""
	return u.least, u.most + c.open[key]
}

// ran is how certain it is that a call ran.
type ran int

const (
	didNot ran = iota
	perhaps
	did
)

// take counts a call that ran, or perhaps did, under each limit once.
func (c *counters) take(claims []engine.DoubtfulClaim, r ran) {
	if r == didNot {
		return
	}
	certain := map[engine.LimitKey]bool{}
	for _, claim := range claims {
		switch {
		case claim.AnySubject:
			claim.Subject = ""
			if n, kept := c.open[claim.LimitKey]; kept || c.room(len(c.open)) {
				c.open[claim.LimitKey] = n + 1
			}
		default:
			certain[claim.LimitKey] = certain[claim.LimitKey] || claim.Certain && r == did
		}
	}
	for key, sure := range certain {
		u, kept := c.used[key]
		if !kept && !c.room(len(c.used)) {
			continue
		}
		u.most++
		if sure {
			u.least++
		}
		c.used[key] = u
	}
}

// room reports whether there is room for one more counter. Once there was not, no upper
// bound is known any more.
func (c *counters) room(kept int) bool {
	c.full = c.full || kept >= maxCounters
	return !c.full
}

// forget drops windows that have ended, if there are many.
func (c *counters) forget(now time.Time) {
	if max(len(c.used), len(c.open)) < maxCounters/2 {
		return
	}
	over := now.Unix() - lateSeconds
	for key := range c.used {
		if key.Window+key.Per < over {
			delete(c.used, key)
		}
	}
	for key := range c.open {
		if key.Window+key.Per < over {
			delete(c.open, key)
		}
	}
}
