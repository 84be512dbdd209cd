package telemetry_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/telemetry"
)

// arrivedIDs follows from a place to the end, a few at a time, and gives the ids of
// the traces in the order they come, marked where they grew.
func (e *env) arrivedIDs(orgID string, after telemetry.Cursor, limit int) (ids []string, at telemetry.Cursor) {
	e.T.Helper()
	for {
		arrivals, next, err := e.Arrived(e.T.Context(), orgID, after, limit)
		if err != nil {
			e.T.Fatalf("read what arrived: %v", err)
		}
		if len(arrivals) == 0 {
			if next != after {
				e.T.Errorf("nothing arrived, and the place moved from %v to %v", after, next)
			}
			return ids, next
		}
		for _, a := range arrivals {
			if a.Cursor.Compare(after) <= 0 {
				e.T.Errorf("%s came at %v, which is not after %v", a.ID, a.Cursor, after)
			}
			id := a.ID
			if a.Grew {
				id += " grew"
			}
			ids, after = append(ids, id), a.Cursor
		}
		if next != after {
			e.T.Errorf("the place is %v, want that of the last, %v", next, after)
		}
	}
}

func TestWhatArrivedComesOnceAndInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var want []string
		for i := range 7 {
			id := newID()
			// When it began says nothing of when it came.
			e.accept(orgA, trace(id, e.Now().Add(-time.Duration(i)*time.Hour), ""))
			e.accept(orgB, trace(newID(), e.Now(), ""))
			want = append(want, id)
		}
		if early, _ := e.arrivedIDs(orgA, telemetry.Cursor{}, 3); len(early) != 0 {
			t.Errorf("%d came at once: a slower commit could still come before them", len(early))
		}
		e.Pass(10 * time.Second)
		got, at := e.arrivedIDs(orgA, telemetry.Cursor{}, 3)
		if !slices.Equal(got, want) {
			t.Errorf("came %v, want %v", got, want)
		}
		id := newID()
		e.accept(orgA, trace(id, e.Now(), ""))
		e.Pass(10 * time.Second)
		if got, _ := e.arrivedIDs(orgA, at, 3); !slices.Equal(got, []string{id}) {
			t.Errorf("later came %v, want %s", got, id)
		}
	})
}

// decided grows a trace of the server's own by spans of these names.
func (e *env) decided(orgID, traceID string, names ...string) {
	e.T.Helper()
	positions, err := e.Positions(e.T.Context())
	if err != nil {
		e.T.Fatal(err)
	}
	var spans []telemetry.GrownSpan
	for _, name := range names {
		spans = append(spans, telemetry.GrownSpan{
			ID:         newID(),
			Kind:       "policy_call",
			Name:       name,
			Start:      e.Now(),
			End:        e.Now(),
			Attributes: "{}",
		})
	}
	from := positions[orgID]
	to := from
	to.Next++
	moved, err := e.Grow(e.T.Context(), orgID, from, to, []telemetry.GrowingTrace{
		{ID: traceID, Name: "grows", Source: "writ", Spans: spans},
	}, nil)
	if err != nil || !moved {
		e.T.Fatalf("grow: %v, %v", moved, err)
	}
}

// spanNames are the names of the spans that came with an arrival.
func (e *env) spanNames(a telemetry.Arrival) (names []string) {
	e.T.Helper()
	for after := telemetry.FirstSpan; ; {
		spans, err := e.ArrivedSpans(e.T.Context(), &a, after, 2)
		if err != nil {
			e.T.Fatal(err)
		}
		if len(spans) == 0 {
			return names
		}
		for _, span := range spans {
			names, after = append(names, span.Name), span.Number
		}
	}
}

func TestATraceThatGrowsArrivesAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		grows := newID()
		other := e.replica()
		e.decided(orgA, grows, "one", "two", "three")
		e.Pass(10 * time.Second)
		first, at, err := e.Arrived(t.Context(), orgA, telemetry.Cursor{}, 10)
		if err != nil || len(first) != 1 || first[0].Grew || first[0].ID != grows {
			t.Fatalf("arrived %+v, %v", first, err)
		}
		if got := e.spanNames(first[0]); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("its spans are %v", got)
		}
		whole := newID()
		e.accept(orgA, trace(whole, e.Now(), ""))
		e.Pass(-15 * time.Second) // the clock of another server is behind; still it comes after what the trace has
		other.decided(orgA, grows, "four", "five")
		e.Pass(15 * time.Second)
		e.decided(orgA, grows, "six")
		e.Pass(10 * time.Second)
		if got, _ := e.arrivedIDs(orgA, at, 1); !slices.Equal(got, []string{grows + " grew", whole, grows + " grew"}) {
			t.Errorf("came %v", got)
		}
		again, next, err := e.Arrived(t.Context(), orgA, at, 10)
		if err != nil || len(again) != 3 || again[2].SpanCount != 6 {
			t.Fatalf("arrived %+v, %v", again, err)
		}
		for i, want := range [][]string{{"four", "five"}, nil, {"six"}} {
			if got := e.spanNames(again[i]); !slices.Equal(got, want) {
				t.Errorf("arrival %d brought %v, want %v", i, got, want)
			}
		}
		e.decided(orgA, grows, "seven")
		e.Pass(10 * time.Second)
		last, _, err := e.Arrived(t.Context(), orgA, next, 10)
		if err != nil || len(last) != 1 {
			t.Fatalf("arrived %+v, %v", last, err)
		}
		if got := e.spanNames(last[0]); !slices.Equal(got, []string{"seven"}) {
			t.Errorf("new spans are %v", got)
		}
		if got := e.spanNames(first[0]); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("what came first is now said to be %v", got)
		}
		e.wantClean()
	})
}

