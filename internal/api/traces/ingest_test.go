package traces_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// TestIngestBatches is what becomes of each batch (4.1 rule 3).
func TestIngestBatches(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("A valid batch is accepted even when others in the request are rejected", func(t *testing.T, o *observed) {
			first, last := o.trace(nil), o.trace(nil)
			got := o.send(batch(o.trace(m{"name": ""})), batch(first), `"no batch"`, batch(last),
				batch(o.trace(m{"status": "fine"})))
			want := client.Ingested{
				Accepted: 2, Rejected: 3, TraceIDs: []string{first["id"].(string), last["id"].(string)},
				Rejections: []client.Rejection{
					{Index: 0, Field: "trace.name", Reason: "must be 1-200 characters"},
					{Index: 2, Field: "batch", Reason: "has the wrong type"},
					{Index: 4, Field: "trace.status", Reason: "must be ok, error or denied"},
				},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
			if listed := o.listed(client.TraceFilter{}); len(listed) != 2 {
				t.Errorf("stored are %v", listed)
			}
		})
		rule("A batch is whole or absent", func(t *testing.T, o *observed) {
			session, trace := database.NewID(), o.trace(nil)
			trace["sessionId"] = session
			good, bad := o.generation("m", 5, 5, nil), o.span("span", m{"name": ""})
			if got := o.send(batch(trace, good, bad)); got.Rejected != 1 || got.Rejections[0].Field != "spans[1].name" {
				t.Fatalf("%+v", got)
			}
			if detail, err := o.owner.Trace(t.Context(), o.org, trace["id"].(string)); err != nil || detail != nil {
				t.Errorf("the trace of a rejected batch: %+v, %v", detail, err)
			}
			if detail, err := o.owner.TelemetrySession(t.Context(), o.org, session); err != nil || detail != nil {
				t.Errorf("its session: %+v, %v", detail, err)
			}
			if len(o.tokens("model")) != 0 {
				t.Errorf("its tokens: %+v", o.tokens("model"))
			}
			o.store(batch(trace, good)) // a rejected id is not taken
		})
		rule("A batch has at most 500 spans", func(t *testing.T, o *observed) {
			spans := make([]m, 501)
			for i := range spans {
				spans[i] = o.span("span", nil)
			}
			got := o.send(batch(o.trace(nil), spans...))
			if got.Rejected != 1 ||
				got.Rejections[0] != (client.Rejection{Field: "spans", Reason: "must be at most 500"}) {
				t.Errorf("501 spans: %+v", got)
			}
			detail := o.stored(o.trace(nil), spans[:500]...)
			if len(detail.Spans) != 500 || detail.Spans[499].ID != spans[499]["id"] {
				t.Errorf("of 500 spans %d are stored", len(detail.Spans))
			}
		})
		rule("A batch needs no spans", func(t *testing.T, o *observed) {
			for _, b := range []m{
				{"trace": o.trace(nil)}, {"trace": o.trace(nil), "spans": nil}, {"trace": o.trace(nil), "spans": []m{}},
			} {
				o.store(b)
			}
		})
		rule("What is acknowledged is queryable at once", func(t *testing.T, o *observed) {
			session, trace := database.NewID(), o.trace(nil)
			trace["sessionId"] = session
			o.store(batch(trace, o.generation("m", 1, 2, nil), o.policyCall("p", "deny", nil)))
			if got := o.session(session); len(got.Traces) != 1 || got.TotalOutputTokens != 2 {
				t.Errorf("session %+v", got)
			}
			if ids := o.listed(client.TraceFilter{}); len(ids) != 1 || ids[0] != trace["id"] {
				t.Errorf("listed are %v", ids)
			}
			if sum := o.summary(1); sum.TotalTraces != 1 || sum.TotalTokens.Input != 1 ||
				len(sum.TopFailingPolicies) != 1 {
				t.Errorf("summary %+v", sum)
			}
		})
	})
}

