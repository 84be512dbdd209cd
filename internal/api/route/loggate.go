package route

import (
	"sync/atomic"
	"time"
)

// LogGate lets one line a second through: a flood of refused requests must not become a flood of lines.
type LogGate struct{ last atomic.Int64 } // the second of the last line

// MayLog reports whether a line may be written now.
func (g *LogGate) MayLog(now time.Time) bool {
	second := now.Unix()
	last := g.last.Load()
	return second != last && g.last.CompareAndSwap(last, second)
}
