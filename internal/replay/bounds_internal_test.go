package replay

import (
	"fmt"
	"testing"
	"time"

	"writ/internal/policy/engine"
)

// TestCountersDoNotGrowForever: a draft with a limit for each of many sessions is
// not worth a server's memory. Beyond what is kept, nothing is said to be unused.
func TestCountersDoNotGrowForever(t *testing.T) {
	t.Parallel()
	c := newCounters(time.Unix(0, 0))
	key := func(subject string) engine.LimitKey {
		return engine.LimitKey{
			PolicyID: "p",
			RuleID:   "r",
			Unit:     engine.Calls,
			Subject:  subject,
			Window:   0,
			Per:      1 << 40,
		}
	}
	first := engine.DoubtfulClaim{Claim: engine.Claim{LimitKey: key("first"), Max: 5}, Certain: true}
	c.take([]engine.DoubtfulClaim{first}, did)
	for i := range maxCounters + 1000 {
		claim, anyone := first, first
		claim.Subject, anyone.AnySubject, anyone.Per = fmt.Sprint(i), true, int64(i)
		c.take([]engine.DoubtfulClaim{claim, anyone}, did)
	}
	if n := len(c.used) + len(c.open); n > 2*maxCounters+2 {
		t.Errorf("%d counters are kept", n)
	}
	if least, most := c.Range(key("first"), false); least != 1 || most < 1<<60 {
		t.Errorf("one that is kept: from %d to %d", least, most)
	}
	if least, most := c.Range(key(fmt.Sprint(maxCounters+999)), false); least != 0 || most < 1<<60 {
		t.Errorf("one that is not: from %d to %d", least, most)
	}
}

// TestWindowsAreForgottenOnceTheyAreOver: a call that was judged a moment before it
// was recorded may still fall into the window before.
func TestWindowsAreForgottenOnceTheyAreOver(t *testing.T) {
	t.Parallel()
	c := newCounters(time.Unix(0, 0))
	for i := range maxCounters/2 + 1 {
		claim := engine.DoubtfulClaim{Claim: engine.Claim{LimitKey: engine.LimitKey{
			PolicyID: "p",
			RuleID:   "r",
			Unit:     engine.Calls,
			Subject:  fmt.Sprint(i),
			Window:   60,
			Per:      60,
		}, Max: 5}, Certain: true}
		c.take([]engine.DoubtfulClaim{claim}, did)
	}
	c.forget(time.Unix(125, 0))
	if len(c.used) == 0 {
		t.Error("a window that is over since seconds is forgotten")
	}
	c.forget(time.Unix(1000, 0))
	if len(c.used) != 0 {
		t.Errorf("%d windows that are over long since are kept", len(c.used))
	}
}

// TestLostCallsCountUnderEveryLimit: a call of a name that is forgotten may have used any limit of its window, and none
// of an earlier one.
func TestLostCallsCountUnderEveryLimit(t *testing.T) {
	t.Parallel()
	c := newCounters(time.Unix(0, 0))
	key := engine.LimitKey{Unit: engine.Calls, Subject: "a", Window: 600, Per: 60}
	c.lose(time.Unix(100, 0), did) // of another window
	c.lose(time.Unix(610, 0), perhaps)
	c.lose(time.Unix(620, 0), didNot)
	c.lose(time.Unix(630, 0), did)
	for _, anySubject := range []bool{false, true} {
		if least, most := c.Range(key, anySubject); least != 0 || most != 2 {
			t.Errorf("any subject %t: from %d to %d, want from 0 to 2", anySubject, least, most)
		}
	}
	for range maxCounters {
		c.lose(time.Unix(640, 0), did)
	}
	if _, most := c.Range(key, false); len(c.lost) > maxCounters || most < 1<<60 {
		t.Errorf("%d are kept, at most %d ran", len(c.lost), most)
	}
}
