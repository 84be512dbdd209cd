package throttle_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/throttle"
)

// TestDailyHoldsForADay: through the sweeps of the day, and not into the next.
func TestDailyHoldsForADay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *throttle.Limiter, _ *database.DB, advance func(time.Duration)) {
		limit := throttle.Daily{Name: "x", PerDay: 2}
		take := func(org string) error { return l.TakeDaily(t.Context(), limit, org) }
		for i := range 2 {
			if err := take("a"); err != nil {
				t.Fatalf("use %d: %v", i+1, err)
			}
			advance(5 * time.Hour)
			if err := l.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		// It is ten past ten in the evening by now.
		f, ok := errors.AsType[*fault.Error](take("a"))
		if !ok || f.Kind != fault.TooMany || f.RetryAfter != 2*time.Hour-10*time.Second {
			t.Fatalf("the third use: %+v, want too many until midnight", f)
		}
		if err := take("b"); err != nil {
			t.Errorf("another organization: %v", err)
		}
		if err := l.TakeDaily(t.Context(), throttle.Daily{Name: "y", PerDay: 1}, "a"); err != nil {
			t.Errorf("another limit: %v", err)
		}
		advance(2 * time.Hour)
		if err := take("a"); err != nil {
			t.Errorf("the next day: %v", err)
		}
	})
}

// TestDailyHoldsForAllTogether: new organizations do not get around it, and what
// one is refused takes nothing from the others.
func TestDailyHoldsForAllTogether(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *throttle.Limiter, _ *database.DB, _ func(time.Duration)) {
		limit := throttle.Daily{Name: "x", PerDay: 1}
		for range 20 {
			_ = l.TakeDaily(t.Context(), limit, "greedy") // the first passes, the others do not
		}
		for i := range 9 {
			if err := l.TakeDaily(t.Context(), limit, fmt.Sprint("o", i)); err != nil {
				t.Fatalf("organization %d: %v", i, err)
			}
		}
		if err := l.TakeDaily(t.Context(), limit, "one more"); !fault.Is(err, fault.TooMany) {
			t.Errorf("the eleventh organization: %v, want too many", err)
		}
	})
}
