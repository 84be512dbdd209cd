package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/page"
)

// clock is a time that a test sets.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// list reads all pages of a list, a few entries each.
func list(t *testing.T, s *audit.Service, log string, f audit.Filter) (indexes []int64) {
	t.Helper()
	f.Limit = 4
	for range 1000 {
		p, err := s.Entries(t.Context(), log, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Items {
			indexes = append(indexes, e.Index)
		}
		if f.Cursor = p.NextCursor; !p.HasMore {
			return indexes
		}
	}
	t.Fatal("the list has no end")
	return nil
}

func TestEntriesByEveryFilter(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		c := &clock{start}
		o.Now = c.Now
		db := dbtest.Open(t, o)
		s := open(t, db)
		hostile := decision("org", 30)
		hostile.Decision.Tool, hostile.Decision.Agent = strings.Repeat("x", 10_000), "a\x00b"
		for i := range 30 {
			c.now = start.Add(time.Duration(i/3) * time.Hour) // threes share an instant
			e := decision("org", i)
			if i%10 == 9 {
				e = entry("org", i)
			}
			mustDecide(t, db, s.Log, e, decision("other", i))
		}
		mustDecide(t, db, s.Log, hostile)
		want := func(keep func(i int) bool) (indexes []int64) {
			for i := 29; i >= 0; i-- {
				if keep(i) {
					indexes = append(indexes, int64(i))
				}
			}
			return indexes
		}
		judged := func(i int) bool { return i%10 != 9 }
		for name, tt := range map[string]struct {
			filter audit.Filter
			want   []int64
		}{
			"all": {
				audit.Filter{Until: start.Add(1000 * time.Hour)},
				append([]int64{30}, want(func(int) bool { return true })...),
			},
			"from": {
				audit.Filter{From: start.Add(8 * time.Hour)},
				append([]int64{30}, want(func(i int) bool { return i >= 24 })...),
			},
			"until": {
				audit.Filter{Until: start.Add(2 * time.Hour)}, want(func(i int) bool { return i < 6 }),
			},
			"agent": {
				audit.Filter{Agent: "agent1"}, want(func(i int) bool { return judged(i) && i%3 == 1 }),
			},
			"tool": {
				audit.Filter{Tool: "tool2"}, want(func(i int) bool { return judged(i) && i%5 == 2 }),
			},
			"allowed": {
				audit.Filter{Verdict: "allow"},
				append([]int64{30}, want(func(i int) bool { return judged(i) && i%3 == 0 })...),
			},
			"denied": {
				audit.Filter{Verdict: "deny"}, want(func(i int) bool { return judged(i) && i%3 == 1 }),
			},
			"denied or held": {
				audit.Filter{Verdicts: []string{"deny", "hold"}},
				want(func(i int) bool { return judged(i) && i%3 != 0 }),
			},
			"denied or allowed": {
				audit.Filter{Verdicts: []string{"allow", "deny"}},
				append([]int64{30}, want(func(i int) bool { return judged(i) && i%3 != 2 })...),
			},
			"one of a list": {
				audit.Filter{Verdicts: []string{"deny"}}, want(func(i int) bool { return judged(i) && i%3 == 1 }),
			},
			"denied or held, of an agent": {
				audit.Filter{Agent: "agent2", Verdicts: []string{"deny", "hold"}},
				want(func(i int) bool { return judged(i) && i%3 == 2 }),
			},
			"server": {
				audit.Filter{Server: "server1"}, want(func(i int) bool { return judged(i) && i%2 == 1 }),
			},
			"session": {
				audit.Filter{Session: "session3"}, want(func(i int) bool { return judged(i) && i%4 == 3 }),
			},
			"policy": {
				audit.Filter{Policy: "policy1"},
				want(func(i int) bool { return judged(i) && i%2 == 1 && i%3 != 0 }),
			},
			"policy, rule and answer": {
				audit.Filter{Policy: "policy1", Rule: "rule3", Verdicts: []string{"deny", "ask"}},
				want(func(i int) bool { return judged(i) && i%4 == 3 && i%3 == 1 }),
			},
			"plan": {
				audit.Filter{Plan: "plan4"}, want(func(i int) bool { return judged(i) && i%7 == 4 }),
			},
			"plan, tool and time": {
				audit.Filter{Plan: "plan0", Tool: "tool1", From: start.Add(time.Hour)},
				want(func(i int) bool { return judged(i) && i%7 == 0 && i%5 == 1 && i >= 3 }),
			},
			"action":    {audit.Filter{Action: "thing.changed"}, []int64{29, 19, 9}},
			"decisions": {audit.Filter{Action: audit.Decided}, append([]int64{30}, want(judged)...)},
			"decisions of a key": {
				audit.Filter{Action: audit.Decided, Actor: "k1"},
				want(func(i int) bool { return judged(i) && i%2 == 1 }),
			},
			"actor":   {audit.Filter{Actor: "u1"}, []int64{29, 19, 9}},
			"subject": {audit.Filter{Subject: audit.Subject{Type: "thing", ID: "19"}}, []int64{19}},
			"key among decisions": {
				audit.Filter{Actor: "k0", Verdict: "hold"},
				want(func(i int) bool { return judged(i) && i%2 == 0 && i%3 == 2 }),
			},
			"a very long tool":    {audit.Filter{Tool: strings.Repeat("x", 10_000)}, []int64{30}},
			"an agent with NUL":   {audit.Filter{Agent: "a\x00b"}, []int64{30}},
			"its hash is no name": {audit.Filter{Agent: "sha256:" + strings.Repeat("0", 64)}, nil},
			"nobody":              {audit.Filter{Agent: "nobody"}, nil},
		} {
			if got := list(t, s, "org", tt.filter); !slices.Equal(got, tt.want) {
				t.Errorf("%s: %v, want %v", name, got, tt.want)
			}
		}
		for field, f := range map[string]audit.Filter{
			"rule":     {Rule: "rule1"},
			"decision": {Policy: "policy1", Verdicts: []string{"deny", "allow"}},
		} {
			if _, err := s.Entries(t.Context(), "org", f); !fault.Is(err, fault.Invalid) ||
				!strings.Contains(err.Error(), field) {
				t.Errorf("%+v: %v, want a fault of %s", f, err, field)
			}
		}
		if got := list(t, s, "none", audit.Filter{}); len(got) != 0 {
			t.Errorf("a log of nobody has %v", got)
		}
	})
}

