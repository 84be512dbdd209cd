package observability_test

import (
	"slices"
	"testing"
	"time"

	"writ/internal/observability"
)

// TestSpansKeepTheirSessions: whether a span names the session of its trace, another
// or none, everybody who reads it is told what was sent.
func TestSpansKeepTheirSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		shared, other := newID(), newID()
		want := []string{shared, other, "", shared}
		spans := []string{
			span("span", "same", s.now(), inSession(shared)), span("span", "other", s.now(), inSession(other)),
			span("span", "none", s.now(), ""), span("span", "same again", s.now(), inSession(shared)),
		}
		in, alone := newID(), newID()
		s.accept(orgA, trace(in, s.now(), inSession(shared), spans...))
		s.accept(orgA, trace(alone, s.now(), "", spans...)) // of no session itself
		check := func(who string, got []string) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", who, got, want)
			}
		}
		for _, id := range []string{in, alone} {
			detail, err := s.Trace(t.Context(), orgA, id)
			if err != nil || detail == nil {
				t.Fatalf("trace: %+v, %v", detail, err)
			}
			var got []string
			for _, x := range detail.Spans {
				got = append(got, x.SessionID)
			}
			check("detail", got)
			exported, err := s.ExportTrace(t.Context(), orgA, id)
			if err != nil || exported == nil {
				t.Fatalf("export of one: %+v, %v", exported, err)
			}
			check("export of one", s.exportedSessions(exported))
		}
		all, err := s.ExportTraces(orgA, observability.TraceFilter{Limit: 50}, true)
		if err != nil {
			t.Fatal(err)
		}
		exported := 0
		for x, err := range all.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			exported++
			check("export", s.exportedSessions(x))
		}
		if exported != 2 {
			t.Errorf("%d traces were exported", exported)
		}
		s.advance(10 * time.Second)
		arrivals, _, err := s.Arrived(t.Context(), orgA, observability.Place{}, 10)
		if err != nil || len(arrivals) != 2 {
			t.Fatalf("arrived %+v, %v", arrivals, err)
		}
		for i := range arrivals {
			arrived, err := s.ArrivedSpans(t.Context(), &arrivals[i], observability.FirstSpan, 100)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range arrived {
				got = append(got, x.SessionID)
			}
			check("arrival", got)
		}
	})
}

func (s *store) exportedSessions(x *observability.ExportedTrace) (sessions []string) {
	s.t.Helper()
	for span, err := range x.Spans(s.t.Context()) {
		if err != nil {
			s.t.Fatal(err)
		}
		sessions = append(sessions, span.SessionID)
	}
	return sessions
}
