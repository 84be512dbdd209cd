package telemetry_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"writ/internal/telemetry"
)

// TestIngestIsQueryableWhenAnswered sends one trace of every kind of span, and
// asks every question at once.
func TestIngestIsQueryableWhenAnswered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		session, id := newID(), newID()
		e.accept(orgA, trace(id, e.Now(),
			`"durationMs":500,"agentId":"codex","attributes":{"input":"hi","source":"x"},`+inSession(session),
			span("generation", "g", e.Now(),
				`"durationMs":120,"attributes":{"model":"claude-sonnet-4","inputTokens":1000,"outputTokens":100,"cacheReadTokens":10}`),
			span("policy_call", "p", e.Now(),
				`"durationMs":3,"status":"denied","attributes":{"policyId":"p1","policyName":"Pay","decision":"deny","matchedRuleId":"r1"}`),
			span("span", "tool.report", e.Now(), `"attributes":{"toolName":"Bash"}`)))
		usage := telemetry.Usage{
			Input: 1000, Output: 100, CacheRead: 10, CostNanos: 1000*3000 + 100*15_000 + 10*300,
		}
		want := figures{
			Summary: telemetry.Summary{
				Traces:          1,
				Sessions:        1,
				Usage:           usage,
				P50:             500,
				P95:             500,
				TopFailing:      []telemetry.Count{{ID: "p1", Count: 1}},
				TracesPerMinute: 1.0 / 60,
			},
			Tokens: map[string][]telemetry.UsageItem{
				"model":   {{Key: "claude-sonnet-4", Usage: usage}},
				"tool":    {{Key: "Bash"}},
				"session": {{Key: session, Usage: usage}},
			},
			Policies: map[string]telemetry.PolicyStats{"p1": {
				Name:     "Pay",
				Calls:    1,
				Denied:   1,
				Average:  3,
				P50:      3,
				P95:      3,
				TopRules: []telemetry.Count{{ID: "r1", Count: 1}},
			}},
		}
		if diff := cmp.Diff(want, e.figures(orgA, "p1"), withinOnePerCent); diff != "" {
			t.Errorf("figures (-want +got):\n%s", diff)
		}
		detail, err := e.Trace(t.Context(), orgA, id)
		if err != nil || detail == nil || len(detail.Spans) != 3 || detail.Usage != usage || detail.ErrorCount != 1 ||
			*detail.InputPreview != "hi" || detail.Source != "x" {
			t.Errorf("trace: %+v, %v", detail, err)
		}
		whole, err := e.Session(t.Context(), orgA, session)
		if err != nil || whole == nil || whole.Status != telemetry.SessionActive || whole.TraceCount != 1 ||
			whole.Usage != usage || len(whole.Traces) != 1 {
			t.Errorf("session: %+v, %v", whole, err)
		}
		e.wantClean()
	})
}

// TestClientsDoNotSpeakForShadows: what shadows would have said is counted from
// decisions. A client that reports such a span itself moves no figure.
func TestClientsDoNotSpeakForShadows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		id := newID()
		e.accept(orgA, trace(id, e.Now(), "",
			span("policy_call", "writ.shadow", e.Now(),
				`"attributes":{"policyId":"writ:shadow:p1","decision":"allow","matchedRuleId":"allow>allow"}`),
			span("policy_call", "writ.shadow", e.Now(),
				`"attributes":{"policyId":"writ:shadow:p1","decision":"deny","matchedRuleId":"allow>deny"}`)))
		got := e.figures(orgA, "p1")
		if f := got.Policies["p1"]; f.Shadow != (telemetry.ShadowStats{}) || f.Calls != 0 {
			t.Errorf("figures: %+v, want none", f)
		}
		if detail, err := e.Trace(t.Context(), orgA, id); err != nil || len(detail.Spans) != 2 {
			t.Errorf("trace: %+v, %v; want the spans as they were sent", detail, err)
		}
		e.wantClean()
	})
}

