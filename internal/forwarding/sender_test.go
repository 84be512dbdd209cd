package forwarding_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/forwarding"
)

// spansOf are the names of a trace's spans as they are sent: its own, then theirs.
func spansOf(name string, spans int) []string {
	names := []string{name}
	for i := range spans {
		names = append(names, fmt.Sprintf("%s.%d", name, i))
	}
	return names
}

func decided(tools []string) (names []string) {
	for _, tool := range tools {
		names = append(names, "writ.decision "+tool)
	}
	return names
}

func (w *world) wantNames(what string, want []string) {
	w.t.Helper()
	if got := w.receiver.names(); !slices.Equal(got, want) {
		w.t.Errorf("%s: came %v, want %v", what, got, want)
	}
}

func TestEverythingIsSentOnceAndInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.ingest(1)
		w.decide(1)
		w.advance(time.Minute)
		w.put(w.settings()) // what was before is not sent
		tools := w.decide(3)
		want := decided(tools)
		for range 3 {
			want = append(want, spansOf(w.ingest(2), 2)...)
		}
		other := w.elsewhere()
		other.ingest(1)
		other.decide(1)
		if err := w.out.Send(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantNames("before traces are settled", decided(tools))
		w.rest()
		w.wantNames("after", want)
		w.rest()
		w.wantNames("later", want)
		status := w.status()
		if status.SentSpans != 9 || status.SentDecisions != 3 || status.Lag != 0 || status.Problem != "" ||
			status.SentAt == nil || status.LostTraces+status.LostDecisions+status.Refused != 0 {
			t.Errorf("status %+v", status)
		}
		if got := w.receiver.header.Get("X-Api-Key"); got != "k3y-of-the-collector" {
			t.Errorf("the header is %q", got)
		}
	})
}

// TestALongTraceGoesInSeveralRequests is of more spans than one request holds, and
// of larger ones than one holds.
func TestALongTraceGoesInSeveralRequests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		want := spansOf(w.ingest(499), 499)
		want = append(want, spansOf(w.ingest(350), 350)...)
		var large []string
		for i := range 20 {
			name := fmt.Sprintf("large.%d", i)
			large = append(large, w.span(name, fmt.Sprintf(`{"a":%q,"b":%q,"c":%q,"d":%q}`, random(15000),
				random(15000), random(15000), random(15000))))
		}
		w.send(w.trace("large", large...))
		want = append(want, spansOf("large", 20)...)
		w.rest()
		w.wantNames("long traces", want)
		for _, size := range w.receiver.sizes {
			if size > 500 {
				t.Errorf("%d spans in a request", size)
			}
		}
		if tries := w.receiver.tries(); tries < 6 {
			t.Errorf("%d requests for what no 5 could hold", tries)
		}
	})
}

func TestAReceiverThatIsDown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		want := decided(w.decide(2))
		w.receiver.become(http.StatusBadGateway)
		w.rest()
		failing := w.status()
		if failing.Attempts != 1 || failing.HTTPStatus != 502 || failing.Problem != "the receiver failed" ||
			failing.FailingSince == nil || failing.Lag < 10*time.Second {
			t.Errorf("status %+v", failing)
		}
		if n, err := w.out.Failing(t.Context()); err != nil || n != 1 {
			t.Errorf("%d receivers fail, %v", n, err)
		}
		if pause := failing.RetryAt.Sub(w.now()); pause < time.Second || pause > 3*time.Second {
			t.Errorf("tried again after %s", pause)
		}
		if err := w.out.Send(t.Context()); err != nil || w.receiver.tries() != 1 {
			t.Errorf("tried %d times while it was to be left alone, %v", w.receiver.tries(), err)
		}
		var last time.Duration
		for range 12 {
			w.advance(w.status().RetryAt.Sub(w.now()))
			w.rest()
			last = w.status().RetryAt.Sub(w.now())
		}
		if last < 4*time.Minute || last > 6*time.Minute+time.Second {
			t.Errorf("after long the pause is %s, want about five minutes", last)
		}
		name := w.ingest(1)
		w.receiver.become(0)
		w.advance(10 * time.Minute)
		w.rest()
		w.wantNames("when it is back", append(want, spansOf(name, 1)...))
		if back := w.status(); back.Attempts != 0 || back.FailingSince != nil || back.Problem != "" || back.Lag != 0 ||
			back.LostTraces+back.LostDecisions+back.Refused != 0 {
			t.Errorf("status %+v", back)
		}
		if n, err := w.out.Failing(t.Context()); err != nil || n != 0 {
			t.Errorf("when it is back %d receivers fail, %v", n, err)
		}
	})
}

func TestARetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		want := decided(w.decide(1))
		for value, wait := range map[string]time.Duration{
			"120": 2 * time.Minute,
			w.now().Add(10*time.Second + 3*time.Minute).Format(http.TimeFormat): 3 * time.Minute, "9999999": time.Hour,
		} {
			w.clock.Store(noon.UnixMicro())
			w.put(w.settings())
			w.receiver.become(http.StatusTooManyRequests, "Retry-After", value)
			w.rest()
			if got := w.status().RetryAt.Sub(w.now()); got != wait {
				t.Errorf("Retry-After %s: tried again after %s, want %s", value, got, wait)
			}
		}
		w.receiver.become(0)
		w.advance(time.Hour)
		w.rest()
		w.wantNames("after", want)
	})
}

// TestAKeyThatIsNotAcceptedLosesNothing: what only a person can mend waits for one.
func TestAKeyThatIsNotAcceptedLosesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		want := decided(w.decide(3))
		for _, status := range []int{401, 403, 404, 405, 302} {
			w.receiver.become(status)
			w.advance(10 * time.Minute)
			w.rest()
			if got := w.status(); got.HTTPStatus != status || got.Problem == "" || got.Refused != 0 ||
				got.SentDecisions != 0 {
				t.Errorf("%d: status %+v", status, got)
			}
		}
		w.receiver.become(200, "Content-Type", "text/html; charset=utf-8")
		w.advance(10 * time.Minute)
		w.receiver.forget()
		w.rest()
		if got := w.status(); !strings.Contains(got.Problem, "web page") || got.SentDecisions != 0 {
			t.Errorf("a web page for an answer: %+v", got)
		}
		w.receiver.forget()
		w.receiver.become(0)
		settings := w.settings()
		settings.Headers = nil
		w.put(settings) // as a person does who has mended it: no pause any longer
		w.rest()
		w.wantNames("after", want)
	})
}

// TestOneThatIsRefusedIsFound: the receiver takes no request that holds a certain
// span. It alone is given up.
func TestOneThatIsRefusedIsFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge} {
			w.receiver.forget()
			w := w.elsewhere()
			w.put(w.settings())
			tools := w.decide(40)
			bad := "writ.decision " + tools[17]
			w.receiver.behave(func(rw http.ResponseWriter, spans []*trace.Span) bool {
				if slices.ContainsFunc(spans, func(s *trace.Span) bool { return s.Name == bad }) {
					rw.WriteHeader(status)
					return false
				}
				return true
			})
			for range 3 {
				w.rest()
				w.advance(time.Minute)
			}
			w.wantNames("all but one", slices.DeleteFunc(decided(tools), func(name string) bool { return name == bad }))
			if got := w.status(); got.Refused != 1 || got.SentDecisions != 39 || got.Lag != 0 ||
				got.LostDecisions != 0 {
				t.Errorf("status %+v", got)
			}
		}
	})
}

// TestSmallRequestsOnly is a receiver that takes three spans at a time.
func TestSmallRequestsOnly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		want := append(spansOf(w.ingest(7), 7), spansOf(w.ingest(0), 0)...)
		w.receiver.behave(func(rw http.ResponseWriter, spans []*trace.Span) bool {
			if len(spans) > 3 {
				rw.WriteHeader(http.StatusRequestEntityTooLarge)
				return false
			}
			return true
		})
		w.rest()
		w.wantNames("in pieces", want)
		if got := w.status(); got.Refused != 0 || got.SentSpans != 9 {
			t.Errorf("status %+v", got)
		}
	})
}