func TestEntriesSayWhatWasDecided(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		mustDecide(t, db, s.Log, decision("org", 1))
		p, err := s.Entries(t.Context(), "org", audit.Filter{})
		if err != nil || len(p.Items) != 1 {
			t.Fatalf("%v, %v", p, err)
		}
		r, err := p.Items[0].Parse()
		if err != nil || r.Agent != "agent1" || r.Tool != "tool1" || r.Verdict != "deny" || r.Plan != "plan1" ||
			r.Actor.ID != "k1" {
			t.Errorf("record = %+v, %v", r, err)
		}
		if p.Items[0].Payload != `{"n":1}` {
			t.Errorf("payload = %s", p.Items[0].Payload)
		}
	})
}

func TestEntriesRefuse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 3)
		p, err := s.Entries(t.Context(), "org", audit.Filter{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		odd := page.Cursor{List: "audit-entries", Scope: "org", Micros: 1, ID: "not a number"}
		for name, c := range map[string]struct {
			log    string
			filter audit.Filter
		}{
			"the cursor of another log": {"other", audit.Filter{Cursor: p.NextCursor}},
			"a cursor that is none":     {"org", audit.Filter{Cursor: "x"}},
			"a cursor made up":          {"org", audit.Filter{Cursor: odd.Encode()}},
			"a limit too large":         {"org", audit.Filter{Limit: page.MaxLimit + 1}},
			"a negative limit":          {"org", audit.Filter{Limit: -1}},
		} {
			if _, err := s.Entries(t.Context(), c.log, c.filter); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v, want invalid", name, err)
			}
		}
	})
}

// TestTheClockMayGoBack: order in the log is by place, whatever the clock says.
func TestTheClockMayGoBack(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		o.Now = c.Now
		db := dbtest.Open(t, o)
		s := open(t, db)
		for i, jump := range []time.Duration{0, 24 * time.Hour, -72 * time.Hour, 8760 * time.Hour} {
			c.now = c.now.Add(jump)
			mustDecide(t, db, s.Log, decision("org", i))
		}
		if report := export(t, s, "org", "", audit.ExportOptions{}); report.Size != 4 {
			t.Errorf("%d entries", report.Size)
		}
		if got := fmt.Sprint(list(t, s, "org", audit.Filter{})); got != "[3 1 0 2]" {
			t.Errorf("by time: %s", got)
		}
	})
}
