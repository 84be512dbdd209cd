package telemetry_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/internal/database"
	"writ/internal/telemetry"
	"writ/internal/telemetry/decode"
)

// gTrace is a trace as several processes saw it: spans, one of which may be the root.
type gTrace struct {
	id, session string
	spans       []gSpan
}

// gSpan is one of its spans. Only some say which session they are of.
type gSpan struct {
	id           string
	isRoot       bool
	namesSession bool
	start, end   time.Time
	failed       bool
	model        string // empty: no generation
	tool         string
	tokens       int64
}

func drawGrowing(t *rapid.T, sessions []string) gTrace {
	x := gTrace{id: newID(), session: rapid.SampledFrom(append(sessions, "")).Draw(t, "session")}
	begin := drawTime(t)
	n := rapid.IntRange(1, 8).Draw(t, "spans")
	for i := range n {
		s := gSpan{
			id:           newID(),
			failed:       rapid.IntRange(0, 4).Draw(t, "failed") == 0,
			namesSession: x.session != "" && rapid.Bool().Draw(t, "names"),
		}
		s.start = begin.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "after")) * time.Minute)
		s.end = s.start.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "took")) * time.Millisecond)
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			s.model, s.tokens = rapid.SampledFrom(models).Draw(t, "model"),
				int64(rapid.IntRange(0, 5000).Draw(t, "tokens"))
		case 1:
			s.tool = rapid.SampledFrom(tools).Draw(t, "tool")
		}
		if i == n-1 && x.session != "" && !slices.ContainsFunc(x.spans, func(s gSpan) bool { return s.namesSession }) {
			s.namesSession = true
		}
		x.spans = append(x.spans, s)
	}
	if rapid.Bool().Draw(t, "rooted") { // around all others
		root := gSpan{
			id:     newID(),
			isRoot: true,
			start:  begin,
			end:    begin.Add(300 * time.Minute),
			failed: rapid.Bool().Draw(t, "root failed"),
		}
		x.spans = append(x.spans, root)
	}
	return x
}

// stored is the span in the words of the intake.
func (s gSpan) stored(session string) decode.Span {
	end, ms := s.end.UnixMicro(), s.end.Sub(s.start).Milliseconds()
	span := decode.Span{
		ID:         s.id,
		Kind:       "span",
		Name:       "s",
		Start:      s.start.UnixMicro(),
		End:        &end,
		DurationMs: &ms,
		Status:     decode.StatusOK,
		Attributes: "{}",
		Facts:      decode.Facts{Tool: s.tool},
	}
	if s.failed {
		span.Status = decode.StatusError
	}
	if s.namesSession {
		span.SessionID = session
	}
	if s.model != "" {
		span.Kind, span.Model, span.Usage.Input = decode.KindGeneration, s.model, s.tokens
		span.Usage.CostNanos = telemetry.BuiltInPrices().Cost(s.model, span.Usage)
	}
	return span
}

// fragment is a request's part of the trace: some of its spans.
func (x gTrace) fragment(spans []gSpan) telemetry.Fragment {
	m := gTrace{session: x.session, spans: spans}.told()
	f := telemetry.Fragment{Product: "p"}
	end := m.End.UnixMicro()
	f.Trace = decode.Trace{
		ID:         x.id,
		Name:       "t",
		Start:      m.Start.UnixMicro(),
		End:        &end,
		DurationMs: m.Duration,
		Status:     m.Status,
		AgentID:    "a",
		Attributes: "{}",
		Tags:       "[]",
	}
	for _, s := range spans {
		f.Spans = append(f.Spans, s.stored(x.session))
		f.Rooted = f.Rooted || s.isRoot
		if s.namesSession {
			f.Trace.SessionID = x.session
		}
	}
	return f
}

// told is what spans tell of their trace: the naive account.
func (x gTrace) told() mTrace {
	m := mTrace{ID: x.id, Session: x.session, Status: "ok", Agent: "a"}
	root := slices.IndexFunc(x.spans, func(s gSpan) bool { return s.isRoot })
	for i, s := range x.spans {
		kind, attributes := "span", map[string]any{}
		if s.model != "" {
			kind, attributes = "generation", map[string]any{"model": s.model, "inputTokens": int(s.tokens)}
		}
		if s.tool != "" {
			attributes["toolName"] = s.tool
		}
		m.Spans = append(m.Spans, mSpan{Kind: kind, Start: s.start, Attributes: attributes})
		if root >= 0 && i != root {
			continue
		}
		if m.Start.IsZero() || s.start.Before(m.Start) {
			m.Start = s.start
		}
		if s.end.After(m.End) {
			m.End = s.end
		}
		if s.failed {
			m.Status = "error"
		}
	}
	if root >= 0 {
		ms := x.spans[root].end.Sub(x.spans[root].start).Milliseconds()
		m.Duration = &ms
	}
	return m
}