func TestPartialSuccessIsCounted(t *testing.T) {
	t.Parallel()
	answer, err := proto.Marshal(&collector.ExportTraceServiceResponse{
		PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 2, ErrorMessage: "too old"},
	})
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, w *world) {
		for kind, body := range map[string]string{
			"application/x-protobuf": string(answer), "application/json": `{"partialSuccess":{"rejectedSpans":"2"}}`,
			"application/json; charset=utf-8": `{"partialSuccess":{"rejectedSpans":2}}`,
		} {
			w := w.elsewhere()
			w.receiver.forget()
			w.put(w.settings())
			w.decide(5)
			w.receiver.behave(func(rw http.ResponseWriter, _ []*trace.Span) bool {
				rw.Header().Set("Content-Type", kind)
				fmt.Fprint(rw, body)
				return true
			})
			w.rest()
			w.rest()
			if got := w.status(); got.Refused != 2 || got.SentDecisions != 3 || got.Problem != "" ||
				w.receiver.tries() != 1 {
				t.Errorf("%s: status %+v after %d tries", kind, got, w.receiver.tries())
			}
		}
	})
}

// TestWhatWaitsTooLongIsLost, and is counted while the receiver is still down.
func TestWhatWaitsTooLongIsLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		settings := w.settings()
		settings.MaxAge = 2 * time.Hour
		w.put(settings)
		w.receiver.become(http.StatusServiceUnavailable)
		w.decide(3)
		w.ingest(2)
		w.ingest(1)
		old := w.now()
		w.rest()
		w.advance(90 * time.Minute)
		want := append(decided(w.decide(2)), spansOf(w.ingest(1), 1)...)
		w.advance(time.Hour)
		w.rest()
		w.advance(10 * time.Minute)
		w.rest() // decisions failed again; traces had to wait for that
		lost := w.status()
		if lost.LostDecisions != 3 || lost.LostUntil == nil || lost.LostUntil.Sub(old).Abs() > time.Minute {
			t.Errorf("status %+v", lost)
		}
		w.receiver.become(0)
		w.advance(10 * time.Minute)
		w.rest()
		w.wantNames("what was not too old", want)
		if got := w.status(); got.LostTraces != 2 || got.LostDecisions != 3 || got.Lag != 0 {
			t.Errorf("status %+v", got)
		}
	})
}

// TestAProcessThatDies: it has sent, and does not live to say so. Another sends the
// same again, under the same ids, once the lease is over.
func TestAProcessThatDies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		tools := w.decide(2)
		dying := newDying(w.t)
		killed := w.replicaBy(dying)
		w.advance(10 * time.Second)
		if err := killed.Send(dying.ctx); err != nil {
			t.Fatal(err)
		}
		// This one gave its lease back, which one that is killed does not.
		w.write(func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE forwarding SET lease_holder = 'killed', lease_until = $2 WHERE org_id = $1`,
				w.org, database.Micros(tx.Now().Add(time.Minute)))
			return err
		})
		first := w.receiver.names()
		w.wantNames("before it died", decided(tools))
		w.rest()
		if got := w.receiver.names(); len(got) != len(first) {
			t.Errorf("another sent while the lease held: %v", got)
		}
		w.advance(2 * time.Minute)
		w.rest()
		w.wantNames("then again", append(decided(tools), decided(tools)...))
		if a, b := w.receiver.spans[0], w.receiver.spans[2]; !proto.Equal(a, b) {
			t.Errorf("the same decision was sent as %v and as %v", a, b)
		}
	})
}

// TestReplicasTakeTurns has three send at once, over and over.
func TestReplicasTakeTurns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		replicas := []*forwarding.Service{w.out, w.replica(), w.replica()}
		var want []string
		for range 5 {
			want = append(want, decided(w.decide(20))...)
			w.advance(time.Second)
			var all sync.WaitGroup
			for _, r := range replicas {
				all.Go(func() {
					if err := r.Send(t.Context()); err != nil {
						t.Errorf("send: %v", err)
					}
				})
			}
			all.Wait()
		}
		w.rest()
		w.wantNames("each once, in order", want)
	})
}

// TestSettingsThatChangeMeanwhile: what was sent under the old ones is not counted
// against the new.
func TestSettingsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		w.decide(1, func(d *decision.Record) { d.Tool = "old" })
		var once sync.Once
		w.receiver.behave(func(http.ResponseWriter, []*trace.Span) bool {
			once.Do(func() {
				off := w.settings()
				off.Enabled = false
				w.put(off)
				w.decide(1, func(d *decision.Record) { d.Tool = "while-off" })
				w.put(w.settings())
			})
			return true
		})
		w.rest()
		w.decide(1, func(d *decision.Record) { d.Tool = "new" })
		w.advance(2 * time.Minute)
		w.rest()
		w.wantNames("what happened while it was off", []string{"writ.decision old", "writ.decision new"})
	})
}
