package route

import (
	"sync/atomic"
	"time"
)

// logGate lets one line a second through: a flood of refused requests must not become a flood of lines.
type logGate struct{ last atomic.Int64 } // the second of the last line

func (g *logGate) mayLog(now time.Time) bool {
	second := now.Unix()
	last := g.last.Load()
	return second != last && g.last.CompareAndSwap(last, second)
}
