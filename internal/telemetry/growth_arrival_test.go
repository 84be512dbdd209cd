package telemetry_test

import (
	"slices"
	"testing"
	"time"

	"writ/internal/telemetry"
)

// spanIDs are the ids of the spans that came with an arrival.
func (e *env) spanIDs(a telemetry.Arrival) (ids []string) {
	e.T.Helper()
	spans, err := e.ArrivedSpans(e.T.Context(), &a, telemetry.FirstSpan, 100)
	if err != nil {
		e.T.Fatal(err)
	}
	for _, span := range spans {
		ids = append(ids, span.ID)
	}
	return ids
}

// TestFragmentsArrive: whoever follows is told of each piece of a trace with the
// spans that came in it and no others, also when the server that took a piece has a
// clock that is behind, and when a piece repeats what is known.
func TestFragmentsArrive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		x := gTrace{id: newID()}
		pieces := [][]gSpan{{call(noon), call(noon)}, {call(noon), call(noon), call(noon)}, {call(noon)}}
		e.grown(orgA, x.fragment(pieces[0]))
		e.Pass(-15 * time.Second)
		e.replica().grown(orgA, x.fragment(append([]gSpan{pieces[0][1]}, pieces[1]...)))
		e.Pass(15 * time.Second)
		e.grown(orgA, x.fragment(pieces[0])) // all of it is known
		e.grown(orgA, x.fragment(pieces[2]))
		e.Pass(10 * time.Second)
		arrived, _, err := e.Arrived(t.Context(), orgA, telemetry.Cursor{}, 10)
		if err != nil || len(arrived) != len(pieces) {
			t.Fatalf("arrived %+v, %v; want %d", arrived, err, len(pieces))
		}
		for i, a := range arrived {
			var want []string
			for _, span := range pieces[i] {
				want = append(want, span.id)
			}
			if got := e.spanIDs(a); a.ID != x.id || a.Grew != (i > 0) || a.Own() || !slices.Equal(got, want) {
				t.Errorf("arrival %d of %s (grew %v, own %v) brought %v, want %v", i, a.ID, a.Grew, a.Own(), got, want)
			}
		}
		e.wantClean()
	})
}