// TestSpansComeBackAsTheyWereSent: as many as a client can send, in their order, some
// of them with nothing but what is required; and none at all.
func TestSpansComeBackAsTheyWereSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full, empty := newID(), newID()
		var spans []string
		var want []telemetry.StoredSpan
		for i := range 500 {
			x := telemetry.StoredSpan{
				Kind:       "kind\x1f",
				Name:       fmt.Sprintf("\x1e%d é", i),
				Start:      e.Now(),
				Status:     "ok",
				Attributes: "{}",
			}
			members := ""
			if i%2 == 0 {
				end, ms := x.Start.Add(time.Duration(i)*time.Millisecond), int64(i)
				x.ParentID, x.SessionID, x.End, x.DurationMs, x.Status = newID(), newID(), &end, &ms, "denied"
				x.Attributes = fmt.Sprintf(`{"text": "%s\u001f"}`, strings.Repeat("x", i*10))
				members = fmt.Sprintf(`"parentSpanId":%q,"sessionId":%q,"endTime":%q,"durationMs":%d,"status":"denied","attributes":%s`,
					x.ParentID, x.SessionID, end.Format(time.RFC3339Nano), ms, x.Attributes)
			}
			text := span("kind<unit>", fmt.Sprintf("<record>%d é", i), x.Start, members)
			spans = append(spans, strings.NewReplacer("<unit>", `\u001f`, "<record>", `\u001e`).Replace(text))
			want = append(want, x)
		}
		e.accept(orgA, trace(full, e.Now(), "", spans...), trace(empty, e.Now(), ""))
		detail, err := e.Trace(t.Context(), orgA, full)
		if err != nil || detail == nil || len(detail.Spans) != len(want) {
			t.Fatalf("trace: %+v, %v", detail, err)
		}
		for i, got := range detail.Spans {
			if diff := cmp.Diff(want[i], got, cmpopts.IgnoreFields(telemetry.StoredSpan{}, "ID")); diff != "" {
				t.Fatalf("span %d (-want +got):\n%s", i, diff)
			}
		}
		if detail, err = e.Trace(t.Context(), orgA, empty); err != nil || detail == nil || detail.Spans == nil ||
			len(detail.Spans) > 0 {
			t.Errorf("a trace without spans: %+v, %v", detail, err)
		}
	})
}

// figures are the answers to every question that rollups answer.
type figures struct {
	Summary  telemetry.Summary
	Tokens   map[string][]telemetry.UsageItem
	Policies map[string]telemetry.PolicyStats
}

func (e *env) figures(orgID string, policies ...string) figures {
	e.T.Helper()
	f := figures{Tokens: map[string][]telemetry.UsageItem{}, Policies: map[string]telemetry.PolicyStats{}}
	var err error
	if f.Summary, err = e.Summary(e.T.Context(), orgID, telemetry.Days(keptDays)); err != nil {
		e.T.Fatalf("summary: %v", err)
	}
	for _, by := range []string{"model", "tool", "session"} {
		if f.Tokens[by], err = e.Tokens(e.T.Context(), orgID, by, telemetry.Days(keptDays)); err != nil {
			e.T.Fatalf("tokens by %s: %v", by, err)
		}
	}
	for _, id := range policies {
		if f.Policies[id], err = e.Policy(e.T.Context(), orgID, id, 0, telemetry.Days(keptDays)); err != nil {
			e.T.Fatalf("policy %s: %v", id, err)
		}
	}
	return f
}

// withinOnePerCent is what quantiles may be off.
var withinOnePerCent = cmpopts.EquateApprox(0.01, 0)

// TestTraceCountsOnce sends a trace twice in one request, again in another, from
// many sides at once, and to another organization, where it is another trace.
func TestTraceCountsOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		session, id := newID(), newID()
		one := trace(id, e.Now(), inSession(session), generation(e.Now(), "m", 7))
		r := e.ingest(orgA, body(one, strings.Replace(one, id, strings.ToUpper(id), 1)))
		if r.Accepted != 1 || r.Duplicate != 1 || len(r.Rejections) != 0 || !cmp.Equal(r.TraceIDs, []string{id}) {
			t.Errorf("twice in one request: %+v", r)
		}
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				r, err := send(t.Context(), e.Service, orgA, body(one))
				if err != nil || r.Accepted != 0 || r.Duplicate != 1 || len(r.TraceIDs) != 0 {
					t.Errorf("again: %+v, %v", r, err)
				}
			})
		}
		senders.Wait()
		e.wantTraces(orgA, 1)
		e.wantTraces(orgB, 0)
		e.accept(orgB, one)
		e.wantTraces(orgB, 1)
		for _, orgID := range []string{orgA, orgB} {
			whole, err := e.Session(t.Context(), orgID, session)
			if err != nil || whole == nil || whole.TraceCount != 1 || whole.Usage.Input != 7 {
				t.Errorf("session: %+v, %v", whole, err)
			}
		}
		e.wantClean()
	})
}

// TestBadBatchHarmsNoOther mixes batches that break a rule with good ones. What
// PostgreSQL could not store at all must be among the former.
func TestBadBatchHarmsNoOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		at := e.Now()
		bad := []string{
			named(`a\u0000b`, newID(), at, ""),
			named("a\xff", newID(), at, ""),
			named(`\ud800`, newID(), at, ""),
			trace(newID(), at, `"agentId":"\u0000"`),
			trace(newID(), at, `"name":"again"`),
			trace(newID(), at, `"durationMs":-1`),
			trace(newID(), at, "", span("span", "s", at, `"attributes":{"toolName":"\u0000"}`)),
			trace(newID(), at, "", span("span", "s", at, `"attributes":{"a":"\udc00"}`)),
			trace(newID(), at, "", span("generation", "g", at, `"attributes":{"inputTokens":1e308}`)),
			trace(newID(), at, "", span("policy_call", "p", at,
				`"attributes":{"policyId":"`+strings.Repeat("p", 501)+`"}`)),
			`7`, `null`, `{}`,
		}
		var batches []string
		for i, b := range bad {
			good := trace(newID(), at, `"attributes":{"input":"\u0000","note":"\u0000"},"tags":["\u0000"]`,
				generation(at, fmt.Sprint("m", i), 1))
			// As it is written, not as Go quotes it.
			batches = append(batches, strings.NewReplacer(`\\u`, `\u`, `\xff`, "\xff").Replace(b), good)
		}
		r := e.ingest(orgA, body(batches...))
		if r.Accepted != len(bad) || len(r.Rejections) != len(bad) {
			t.Errorf("accepted %d, rejected %d, want %d of each: %+v", r.Accepted, len(r.Rejections), len(bad),
				r.Rejections)
		}
		for i, rejection := range r.Rejections {
			if rejection.Index != 2*i || rejection.Field == "" || rejection.Reason == "" {
				t.Errorf("rejection %d: %+v", i, rejection)
			}
		}
		e.wantTraces(orgA, int64(len(bad)))
		e.wantClean()
	})
}

