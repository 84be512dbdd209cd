package telemetry_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/fault"
	"writ/internal/telemetry"
	"writ/internal/telemetry/decode"
)

// grown sends fragments and wants them understood.
func (e *env) grown(orgID string, fragments ...telemetry.Fragment) telemetry.Added {
	e.T.Helper()
	added, err := e.AddFragments(e.T.Context(), orgID, fragments)
	if err != nil {
		e.T.Fatalf("add: %v", err)
	}
	return added
}

// wantAdded compares what came of fragments.
func (e *env) wantAdded(got, want telemetry.Added) {
	e.T.Helper()
	if got != want {
		e.T.Errorf("added %+v, want %+v", got, want)
	}
}

// readTrace reads a trace of organization A.
func (e *env) readTrace(id string) *telemetry.TraceDetail {
	e.T.Helper()
	got, err := e.Trace(e.T.Context(), orgA, id)
	if err != nil || got == nil {
		e.T.Fatalf("trace %s: %v, %v", id, got, err)
	}
	return got
}

// call is a generation of ten tokens that ended a minute after it began.
func call(start time.Time) gSpan {
	return gSpan{
		id:     newID(),
		start:  start,
		end:    start.Add(time.Minute),
		model:  "unknown-model",
		tokens: 10,
	}
}

// TestASessionIsLearntLast: the span that names the session is the root, which ends
// and so is sent last; what the session reported by itself stops counting then.
func TestASessionIsLearntLast(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		x := gTrace{id: newID(), session: newID()}
		root := gSpan{
			id:           newID(),
			isRoot:       true,
			namesSession: true,
			start:        noon.Add(-time.Hour),
			end:          noon.Add(-time.Minute),
		}
		e.wantAdded(e.grown(orgA,
			x.fragment([]gSpan{call(noon.Add(-50 * time.Minute)), call(noon.Add(-3 * time.Hour))})),
			telemetry.Added{Stored: 2})
		report := []telemetry.ReportedUsage{{Model: "unknown-model", Usage: telemetry.Usage{Input: 999}}}
		if _, err := e.ReportUsage(t.Context(), orgA, "p", x.session, report); err != nil {
			t.Fatal(err)
		}
		e.Pass(time.Minute)
		e.wantAdded(e.grown(orgA, x.fragment([]gSpan{root, call(noon.Add(-40 * time.Minute))})), telemetry.Added{
			Stored: 2,
		})
		session, err := e.Session(t.Context(), orgA, x.session)
		if err != nil || session == nil || session.TraceCount != 1 || session.Usage.Input != 30 ||
			len(session.Traces) != 1 || !session.LastActivityAt.Equal(noon.Add(-time.Minute)) {
			t.Fatalf("session %+v, %v", session, err)
		}
		items, err := e.Tokens(t.Context(), orgA, "session", telemetry.Days(1))
		if err != nil || len(items) != 1 || items[0].Usage.Input != 30 {
			t.Errorf("tokens by session %+v, %v", items, err)
		}
		e.wantClean()
	})
}

// TestTheRootSaysWhatATraceIs, whenever it comes; a second root changes nothing.
func TestTheRootSaysWhatATraceIs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		x := gTrace{id: newID()}
		early := x.fragment([]gSpan{{id: newID(), start: noon.Add(-3 * time.Hour), end: noon, failed: true}})
		early.Trace.Name, early.Trace.AgentID, early.Trace.Attributes = "child", "sub", `{"of":"the child"}`
		e.grown(orgA, early)
		if got := e.readTrace(x.id); got.Name != "child" || got.Status != "error" || got.DurationMs != nil ||
			got.AgentID != "sub" {
			t.Errorf("without its root: %+v", got.TraceItem)
		}
		root := x.fragment([]gSpan{
			{id: newID(), isRoot: true, start: noon.Add(-time.Hour), end: noon.Add(-30 * time.Minute)},
		})
		said := "hello"
		root.Trace.Name, root.Trace.AgentID, root.Trace.Attributes, root.Trace.Input = "root", "main",
			`{"of":"the root"}`, &said
		e.grown(orgA, root)
		another := x.fragment([]gSpan{{
			id:     newID(),
			isRoot: true,
			start:  noon.Add(-9 * time.Hour),
			end:    noon,
			failed: true,
		}})
		another.Trace.Name, another.Trace.Attributes = "another", "{}"
		e.grown(orgA, another)
		got := e.readTrace(x.id)
		if got.Name != "root" || got.Status != "ok" || got.DurationMs == nil || *got.DurationMs != 30*60*1000 ||
			got.AgentID != "main" ||
			got.Attributes != `{"of":"the root"}` || got.InputPreview == nil || *got.InputPreview != said ||
			got.SpanCount != 3 || got.ErrorCount != 2 || !got.Start.Equal(noon.Add(-time.Hour)) {
			t.Errorf("with its root: %+v", got.TraceItem)
		}
		e.wantTraces(orgA, 1)
		e.wantClean()
	})
}

