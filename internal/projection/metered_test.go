package projection_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/decision"
	"writ/internal/projection"
	"writ/internal/telemetry"
)

// TestMeteredDecisionsAreThoseOfTheLog, on each day and in each month, each once, also long after retention.
func TestMeteredDecisionsAreThoseOfTheLog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for round := range 6 {
			e.decide(e.some(11 + 17*round)...)
			e.project()
			e.project()
			e.Pass(9 * 24 * time.Hour)
			if _, err := e.telemetry.Retain(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}
		for _, monthly := range []bool{false, true} {
			form := map[bool]string{false: time.DateOnly, true: "2006-01"}[monthly]
			want, agents := map[string]int{}, map[string]map[string]bool{}
			err := decision.Backwards(t.Context(), e.DB, e.acme, "", noon, func(d decision.Record) bool {
				at := d.At.Format(form)
				want[at]++
				want[at+" "+d.Verdict.String()]++
				if agents[at] == nil {
					agents[at] = map[string]bool{}
				}
				agents[at][d.AgentID] = true
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			for at, names := range agents {
				want[at+" agents"] = len(names)
			}
			got := map[string]int{}
			all, err := e.telemetry.MeteredOf(t.Context(), e.acme,
				telemetry.MeteredQuery{From: noon, Until: e.Now(), Monthly: monthly})
			for _, m := range all {
				at := m.At.Format(form)
				for name, n := range map[string]int64{
					"": m.Decisions.Total(), " allow": m.Decisions.Allowed, " ask": m.Decisions.Asked,
					" hold": m.Decisions.Held, " deny": m.Decisions.Denied, " agents": m.Agents,
				} {
					if n != 0 {
						got[at+name] = int(n)
					}
				}
				if m.Spans != 0 {
					t.Errorf("%s: the server's own %d spans are counted", at, m.Spans)
				}
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" || len(want) == 0 {
				t.Errorf("monthly %v: %v (-log +metered):\n%s", monthly, err, diff)
			}
		}
		each, err := e.telemetry.MeteredByEach(t.Context(), telemetry.MeteredQuery{From: noon, Until: e.Now()}, 10)
		if err != nil || len(each) != 1 || each[0].OrgID != e.acme || fmt.Sprint(each[0].Decisions) != "321" {
			t.Errorf("by organization: %+v, %v", each, err)
		}
	})
}

// TestAllCounted: nothing is left when the log's last decision is in telemetry, whatever else the log has.
func TestAllCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		want := func(when string, want bool) {
			t.Helper()
			positions, err := e.telemetry.Positions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := projection.AllCounted(t.Context(), e.DB, e.acme, positions[e.acme])
			if err != nil || got != want {
				t.Errorf("%s: %v, %v", when, got, err)
			}
		}
		want("nothing was decided", true)
		e.decide(e.some(3)...)
		want("three decisions wait", false)
		e.project()
		want("they are in telemetry", true)
		e.decide(e.some(1)...)
		want("another one waits", false)
	})
}
