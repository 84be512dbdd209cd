package webhook

import (
	"testing"
	"time"
)

// TestPauses double up to a bound, with a fifth more or less.
func TestPauses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attempts int
		random   float64
		want     time.Duration
	}{
		{1, 0.5, 5 * time.Second}, {2, 0.5, 10 * time.Second}, {3, 0.5, 20 * time.Second}, {9, 0.5, 15 * time.Minute},
		{1000, 0.5, 15 * time.Minute},
		{1, 0, 4 * time.Second}, {1, 1, 6 * time.Second}, {1000, 1, 18 * time.Minute},
	} {
		if got := pause(c.attempts, c.random); got != c.want {
			t.Errorf("after %d tries with %v: %v, want %v", c.attempts, c.random, got, c.want)
		}
	}
}

// TestJudge: what every status means.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status       int
		taken, final bool
	}{
		{200, true, false}, {204, true, false}, {299, true, false}, {300, false, true}, {304, false, true},
		{399, false, true}, {400, false, true},
		{404, false, true}, {408, false, false}, {410, false, true}, {425, false, false}, {429, false, false},
		{499, false, true},
		{500, false, false}, {503, false, false}, {599, false, false}, {600, false, false}, {101, false, false},
		{0, false, false},
	} {
		if got := classify(c.status); (got.problem == "") != c.taken || got.final != c.final || got.status != c.status {
			t.Errorf("%d: %+v", c.status, got)
		}
	}
}
