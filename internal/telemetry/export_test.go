package telemetry_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/telemetry"
	"writ/internal/telemetry/decode"
)

// exportAll is the ids of the traces of an export, and how many spans each has.
func (e *env) exportAll(orgID string, f telemetry.TraceFilter) (ids []string, spans map[string]int) {
	e.T.Helper()
	export, err := e.ExportTraces(orgID, f, true)
	if err != nil {
		e.T.Fatal(err)
	}
	spans = map[string]int{}
	for t, err := range export.All(e.T.Context()) {
		if err != nil {
			e.T.Fatal(err)
		}
		ids = append(ids, t.ID)
		for _, err := range t.Spans(e.T.Context()) {
			if err != nil {
				e.T.Fatal(err)
			}
			spans[t.ID]++
		}
	}
	return ids, spans
}

// some makes n traces, a second apart, of so many spans each as a function says.
func (e *env) some(n int, spans func(i int) int) (ids []string) {
	e.T.Helper()
	var batches []string
	for i := range n {
		id := newID()
		ids = append(ids, id)
		start := e.Now().Add(-time.Duration(i) * time.Second)
		var all []string
		for j := range spans(i) {
			all = append(all, span("tool", fmt.Sprint("s", j), start, ""))
		}
		batches = append(batches, trace(id, start, "", all...))
	}
	for some := range slices.Chunk(batches, 500) {
		e.accept(orgA, some...)
	}
	return ids
}

// add adds spans to a trace that grows and has no root yet.
func (e *env) add(id string, start time.Time, spans int) {
	e.T.Helper()
	f := telemetry.Fragment{Product: "test", Batch: decode.Batch{Trace: decode.Trace{
		ID:         id,
		Name:       "grown",
		Start:      start.UnixMicro(),
		Status:     "ok",
		Source:     "test",
		Attributes: "{}",
		Tags:       "[]",
	}}}
	for range spans {
		f.Spans = append(f.Spans, decode.Span{
			ID:         newID(),
			ParentID:   newID(),
			Kind:       "span",
			Name:       "s",
			Start:      start.UnixMicro(),
			Status:     "ok",
			Attributes: "{}",
		})
	}
	if added, err := e.AddFragments(e.T.Context(), orgA, []telemetry.Fragment{f}); err != nil ||
		added.Stored != spans {
		e.T.Fatalf("add %d spans: %+v, %v", spans, added, err)
	}
}

// TestExportGivesEveryTraceOnce also where many steps are needed, where traces are
// larger than a step, and where they were received on different days.
func TestExportGivesEveryTraceOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		sizes := map[int]int{0: 500, 100: 500, 101: 500, 102: 1, 200: 500}
		want := e.some(450, func(i int) int { return sizes[i] + i%3 - sizes[i]/500*2 })
		e.Pass(day)
		large := newID()
		e.add(large, e.Now().Add(time.Second), 2500)
		late := append([]string{large}, e.some(3, func(int) int { return 2 })...)
		e.accept(orgB, trace(newID(), e.Now(), ""))
		ids, spans := e.exportAll(orgA, telemetry.TraceFilter{Days: 30})
		if !slices.Equal(ids, append(late, want...)) {
			t.Fatalf("%d traces came, want %d, or they came in another order", len(ids), len(want)+len(late))
		}
		for i, id := range want {
			if wanted := sizes[i] + i%3 - sizes[i]/500*2; spans[id] != wanted {
				t.Errorf("trace %d has %d spans, want %d", i, spans[id], wanted)
			}
		}
		if spans[large] != 2500 {
			t.Errorf("the large trace has %d spans", spans[large])
		}
	})
}

// TestExportIsContinued cuts an export after every trace, and continues it.
func TestExportIsContinued(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		want := e.some(20, func(int) int { return 1 })
		var ids []string
		f := telemetry.TraceFilter{Days: 7}
		for range want {
			export, err := e.ExportTraces(orgA, f, true)
			if err != nil {
				t.Fatal(err)
			}
			for trace, err := range export.All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, trace.ID)
				break
			}
			f.Cursor = export.Cursor()
		}
		if !slices.Equal(ids, want) {
			t.Errorf("the parts are %v, want %v", ids, want)
		}
		if _, err := e.ExportTraces(orgB, f, true); err == nil {
			t.Error("another organization's cursor was taken")
		}
	})
}

