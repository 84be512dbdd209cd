package telemetry

import "time"

// Durations in microseconds, the unit of all stored times.
const (
	hourMicros   = int64(time.Hour / time.Microsecond)
	minuteMicros = int64(time.Minute / time.Microsecond)
	dayMicros    = 24 * hourMicros
)

// floor is n divided by unit, rounded down, also below zero.
func floor(n, unit int64) int64 {
	q := n / unit
	if n%unit < 0 {
		q--
	}
	return q
}