// TestLargeRequestIsCutIntoSlices has more spans than one change writes.
func TestLargeRequestIsCutIntoSlices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var ids, batches []string
		for range 4 {
			var spans []string
			for range 400 {
				spans = append(spans, generation(e.Now(), "m", 1))
			}
			ids = append(ids, newID())
			batches = append(batches, trace(ids[len(ids)-1], e.Now(), "", spans...))
		}
		r := e.ingest(orgA, body(batches...))
		if diff := cmp.Diff(ids, r.TraceIDs); diff != "" || r.Accepted != 4 {
			t.Errorf("accepted %d (-want +got):\n%s", r.Accepted, diff)
		}
		detail, err := e.Trace(t.Context(), orgA, ids[3])
		if err != nil || detail == nil || len(detail.Spans) != 400 {
			t.Errorf("the last trace: %v", err)
		}
		if sum := e.figures(orgA).Summary; sum.Usage.Input != 1600 {
			t.Errorf("%d tokens, want 1600", sum.Usage.Input)
		}
		e.wantClean()
	})
}

// TestSumsSaturate sends the largest values that are allowed until sums leave
// the range: they stop there, where an overflow would fail everybody's commit.
func TestSumsSaturate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const traces, spans = 4, 500
		session := newID()
		for range traces {
			var list []string
			for range spans {
				list = append(list,
					span("generation", "g", e.Now(),
						`"durationMs":1e12,"attributes":{"model":"m","inputTokens":1e12,"outputTokens":1e12,"cacheReadTokens":1e12,"cacheWriteTokens":1e12,"costUsd":1e9}`))
			}
			e.accept(orgA, trace(newID(), e.Now(), `"durationMs":1e12,`+inSession(session), list...))
		}
		const tokens = traces * spans * 1e12
		want := telemetry.Usage{
			Input:      tokens,
			Output:     tokens,
			CacheRead:  tokens,
			CacheWrite: tokens,
			CostNanos:  9e18,
		}
		f := e.figures(orgA)
		whole, err := e.Session(t.Context(), orgA, session)
		if err != nil || whole == nil || whole.Usage != want || f.Summary.Usage != want ||
			f.Tokens["session"][0].Usage != want {
			t.Errorf("summary %+v, session %+v, %v, want %+v", f.Summary.Usage, whole, err, want)
		}
		e.wantClean()
	})
}

// TestDurationsSaturate does the same with the time that policies took.
func TestDurationsSaturate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for range 20 {
			var list []string
			for range 500 {
				list = append(list, span("policy_call", "p", e.Now(),
					`"durationMs":1e12,"attributes":{"policyId":"p","decision":"allow"}`))
			}
			e.accept(orgA, trace(newID(), e.Now(), "", list...))
		}
		if p := e.figures(orgA, "p").Policies["p"]; p.Calls != 10_000 || p.Average <= 0 {
			t.Errorf("%+v", p)
		}
		e.wantClean()
	})
}

// TestReportsSaturate takes more out of a row than it can hold, too: one writer
// reports what another has reported before.
func TestReportsSaturate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var entries []telemetry.ReportedUsage
		for i := range 100 {
			entries = append(entries, telemetry.ReportedUsage{
				Model: fmt.Sprint("claude-opus-4-", i),
				Usage: telemetry.Usage{Input: 1e12, Output: 1e12, CacheRead: 1e12, CacheWrite: 1e12},
			})
		}
		session, other := newID(), e.another(e.DB)
		for _, writer := range []*telemetry.Service{e.Service, other} {
			for _, product := range []string{"p", "q", "r"} {
				if n, err := writer.ReportUsage(t.Context(), orgA, product, session, entries); n != 100 || err != nil {
					t.Fatalf("report: %d, %v", n, err)
				}
			}
			e.Pass(time.Hour)
		}
		if sum := e.figures(orgA).Summary; sum.Usage.Input != 300e12 || sum.Usage.CostNanos < 0 {
			t.Errorf("%+v", sum.Usage)
		}
		e.accept(orgA, trace(newID(), e.Now(), inSession(session))) // commits still work
	})
}
