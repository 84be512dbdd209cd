package telemetry

import (
	"math"
	"time"

	"writ/internal/database"
)

// Period is the time that a query is about: some days until now or, where From is set, from an instant on. Where Until
// is set, it ends before that.
type Period struct {
	Days        int
	From, Until time.Time
}

// Days is the period of the last days.
func Days(n int) Period { return Period{Days: n} }

// start is when the period begins, exactly.
func (p Period) start(now time.Time) time.Time {
	switch {
	case !p.From.IsZero():
		return p.From
	case !p.Until.IsZero():
		return p.Until.AddDate(0, 0, -p.Days)
	}
	return now.AddDate(0, 0, -p.Days)
}

// Length is how many days the period has, rounded up.
func (p Period) Length(now time.Time) int {
	if p.From.IsZero() {
		return p.Days
	}
	from, until := p.Bounds(now)
	const day = 24 * time.Hour
	return max(0, int((until.Sub(from)+day-1)/day))
}

// Bounds are when the period begins and ends, exactly.
func (p Period) Bounds(now time.Time) (from, until time.Time) {
	if !p.Until.IsZero() {
		return p.start(now), p.Until
	}
	return p.start(now), now
}

// hours are buckets of rollups, from the first one to before the end.
type hours struct{ first, end int64 }

// hoursOf is the hours of an aggregate: those that a period touches, but nothing that retention has removed.
func (s *Service) hoursOf(p Period) hours {
	h := hours{max(floor(database.Micros(p.start(s.db.Now())), hourMicros), s.firstKeptDay()*24), math.MaxInt64}
	if !p.Until.IsZero() {
		h.end = floor(database.Micros(p.Until)-1, hourMicros) + 1
	}
	return h
}