// TestGrowingFiguresEqualANaiveCount sends the spans of random traces in random
// pieces, some of them again, from two sides at once, and counts by hand what every
// answer should be.
func TestGrowingFiguresEqualANaiveCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		second := e.replica()
		rapid.Check(t, func(rt *rapid.T) {
			orgID := newID()
			sessions := []string{newID(), newID()}
			traces := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) gTrace { return drawGrowing(t, sessions) }), 1,
				8).Draw(rt, "traces")
			requests := drawRequests(rt, traces)
			stored := addConcurrently(rt, []*telemetry.Service{e.Service, second.Service}, orgID, requests)
			var told []mTrace
			spans := 0
			for _, x := range traces {
				told, spans = append(told, x.told()), spans+len(x.spans)
			}
			if stored != spans {
				rt.Fatalf("%d spans stored, want %d", stored, spans)
			}
			for _, days := range []int{1, 7, 30} {
				compareSummary(rt, e, orgID, days, told)
				compareTokens(rt, e, orgID, days, told)
			}
			compareSessions(rt, e, orgID, told)
			compareGrown(rt, e, orgID, traces)
		})
		e.wantClean()
	})
}

// drawRequests cuts traces into pieces, sends some again, and mixes all of them.
func drawRequests(t *rapid.T, traces []gTrace) (requests [][]telemetry.Fragment) {
	random := rand.New(rand.NewPCG(uint64(rapid.Uint32().Draw(t, "order")), 1))
	var pieces []telemetry.Fragment
	for _, x := range traces {
		mixed := slices.Clone(x.spans)
		random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for piece := range slices.Chunk(mixed, 1+random.IntN(4)) {
			pieces = append(pieces, x.fragment(piece))
		}
		again := mixed[random.IntN(len(mixed)):]
		pieces = append(pieces, x.fragment(again))
	}
	random.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	for len(pieces) > 0 {
		// A request has a trace once.
		var request []telemetry.Fragment
		seen := map[string]bool{}
		for len(pieces) > 0 && len(request) < 4 && !seen[pieces[0].Trace.ID] {
			seen[pieces[0].Trace.ID] = true
			request, pieces = append(request, pieces[0]), pieces[1:]
		}
		requests = append(requests, request)
	}
	return requests
}

func addConcurrently(
	t *rapid.T, services []*telemetry.Service, orgID string, requests [][]telemetry.Fragment,
) (stored int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, request := range requests {
		wg.Go(func() {
			added, err := services[i%len(services)].AddFragments(context.Background(), orgID, request)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || added.Closed+added.Full != 0 {
				t.Errorf("add: %+v, %v", added, err)
			}
			stored += added.Stored
		})
	}
	wg.Wait()
	return stored
}

// compareGrown compares each trace with what its spans tell.
func compareGrown(t *rapid.T, e *env, orgID string, traces []gTrace) {
	for _, x := range traces {
		got, err := e.Trace(context.Background(), orgID, x.id)
		if err != nil || got == nil {
			t.Fatalf("trace %s: %v, %v", x.id, got, err)
		}
		want := x.told()
		var usage telemetry.Usage
		errors := int64(0)
		for i, sp := range want.Spans {
			if sp.Kind == "generation" {
				usage = sumUsage(usage, naiveUsage(sp))
			}
			if x.spans[i].failed {
				errors++
			}
		}
		describe := func(
			session, status string, start, end time.Time, duration *int64, u telemetry.Usage, spans, failed int64,
		) string {
			took := "unknown"
			if duration != nil {
				took = fmt.Sprint(*duration)
			}
			return fmt.Sprint(session, " ", status, " ", database.Micros(start), " ", database.Micros(end), " ", took,
				" ", u, " ", spans, " ", failed)
		}
		is := describe(got.SessionID, got.Status, got.Start, *got.End, got.DurationMs, got.Usage, got.SpanCount,
			got.ErrorCount)
		should := describe(want.Session, want.Status, want.Start, want.End, want.Duration, usage, int64(len(x.spans)),
			errors)
		if is != should || len(got.Spans) != len(x.spans) {
			t.Fatalf("trace is   %s\nand should %s", is, should)
		}
	}
}