// TestIngestDuplicates is the trace id as idempotency key (4.1 rule 4).
func TestIngestDuplicates(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		// costly is a batch whose figures would show if it counted twice.
		costly := func(o *observed, session string) m {
			return batch(o.trace(m{"sessionId": session, "status": "error"}),
				o.generation("m", 7, 3, m{"costUsd": 0.5}), o.policyCall("p", "deny", nil))
		}
		wantOnce := func(t *testing.T, o *observed, session string) {
			t.Helper()
			if x := o.session(session); x.TraceCount != 1 || x.TotalInputTokens != 7 || x.TotalCostUSD != 0.5 ||
				len(x.Traces) != 1 || x.Traces[0].SpanCount != 2 {
				t.Errorf("session %+v", x)
			}
			if sum := o.summary(1); sum.TotalTraces != 1 || sum.TotalErrors != 1 || sum.TotalTokens.Input != 7 ||
				sum.TracesPerMinute != 1.0/60 {
				t.Errorf("summary %+v", sum)
			}
			if p := o.policy("p", 1); p.Calls != 1 || p.Denied != 1 {
				t.Errorf("policy %+v", p)
			}
		}
		rule("A trace id that exists is a duplicate, not repeated in traceIds and not applied again", func(
			t *testing.T, o *observed,
		) {
			session := database.NewID()
			b := costly(o, session)
			o.store(b)
			got := o.send(b, batch(o.trace(m{"name": ""})))
			want := client.Ingested{Duplicate: 1, Rejected: 1, TraceIDs: []string{}, Rejections: got.Rejections}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
			wantOnce(t, o, session)
		})
		rule("Twice in one request the first counts", func(t *testing.T, o *observed) {
			session := database.NewID()
			first := costly(o, session)
			second := batch(with(first["trace"].(m), m{"name": "second"}), o.generation("m", 1000, 0, nil))
			if got := o.send(first, second); got.Accepted != 1 || got.Duplicate != 1 || len(got.TraceIDs) != 1 {
				t.Errorf("%+v", got)
			}
			wantOnce(t, o, session)
			if name := o.session(session).Traces[0].Name; name != "iap.plan" {
				t.Errorf("stored is the one named %q", name)
			}
		})
		rule("In concurrent requests one of them counts", func(t *testing.T, o *observed) {
			const senders = 8
			session := database.NewID()
			b := sent(t, costly(o, session))
			answers := make([]client.Ingested, senders)
			var wg sync.WaitGroup
			for i := range senders {
				wg.Go(func() {
					var err error
					if answers[i], err = o.agent.Ingest(t.Context(), client.Spans{
						Product: "suite", Batches: b,
					}); err != nil {
						t.Errorf("sender %d: %v", i, err)
					}
				})
			}
			wg.Wait()
			accepted, duplicate := 0, 0
			for _, a := range answers {
				accepted, duplicate = accepted+a.Accepted, duplicate+a.Duplicate
			}
			if accepted != 1 || duplicate != senders-1 {
				t.Errorf("accepted %d times, duplicate %d times", accepted, duplicate)
			}
			wantOnce(t, o, session)
		})
		rule("Two organizations may use the same ids", func(t *testing.T, o *observed) {
			other := observe(t, s, o.owner)
			session := database.NewID()
			b := costly(o, session)
			o.store(b)
			other.store(b)
			wantOnce(t, o, session)
			wantOnce(t, other, session)
		})
		rule("An id in capitals is the same id", func(t *testing.T, o *observed) {
			trace := o.trace(nil)
			o.store(batch(trace))
			if got := o.send(batch(with(trace, m{"id": strings.ToUpper(trace["id"].(string))}))); got.Duplicate != 1 {
				t.Errorf("%+v", got)
			}
		})
		rule("A duplicate that is invalid is rejected", func(t *testing.T, o *observed) {
			trace := o.trace(nil)
			o.store(batch(trace))
			if got := o.send(batch(with(trace, m{"status": "x"}))); got.Rejected != 1 || got.Duplicate != 0 {
				t.Errorf("%+v", got)
			}
		})
	})
}