// TestExportBesideIngest: what was there when it began comes once and whole, while
// traces come and grow.
func TestExportBesideIngest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		want := e.some(600, func(int) int { return 2 })
		growing := newID()
		e.add(growing, e.Now().Add(-time.Minute), 1)
		ctx, cancel := context.WithCancel(t.Context())
		var ingest sync.WaitGroup
		ingest.Go(func() {
			for ctx.Err() == nil {
				_, err := send(t.Context(), e.Service, orgA,
					body(trace(newID(), e.Now().Add(-time.Minute), "", span("tool", "new", e.Now(), ""))))
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
		export, err := e.ExportTraces(orgA, telemetry.TraceFilter{Days: 7}, true)
		if err != nil {
			t.Fatal(err)
		}
		came := map[string]int{}
		for trace, err := range export.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			came[trace.ID]++
			if trace.ID == growing { // it gets an earlier span, and would be met again
				e.add(growing, e.Now().Add(-time.Hour), 1)
			}
			spans := int64(0)
			for _, err := range trace.Spans(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				spans++
			}
			if spans != trace.SpanCount {
				t.Errorf("a trace of %d spans came with %d", trace.SpanCount, spans)
			}
		}
		cancel()
		ingest.Wait()
		for _, id := range append(want, growing) {
			if came[id] != 1 {
				t.Errorf("trace %s came %d times", id, came[id])
			}
		}
		for id, times := range came {
			if times > 1 {
				t.Errorf("trace %s came %d times", id, times)
			}
		}
	})
}

// TestExportOfSessionsBesideActivity: a session that goes on while sessions are
// exported is neither lost nor given twice.
func TestExportOfSessionsBesideActivity(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var want, batches []string
		for range 700 {
			want = append(want, newID())
			batches = append(batches, trace(newID(), e.Now(), inSession(want[len(want)-1])))
		}
		slices.Sort(want)
		e.accept(orgA, batches[:500]...)
		e.accept(orgA, batches[500:]...)
		export, err := e.ExportSessions(orgA, telemetry.SessionFilter{Days: 7})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for session, err := range export.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if ids = append(ids, session.ID); len(ids) == 10 {
				e.Pass(time.Minute)
				e.accept(orgA, trace(newID(), e.Now(), inSession(want[0])), trace(newID(), e.Now(),
					inSession(want[650])))
			}
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%d sessions came, want %d, each once", len(ids), len(want))
		}
	})
}

// TestExportInConstantMemory exports much more than it may hold. It is not parallel
// to others, whose memory would count.
func TestExportInConstantMemory(t *testing.T) {
	for engine, options := range map[string]func(testing.TB) database.Options{
		"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres,
	} {
		t.Run(engine, func(t *testing.T) {
			e := open(t, options(t))
			const traces, size, most = 800, 64 << 10, 12 << 20 // 100 MB in all, half of it in spans
			words := fmt.Sprintf(`"attributes":{"input":%q}`, strings.Repeat("x", size))
			for range traces / 20 {
				var batches []string
				for range 20 {
					batches = append(batches, trace(newID(), e.Now(), words, span("tool", "s", e.Now(), words)))
				}
				e.accept(orgA, batches...)
			}
			base, peak, given, read := heap(), uint64(0), 0, 0
			export, err := e.ExportTraces(orgA, telemetry.TraceFilter{Days: 7}, true)
			if err != nil {
				t.Fatal(err)
			}
			for trace, err := range export.All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				for span, err := range trace.Spans(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					read += len(trace.Attributes) + len(span.Attributes)
				}
				if given++; given%40 == 10 {
					peak = max(peak, heap())
				}
			}
			if given != traces || read < traces*2*size {
				t.Errorf("%d traces and %d bytes came", given, read)
			}
			if held := int64(peak) - int64(base); held > most {
				t.Errorf("an export of %d MB held %d MB", read>>20, held>>20)
			}
		})
	}
}

// heap is what is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
