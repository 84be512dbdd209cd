package telemetry_test

import (
	"strings"
	"testing"
)

// A client that knows no price sends 0. The span counts with the price table's cost and still shows what was sent.
func TestACostOfZeroIsNotKnown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *env) {
		for name, c := range map[string]struct {
			attributes string
			nanos      int64
		}{
			"a priced model":    {`{"model":"claude-opus-4-5","inputTokens":1000,"outputTokens":100,"costUsd":0}`, 7_500_000},
			"an unpriced model": {`{"model":"house","inputTokens":1000,"costUsd":0}`, 0},
			"no tokens":         {`{"model":"claude-opus-4-5","costUsd":0.0}`, 0},
			"a known cost":      {`{"model":"claude-opus-4-5","inputTokens":1000,"costUsd":0.001}`, 1_000_000},
		} {
			id := newID()
			s.accept(orgA, trace(id, s.Now(), "", span("generation", "g", s.Now(), `"attributes":`+c.attributes)))
			found, err := s.Trace(t.Context(), orgA, id)
			if err != nil || found == nil {
				t.Fatalf("%s: %v, %v", name, found, err)
			}
			if got := found.Spans[0]; found.Usage.CostNanos != c.nanos || got.CostNanos != c.nanos ||
				got.Attributes != c.attributes || *got.Cost() != float64(c.nanos)/1e9 {
				t.Errorf("%s: the trace costs %d, its span is %+v; want %d", name, found.Usage.CostNanos, got, c.nanos)
			}
			exported, err := s.ExportTrace(t.Context(), orgA, id)
			if err != nil {
				t.Fatal(err)
			}
			for got, err := range exported.Spans(t.Context()) {
				if err != nil || got.StoredSpan.CostNanos != c.nanos || got.Attributes != c.attributes {
					t.Errorf("%s: exported %+v, %v", name, got, err)
				}
			}
		}
	})
}

// OpenTelemetry writes the id of a trace without hyphens.
func TestATraceIsFoundByOpenTelemetrysID(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *env) {
		id := newID()
		s.accept(orgA, trace(id, s.Now(), ""))
		bare := strings.ReplaceAll(id, "-", "")
		for _, asked := range []string{id, bare, strings.ToUpper(bare), strings.ToUpper(id)} {
			found, err := s.Trace(t.Context(), orgA, asked)
			if err != nil || found == nil || found.ID != id {
				t.Errorf("%s: %+v, %v", asked, found, err)
			}
			exported, err := s.ExportTrace(t.Context(), orgA, asked)
			if err != nil || exported == nil || exported.ID != id {
				t.Errorf("export %s: %+v, %v", asked, exported, err)
			}
		}
		for _, other := range []string{bare[1:], bare + "0", bare[:31] + "g", id[:35], ""} {
			if found, err := s.Trace(t.Context(), orgA, other); err != nil || found != nil {
				t.Errorf("%q finds %+v, %v", other, found, err)
			}
		}
		if found, err := s.Trace(t.Context(), orgB, bare); err != nil || found != nil {
			t.Errorf("another organization finds %+v, %v", found, err)
		}
	})
}
