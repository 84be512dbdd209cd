package decision_test

import (
	"fmt"
	"testing"
	"time"

	"writ/internal/decision"
)

// TestBackwards reads more decisions than one slice has, those of an agent alone,
// those of a time, and no more than are wanted.
func TestBackwards(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const many = 600
		some := make([]decision.Record, many)
		for i := range some {
			some[i] = e.whole()
			some[i].AgentID, some[i].Tool = fmt.Sprint("agent", i%2), fmt.Sprint("tool", i)
		}
		if err := e.decide(some...); err != nil {
			t.Fatal(err)
		}
		past := e.DB.Now().Add(-time.Hour)
		for name, c := range map[string]struct {
			org, agent        string
			since             time.Time
			want, first, step int
		}{
			"all":                  {e.acme, "", past, many, many - 1, 1},
			"of an agent":          {e.acme, "agent0", past, many / 2, many - 2, 2},
			"of nobody":            {e.acme, "agent2", past, 0, 0, 0},
			"of later":             {e.acme, "", e.DB.Now().Add(time.Hour), 0, 0, 0},
			"another organization": {"other", "", past, 0, 0, 0},
		} {
			seen := 0
			err := decision.Backwards(t.Context(), e.DB, c.org, c.agent, c.since, func(r decision.Record) bool {
				if want := fmt.Sprint("tool", c.first-seen*c.step); r.Tool != want {
					t.Errorf("%s: %d is %s, want %s", name, seen, r.Tool, want)
				}
				seen++
				return true
			})
			if err != nil || seen != c.want {
				t.Errorf("%s: %d, %v; want %d", name, seen, err, c.want)
			}
		}
		seen := 0
		err := decision.Backwards(t.Context(), e.DB, e.acme, "", past, func(decision.Record) bool {
			seen++
			return seen < 7
		})
		if err != nil || seen != 7 {
			t.Errorf("%d of 7, %v", seen, err)
		}
	})
}
