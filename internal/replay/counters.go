package replay

import (
	"maps"
	"math"
	"slices"
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
	// open counts calls whose limit's subject is unknown, and all counts those of every subject. Their keys have no
	// subject.
	open, all map[engine.LimitKey]int64
	// lost are the times of calls that may count under any limit, because a name under which they were judged is
	// forgotten: in their order, in Unix seconds.
	lost []int64
	full bool
}

type use struct{ least, most int64 }

func newCounters(since time.Time) *counters {
	return &counters{
		since: since.Unix(), used: map[engine.LimitKey]use{},
		open: map[engine.LimitKey]int64{}, all: map[engine.LimitKey]int64{},
	}
}

// Range is how much of a limit is used. No subject has used more than all have together.
func (c *counters) Range(key engine.LimitKey, anySubject bool) (least, most int64) {
	if key.Unit != engine.Calls {
		return 0, math.MaxInt64
	}
	var u use
	if !anySubject {
		u = c.used[key]
	}
	if c.full || key.Window < c.since {
		return u.least, math.MaxInt64
	}
	key.Subject = ""
	if anySubject {
		return 0, c.all[key] + c.lostSince(key.Window)
	}
	return u.least, u.most + c.open[key] + c.lostSince(key.Window)
}

// lose counts a call that perhaps ran, and of which nobody knows under which limits.
func (c *counters) lose(at time.Time, r ran) {
	if r == didNot || !c.room(len(c.lost)) {
		return
	}
	second := at.Unix()
	if n := len(c.lost); n > 0 {
		second = max(second, c.lost[n-1])
	}
	c.lost = append(c.lost, second)
}

// lostSince counts those since the begin of a window, in which the call is that is being judged.
func (c *counters) lostSince(window int64) int64 {
	i, _ := slices.BinarySearch(c.lost, window-lateSeconds)
	return int64(len(c.lost) - i)
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
	certain, isOpen := map[engine.LimitKey]bool{}, map[engine.LimitKey]bool{}
	for _, claim := range claims {
		whoever := claim.LimitKey
		whoever.Subject = ""
		isOpen[whoever] = isOpen[whoever] || claim.AnySubject
		if !claim.AnySubject {
			certain[claim.LimitKey] = certain[claim.LimitKey] || claim.Certain && r == did
		}
	}
	for whoever, open := range isOpen {
		c.add(c.all, whoever)
		if open {
			c.add(c.open, whoever)
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

func (c *counters) add(to map[engine.LimitKey]int64, key engine.LimitKey) {
	if n, kept := to[key]; kept || c.room(len(to)) {
		to[key] = n + 1
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
	if max(len(c.used), len(c.all)) < maxCounters/2 {
		return
	}
	over := now.Unix() - lateSeconds
	hasEnded := func(key engine.LimitKey) bool { return key.Window+key.Per < over }
	maps.DeleteFunc(c.used, func(key engine.LimitKey, _ use) bool { return hasEnded(key) })
	for _, counts := range []map[engine.LimitKey]int64{c.open, c.all} {
		maps.DeleteFunc(counts, func(key engine.LimitKey, _ int64) bool { return hasEnded(key) })
	}
}
