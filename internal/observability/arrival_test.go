package observability_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/observability"
)

// arrivedIDs follows from a place to the end, a few at a time, and gives the ids of
// the traces in the order they come, marked where they grew.
func (s *store) arrivedIDs(orgID string, after observability.Place, limit int) (ids []string, at observability.Place) {
	s.t.Helper()
	for {
		arrivals, next, err := s.Arrived(s.t.Context(), orgID, after, limit)
		if err != nil {
			s.t.Fatalf("read what arrived: %v", err)
		}
		if len(arrivals) == 0 {
			if next != after {
				s.t.Errorf("nothing arrived, and the place moved from %v to %v", after, next)
			}
			return ids, next
		}
		for _, a := range arrivals {
			if a.Place.Compare(after) <= 0 {
				s.t.Errorf("%s came at %v, which is not after %v", a.ID, a.Place, after)
			}
			id := a.ID
			if a.Grew {
				id += " grew"
			}
			ids, after = append(ids, id), a.Place
		}
		if next != after {
			s.t.Errorf("the place is %v, want that of the last, %v", next, after)
		}
	}
}

func TestWhatArrivedComesOnceAndInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		var want []string
		for i := range 7 {
			id := newID()
			// When it began says nothing of when it came.
			s.accept(orgA, trace(id, s.now().Add(-time.Duration(i)*time.Hour), ""))
			s.accept(orgB, trace(newID(), s.now(), ""))
			want = append(want, id)
		}
		if early, _ := s.arrivedIDs(orgA, observability.Place{}, 3); len(early) != 0 {
			t.Errorf("%d came at once: a slower commit could still come before them", len(early))
		}
		s.advance(10 * time.Second)
		got, at := s.arrivedIDs(orgA, observability.Place{}, 3)
		if !slices.Equal(got, want) {
			t.Errorf("came %v, want %v", got, want)
		}
		id := newID()
		s.accept(orgA, trace(id, s.now(), ""))
		s.advance(10 * time.Second)
		if got, _ := s.arrivedIDs(orgA, at, 3); !slices.Equal(got, []string{id}) {
			t.Errorf("later came %v, want %s", got, id)
		}
	})
}

// grown grows a trace of the server's own by spans of these names.
func (s *store) grown(orgID, traceID string, names ...string) {
	s.t.Helper()
	positions, err := s.Positions(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var spans []observability.GrownSpan
	for _, name := range names {
		spans = append(spans, observability.GrownSpan{ID: newID(), Kind: "policy_call", Name: name, Start: s.now(), End: s.now(), Attributes: "{}"})
	}
	from := positions[orgID]
	to := from
	to.Next++
	moved, err := s.Grow(s.t.Context(), orgID, from, to, []observability.GrowingTrace{{ID: traceID, Name: "grows", Source: "writ", Spans: spans}})
	if err != nil || !moved {
		s.t.Fatalf("grow: %v, %v", moved, err)
	}
}

// spanNames are the names of an arrival's spans that are new since a place.
func (s *store) spanNames(a observability.Arrival, since observability.Place) (names []string) {
	s.t.Helper()
	for after := a.NewSpans(since); ; {
		spans, err := s.ArrivedSpans(s.t.Context(), &a, after, 2)
		if err != nil {
			s.t.Fatal(err)
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
	each(t, func(t *testing.T, s *store) {
		grows := newID()
		other := s.replica()
		s.grown(orgA, grows, "one", "two", "three")
		s.advance(10 * time.Second)
		first, at, err := s.Arrived(t.Context(), orgA, observability.Place{}, 10)
		if err != nil || len(first) != 1 || first[0].Grew || first[0].ID != grows {
			t.Fatalf("arrived %+v, %v", first, err)
		}
		if got := s.spanNames(first[0], observability.Place{}); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("its spans are %v", got)
		}
		whole := newID()
		s.accept(orgA, trace(whole, s.now(), ""))
		s.advance(-15 * time.Second) // the clock of another server is behind
		other.grown(orgA, grows, "four", "five")
		s.advance(15 * time.Second)
		s.grown(orgA, grows, "six")
		s.advance(10 * time.Second)
		if got, _ := s.arrivedIDs(orgA, at, 1); !slices.Equal(got, []string{whole, grows + " grew"}) {
			t.Errorf("came %v", got)
		}
		again, next, err := s.Arrived(t.Context(), orgA, at, 10)
		if err != nil || len(again) != 2 || again[1].SpanCount != 6 {
			t.Fatalf("arrived %+v, %v", again, err)
		}
		if got := s.spanNames(again[1], at); !slices.Equal(got, []string{"four", "five", "six"}) {
			t.Errorf("new spans are %v", got)
		}
		if got := s.spanNames(again[0], at); got != nil {
			t.Errorf("a trace without spans has %v", got)
		}
		s.grown(orgA, grows, "seven")
		s.advance(10 * time.Second)
		last, _, err := s.Arrived(t.Context(), orgA, next, 10)
		if err != nil || len(last) != 1 {
			t.Fatalf("arrived %+v, %v", last, err)
		}
		if got := s.spanNames(last[0], next); !slices.Equal(got, []string{"seven"}) {
			t.Errorf("new spans are %v", got)
		}
		s.wantClean()
	})
}

// TestArrivalsHaveAnIndex asks SQLite how it finds them: without an index each look
// would read all that is kept.
func TestArrivalsHaveAnIndex(t *testing.T) {
	t.Parallel()
	s := open(t, dbtest.SQLite(t))
	for name, query := range observability.ArrivalQueries() {
		steps, err := database.Collect(t.Context(), s.db, func(row database.Scanner) (step string, err error) {
			var id, parent, unused int
			err = row.Scan(&id, &parent, &unused, &step)
			return step, err
		}, `EXPLAIN QUERY PLAN `+query, orgA, 1, 1, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(steps, "; ")
		if !strings.Contains(plan, "INDEX trace_by_arrival (org_id=? AND <expr>") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: %s", name, plan)
		}
	}
}