// TestIngestSessions is where a trace's session comes from (2.2, 4.1).
func TestIngestSessions(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		ingest := func(o *observed, bodySession string, traces ...m) []string {
			o.t.Helper()
			batches := make([]any, len(traces))
			for i := range traces {
				batches[i] = batch(traces[i])
			}
			got, err := o.agent.Ingest(o.t.Context(), client.Spans{
				Product: "p", SessionID: bodySession, Batches: sent(o.t, batches...),
			})
			if err != nil {
				o.t.Fatal(err)
			}
			fields := []string{}
			for _, r := range got.Rejections {
				fields = append(fields, r.Field)
			}
			return fields
		}
		sessionOf := func(o *observed, trace m) string {
			id := o.read(trace["id"].(string)).SessionID
			if id == nil {
				return ""
			}
			return *id
		}
		rule("The trace's own session comes before that of the request", func(t *testing.T, o *observed) {
			own, whole := database.NewID(), database.NewID()
			named, unnamed, null := o.trace(m{"sessionId": own}), o.trace(nil), o.trace(m{"sessionId": nil})
			if rejected := ingest(o, whole, named, unnamed, null); len(rejected) > 0 {
				t.Fatalf("rejected for %v", rejected)
			}
			got := []string{sessionOf(o, named), sessionOf(o, unnamed), sessionOf(o, null)}
			if want := []string{own, whole, whole}; !slices.Equal(got, want) {
				t.Errorf("sessions %v, want %v", got, want)
			}
			if n := o.session(whole).TraceCount; n != 2 {
				t.Errorf("the request's session has %d traces", n)
			}
		})
		rule("Without either a trace has no session", func(t *testing.T, o *observed) {
			trace := o.trace(nil)
			ingest(o, "", trace)
			if got := sessionOf(o, trace); got != "" || o.summary(1).TotalSessions != 0 {
				t.Errorf("session %q of %d", got, o.summary(1).TotalSessions)
			}
		})
		rule("A bad session of the request rejects the batches that would use it, and no other", func(
			t *testing.T, o *observed,
		) {
			good := o.trace(m{"sessionId": database.NewID()})
			if got := ingest(o, "not-a-uuid", o.trace(nil), good,
				o.trace(nil)); !slices.Equal(got, []string{"sessionId", "sessionId"}) {
				t.Errorf("rejected for %v", got)
			}
			o.read(good["id"].(string))
			for _, value := range []string{`""`, `5`, `{}`, `true`} {
				body := `{"product":"p","sessionId":` + value + `,"batches":[` +
					string(sent(t, batch(o.trace(nil)))[0]) + `]}`
				if answer := o.post(body); !strings.Contains(string(answer.Body), `"field":"sessionId"`) {
					t.Errorf("sessionId %s: %d %s", value, answer.Status, answer.Body)
				}
			}
		})
		rule("A span's session is kept, and changes no total", func(t *testing.T, o *observed) {
			whole, own := database.NewID(), database.NewID()
			detail := o.stored(o.trace(m{"sessionId": whole}), with(o.generation("m", 5, 0, nil), m{"sessionId": own}),
				o.span("span", nil))
			if got := detail.Spans[0].SessionID; got == nil || *got != own || detail.Spans[1].SessionID != nil {
				t.Errorf("sessions of the spans: %v, %v", got, detail.Spans[1].SessionID)
			}
			if x := o.session(whole); x.TotalInputTokens != 5 {
				t.Errorf("the trace's session has %d tokens", x.TotalInputTokens)
			}
			if x, err := o.owner.TelemetrySession(t.Context(), o.org, own); err != nil || x != nil {
				t.Errorf("the span's session: %+v, %v", x, err)
			}
		})
	})
}

// TestIngestTimes is how a duration follows from what was sent.
func TestIngestTimes(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		start := s.Now().Add(-time.Hour).Truncate(time.Second)
		at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339Nano) }
		for sentence, c := range map[string]struct {
			sent m
			want *int64
		}{
			"A duration that is sent is kept, whatever the times say": {
				m{"endTime": at(time.Second), "durationMs": 7}, pointer(int64(7)),
			},
			"A null duration is computed from the times": {
				m{"endTime": at(1500*time.Millisecond + 900*time.Microsecond), "durationMs": nil}, pointer(int64(1500)),
			},
			"An absent duration is computed from the times":              {m{"endTime": at(0)}, pointer(int64(0))},
			"Without an end there is no duration":                        {m{"endTime": nil, "durationMs": nil}, nil},
			"An end before the start gives no duration, and is no error": {m{"endTime": at(-time.Second)}, nil},
			"A duration without an end is kept":                          {m{"durationMs": 12.0}, pointer(int64(12))},
			"An end in another zone is the same instant as in this one": {
				m{"endTime": start.Add(time.Second).In(time.FixedZone("", 5*3600+1800)).Format(time.RFC3339)},
				pointer(int64(1000)),
			},
			"Fractions of a second finer than we keep are no error": {
				m{"endTime": strings.TrimSuffix(at(time.Second), "Z") + ".123456789Z"}, pointer(int64(1123)),
			},
			"A duration may be zero, also when it is written as minus 0": {m{"durationMs": "-0"}, pointer(int64(0))},
			"A duration may be as large as any, 10^12 ms, and is counted": {
				m{"durationMs": 1e12}, pointer(int64(1e12)),
			},
		} {
			rule(sentence, func(t *testing.T, o *observed) {
				changes := with(m{"startTime": at(0)}, c.sent)
				if changes["durationMs"] == "-0" { // encoding/json writes no such number
					raw := strings.Replace(string(sent(t, batch(o.trace(changes), o.span("span", changes)))[0]), `"-0"`,
						`-0`, -1)
					o.store(raw)
				} else {
					o.store(batch(o.trace(changes), o.span("span", changes)))
				}
				detail := o.read(o.listed(client.TraceFilter{})[0])
				if diff := cmp.Diff([]*int64{c.want, c.want}, []*int64{
					detail.DurationMs, detail.Spans[0].DurationMs,
				}); diff != "" {
					t.Errorf("durations of trace and span (-want +got):\n%s", diff)
				}
				if !detail.StartTime.Equal(start) {
					t.Errorf("startTime %s, want %s", detail.StartTime, start)
				}
			})
		}
	})
}