// TestATraceThatNeverRests grows again before its last growth is settled, as one
// does whose exporter flushes every few seconds. All of it is told, in time.
func TestATraceThatNeverRests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		grows := newID()
		var at telemetry.Cursor
		var told, want []string
		for i := range 8 {
			name := string(rune('a' + i))
			e.decided(orgA, grows, name)
			e.accept(orgA, trace(newID(), e.Now(), "")) // moves the place on
			want = append(want, name)
			e.Pass(4 * time.Second)
			arrivals, next, err := e.Arrived(t.Context(), orgA, at, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range arrivals {
				told = append(told, e.spanNames(a)...)
			}
			if at = next; i >= 2 && len(told) < i-1 {
				t.Errorf("after %d growths only %v were told", i+1, told)
			}
		}
		e.Pass(10 * time.Second)
		arrivals, _, err := e.Arrived(t.Context(), orgA, at, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range arrivals {
			told = append(told, e.spanNames(a)...)
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %v, want each once: %v", told, want)
		}
	})
}

// TestGrowthsGoWithTheirTraces, when retention removes the day of these.
func TestGrowthsGoWithTheirTraces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		old, kept := newID(), newID()
		e.decided(orgA, old, "one")
		e.Pass(keptDays * day)
		e.decided(orgA, old, "two") // late, and still of the trace's day
		e.decided(orgA, kept, "one")
		e.decided(orgA, kept, "two")
		e.Pass(2 * day)
		if _, err := e.Retain(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if left := e.Number(`SELECT count(*) FROM trace_growth`); left != 1 {
			t.Errorf("%d growths are left, want that of the kept trace", left)
		}
		if got, _ := e.arrivedIDs(orgA, telemetry.Cursor{}, 10); !slices.Equal(got, []string{kept, kept + " grew"}) {
			t.Errorf("arrived %v", got)
		}
		e.wantClean()
	})
}

// TestWhatIsTheServersOwn: a client that calls itself as the server does is still
// told of.
func TestWhatIsTheServersOwn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		own, alike := newID(), newID()
		e.decided(orgA, own, "one")
		likeOurs := strings.Replace(body(trace(alike, e.Now(), `"attributes":{"source":"writ"}`,
			span("generation", "g", e.Now(),
				`"attributes":{"model":"m","toolName":"pay","inputTokens":7,"costUsd":1}`))), `"test"`, `"writ"`, 1)
		if r := e.ingest(orgA, likeOurs); r.Accepted != 1 {
			t.Fatalf("%+v", r)
		}
		e.Pass(10 * time.Second)
		arrived, _, err := e.Arrived(t.Context(), orgA, telemetry.Cursor{}, 10)
		if err != nil || len(arrived) != 2 || !arrived[0].Own() || arrived[1].Own() || arrived[1].Product != "writ" ||
			arrived[1].Source != "writ" {
			t.Fatalf("arrived %+v, %v", arrived, err)
		}
		spans, err := e.ArrivedSpans(t.Context(), &arrived[1], telemetry.FirstSpan, 10)
		if err != nil || len(spans) != 1 || spans[0].Model != "m" || spans[0].Tool != "pay" ||
			spans[0].Usage.Input != 7 || spans[0].Usage.CostNanos != 1e9 {
			t.Errorf("its spans: %+v, %v", spans, err)
		}
	})
}

// TestArrivalsHaveAnIndex asks SQLite how it finds them: without an index each look
// would read all that is kept.
func TestArrivalsHaveAnIndex(t *testing.T) {
	t.Parallel()
	e := open(t, dbtest.SQLite(t))
	steps, err := database.Collect(t.Context(), e.DB, func(row database.Scanner) (step string, err error) {
		var id, parent, unused int
		err = row.Scan(&id, &parent, &unused, &step)
		return step, err
	}, `EXPLAIN QUERY PLAN `+telemetry.ArrivalQuery, orgA, 1, 1, 1, 1, 1, 1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(steps, "; ")
	for _, index := range []string{
		"INDEX trace_by_receipt (org_id=? AND pk>? AND pk<?)",
		"INDEX sqlite_autoindex_trace_growth_1 (org_id=? AND at>? AND at<?)",
	} {
		if !strings.Contains(plan, index) {
			t.Errorf("%s is not used: %s", index, plan)
		}
	}
}

// TestArrivalsHoldLittle: what is read of many traces at once holds none of their
// attributes, of which each may be as large as a request; they are read one by one.
func TestArrivalsHoldLittle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		id := database.NewID()
		request, err := telemetry.ParseRequest([]byte(`{"product":"p","batches":[{"trace":{"id":"` + id +
			`","name":"large","status":"ok","startTime":"` + e.Now().Format(time.RFC3339) + `",
			"attributes":{"large":"` + strings.Repeat("x", 1<<20) + `"}},"spans":[]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if result, err := e.Ingest(t.Context(), orgA, "p", request); err != nil || result.Accepted != 1 {
			t.Fatalf("%+v, %v", result, err)
		}
		e.Pass(time.Minute)
		arrived, _, err := e.Arrived(t.Context(), orgA, telemetry.Cursor{}, 10)
		if err != nil || len(arrived) != 1 || len(arrived[0].Attributes) > 2 {
			t.Fatalf("%d arrivals, %v", len(arrived), err)
		}
		attributes, err := e.ArrivedAttributes(t.Context(), &arrived[0])
		if err != nil || len(attributes) < 1<<20 {
			t.Errorf("%d bytes of attributes, %v", len(attributes), err)
		}
	})
}