// TestTracesThatDoNotGrow are those of clients, the server's own, and full ones.
func TestTracesThatDoNotGrow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		fragment := func(id string) telemetry.Fragment { return gTrace{id: id}.fragment([]gSpan{call(noon)}) }
		closed, own, full := newID(), newID(), newID()
		e.accept(orgA, trace(closed, noon, "", generation(noon, "m", 1)))
		e.wantAdded(e.grown(orgA, fragment(closed)), telemetry.Added{Closed: 1})

		decided := func(id string) []telemetry.GrowingTrace {
			return []telemetry.GrowingTrace{{ID: id, Name: "decision", Source: "writ",
				Spans: []telemetry.GrownSpan{{
					ID:         newID(),
					Kind:       "policy_call",
					Name:       "d",
					Start:      noon,
					End:        noon,
					Attributes: "{}",
				}}}}
		}
		next := telemetry.Position{Next: 1}
		if moved, err := e.Grow(t.Context(), orgA, telemetry.Position{}, next, decided(own), nil); err != nil ||
			!moved {
			t.Fatal(moved, err)
		}
		e.wantAdded(e.grown(orgA, fragment(own)), telemetry.Added{Closed: 1})

		e.wantAdded(e.grown(orgA, fragment(full)), telemetry.Added{Stored: 1})
		if moved, err := e.Grow(t.Context(), orgA, next, telemetry.Position{Next: 2}, decided(full), nil); err != nil ||
			!moved {
			t.Fatal(moved, err)
		}
		if got := e.readTrace(full); got.SpanCount != 1 {
			t.Errorf("a decision went into a client's trace: %+v", got.TraceItem)
		}
		e.Exec(`UPDATE trace SET span_count = $1 WHERE id = $2`, decode.MaxGrownSpans, full)
		e.wantAdded(e.grown(orgA, fragment(full)), telemetry.Added{Full: 1})
	})
}

// TestOrganizationsDoNotShareATrace, not even one of the same id.
func TestOrganizationsDoNotShareATrace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		x, same := gTrace{id: newID()}, call(noon)
		e.wantAdded(e.grown(orgA, x.fragment([]gSpan{same})), telemetry.Added{Stored: 1})
		e.wantAdded(e.grown(orgB, x.fragment([]gSpan{same, call(noon)})), telemetry.Added{Stored: 2})
		e.wantTraces(orgA, 1)
		e.wantTraces(orgB, 1)
		e.wantClean()
	})
}

// TestLargeFragments are stored in several changes, and count once when they are
// sent again with more.
func TestLargeFragments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		x := gTrace{id: newID(), session: newID()}
		for range 1234 {
			x.spans = append(x.spans, call(noon.Add(-time.Hour)))
		}
		x.spans[700].namesSession = true
		e.wantAdded(e.grown(orgA, x.fragment(x.spans[:1000])), telemetry.Added{Stored: 1000})
		e.wantAdded(e.grown(orgA, x.fragment(x.spans)), telemetry.Added{Stored: 234, Known: 1000})
		if got := e.readTrace(x.id); got.SpanCount != 1234 || got.Usage.Input != 12340 {
			t.Errorf("%+v", got.TraceItem)
		}
		e.wantClean()
		e.Pass((keptDays + 2) * day)
		if removed, err := e.Retain(t.Context(), false); err != nil || removed.Traces != 1 {
			t.Errorf("%+v, %v", removed, err)
		}
		if n := e.Number(`SELECT count(*) FROM span`); n != 0 {
			t.Errorf("%d spans are left", n)
		}
		// The trace may come again: its id was forgotten with it.
		e.wantAdded(e.grown(orgA, x.fragment(x.spans[:1])), telemetry.Added{Stored: 1})
	})
}

// TestReplicasGrowOneTrace sends every span to two servers at once.
func TestReplicasGrowOneTrace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		second := e.replica()
		x := gTrace{id: newID(), session: newID()}
		for range 40 {
			x.spans = append(x.spans, call(noon.Add(-time.Hour)))
		}
		x.spans[39] = gSpan{
			id:           newID(),
			isRoot:       true,
			namesSession: true,
			start:        noon.Add(-2 * time.Hour),
			end:          noon.Add(-time.Minute),
		}
		var wg sync.WaitGroup
		for i := range x.spans {
			for _, to := range []*env{e, second} {
				wg.Go(func() {
					if _, err := to.AddFragments(t.Context(), orgA, []telemetry.Fragment{
						x.fragment(x.spans[i : i+1]),
					}); err != nil {
						t.Errorf("add: %v", err)
					}
				})
			}
		}
		wg.Wait()
		got := e.readTrace(x.id)
		if got.SpanCount != 40 || len(got.Spans) != 40 || got.Usage.Input != 390 || got.SessionID != x.session {
			t.Errorf("%+v", got.TraceItem)
		}
		e.wantTraces(orgA, 1)
		e.wantClean()
	})
}

// TestGrowingDuringAnOutage: what cannot be stored is unavailable and not half there,
// in a request of several changes too, and sending it again completes it.
func TestGrowingDuringAnOutage(t *testing.T) {
	t.Parallel()
	eachOutage(t, func(t *testing.T, e *env, fail, mend func()) {
		x := gTrace{id: newID(), session: newID()}
		for range 1100 {
			x.spans = append(x.spans, call(e.Now().Add(-time.Hour)))
		}
		x.spans[1099].namesSession = true
		e.wantAdded(e.grown(orgA, x.fragment(x.spans[:10])), telemetry.Added{Stored: 10})
		more := x.fragment(x.spans)
		for i := range more.Spans {
			more.Spans[i].Attributes = `{"k":"` + strings.Repeat("x", 1000) + `"}`
		}
		fail()
		if added, err := e.AddFragments(t.Context(), orgA, []telemetry.Fragment{
			more,
		}); !fault.Is(err, fault.Unavailable) {
			t.Errorf("add: %+v, %v, want unavailable", added, err)
		}
		mend()
		e.wantClean()
		e.wantAdded(e.grown(orgA, more), telemetry.Added{Stored: 1090, Known: 10})
		session, err := e.Session(t.Context(), orgA, x.session)
		if err != nil || session == nil || session.TraceCount != 1 || session.Usage.Input != 11_000 {
			t.Errorf("session %+v, %v", session, err)
		}
		e.wantClean()
	})
}
