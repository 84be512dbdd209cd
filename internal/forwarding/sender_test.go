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

func (e *env) wantNames(what string, want []string) {
	e.T.Helper()
	if got := e.receiver.names(); !slices.Equal(got, want) {
		e.T.Errorf("%s: came %v, want %v", what, got, want)
	}
}

func TestEverythingIsSentOnceAndInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.ingest(1)
		e.decide(1)
		e.Pass(time.Minute)
		e.put(e.settings()) // what was before is not sent
		tools := e.decide(3)
		want := decided(tools)
		for range 3 {
			want = append(want, spansOf(e.ingest(2), 2)...)
		}
		other := e.elsewhere()
		other.ingest(1)
		other.decide(1)
		if err := e.out.Send(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.wantNames("before traces are settled", decided(tools))
		e.rest()
		e.wantNames("after", want)
		e.rest()
		e.wantNames("later", want)
		status := e.status()
		if status.SentSpans != 9 || status.SentDecisions != 3 || status.Lag != 0 || status.Problem != "" ||
			status.SentAt == nil || status.LostTraces+status.LostDecisions+status.Refused != 0 {
			t.Errorf("status %+v", status)
		}
		if got := e.receiver.header.Get("X-Api-Key"); got != "k3y-of-the-collector" {
			t.Errorf("the header is %q", got)
		}
	})
}

// TestALongTraceGoesInSeveralRequests is of more spans than one request holds, and
// of larger ones than one holds.
func TestALongTraceGoesInSeveralRequests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		want := spansOf(e.ingest(499), 499)
		want = append(want, spansOf(e.ingest(350), 350)...)
		var large []string
		for i := range 20 {
			name := fmt.Sprintf("large.%d", i)
			large = append(large, e.span(name, fmt.Sprintf(`{"a":%q,"b":%q,"c":%q,"d":%q}`, random(15000),
				random(15000), random(15000), random(15000))))
		}
		e.send(e.trace("large", large...))
		want = append(want, spansOf("large", 20)...)
		for turn := 0; turn < 50 && len(e.receiver.names()) < len(want); turn++ {
			e.rest() // a turn ends after its time, and a busy machine needs several
		}
		e.wantNames("long traces", want)
		for _, size := range e.receiver.sizes {
			if size > 500 {
				t.Errorf("%d spans in a request", size)
			}
		}
		if tries := e.receiver.tries(); tries < 6 {
			t.Errorf("%d requests for what no 5 could hold", tries)
		}
	})
}

func TestAReceiverThatIsDown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		want := decided(e.decide(2))
		e.receiver.become(http.StatusBadGateway)
		e.rest()
		failing := e.status()
		if failing.Attempts != 1 || failing.HTTPStatus != 502 || failing.Problem != "the receiver failed" ||
			failing.FailingSince == nil || failing.Lag < 10*time.Second {
			t.Errorf("status %+v", failing)
		}
		if n, err := e.out.Failing(t.Context()); err != nil || n != 1 {
			t.Errorf("%d receivers fail, %v", n, err)
		}
		if pause := failing.RetryAt.Sub(e.Now()); pause < time.Second || pause > 3*time.Second {
			t.Errorf("tried again after %s", pause)
		}
		if err := e.out.Send(t.Context()); err != nil || e.receiver.tries() != 1 {
			t.Errorf("tried %d times while it was to be left alone, %v", e.receiver.tries(), err)
		}
		var last time.Duration
		for range 12 {
			e.Pass(e.status().RetryAt.Sub(e.Now()))
			e.rest()
			last = e.status().RetryAt.Sub(e.Now())
		}
		if last < 4*time.Minute || last > 6*time.Minute+time.Second {
			t.Errorf("after long the pause is %s, want about five minutes", last)
		}
		name := e.ingest(1)
		e.receiver.become(0)
		e.Pass(10 * time.Minute)
		e.rest()
		e.wantNames("when it is back", append(want, spansOf(name, 1)...))
		if back := e.status(); back.Attempts != 0 || back.FailingSince != nil || back.Problem != "" || back.Lag != 0 ||
			back.LostTraces+back.LostDecisions+back.Refused != 0 {
			t.Errorf("status %+v", back)
		}
		if n, err := e.out.Failing(t.Context()); err != nil || n != 0 {
			t.Errorf("when it is back %d receivers fail, %v", n, err)
		}
	})
}

func TestARetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		want := decided(e.decide(1))
		for value, wait := range map[string]time.Duration{
			"120": 2 * time.Minute,
			e.Now().Add(10*time.Second + 3*time.Minute).Format(http.TimeFormat): 3 * time.Minute, "9999999": time.Hour,
		} {
			e.Set(noon)
			e.put(e.settings())
			e.receiver.become(http.StatusTooManyRequests, "Retry-After", value)
			e.rest()
			if got := e.status().RetryAt.Sub(e.Now()); got != wait {
				t.Errorf("Retry-After %s: tried again after %s, want %s", value, got, wait)
			}
		}
		e.receiver.become(0)
		e.Pass(time.Hour)
		e.rest()
		e.wantNames("after", want)
	})
}

// TestAKeyThatIsNotAcceptedLosesNothing: what only a person can mend waits for one.
func TestAKeyThatIsNotAcceptedLosesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		want := decided(e.decide(3))
		for _, status := range []int{401, 403, 404, 405, 302} {
			e.receiver.become(status)
			e.Pass(10 * time.Minute)
			e.rest()
			if got := e.status(); got.HTTPStatus != status || got.Problem == "" || got.Refused != 0 ||
				got.SentDecisions != 0 {
				t.Errorf("%d: status %+v", status, got)
			}
		}
		e.receiver.become(200, "Content-Type", "text/html; charset=utf-8")
		e.Pass(10 * time.Minute)
		e.receiver.forget()
		e.rest()
		if got := e.status(); !strings.Contains(got.Problem, "web page") || got.SentDecisions != 0 {
			t.Errorf("a web page for an answer: %+v", got)
		}
		e.receiver.forget()
		e.receiver.become(0)
		settings := e.settings()
		settings.Headers = nil
		e.put(settings) // as a person does who has mended it: no pause any longer
		e.rest()
		e.wantNames("after", want)
	})
}

// TestOneThatIsRefusedIsFound: the receiver takes no request that holds a certain
// span. It alone is given up.
func TestOneThatIsRefusedIsFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge} {
			e.receiver.forget()
			e := e.elsewhere()
			e.put(e.settings())
			tools := e.decide(40)
			bad := "writ.decision " + tools[17]
			e.receiver.behave(func(rw http.ResponseWriter, spans []*trace.Span) bool {
				if slices.ContainsFunc(spans, func(s *trace.Span) bool { return s.Name == bad }) {
					rw.WriteHeader(status)
					return false
				}
				return true
			})
			for range 3 {
				e.rest()
				e.Pass(time.Minute)
			}
			e.wantNames("all but one", slices.DeleteFunc(decided(tools), func(name string) bool { return name == bad }))
			if got := e.status(); got.Refused != 1 || got.SentDecisions != 39 || got.Lag != 0 ||
				got.LostDecisions != 0 {
				t.Errorf("status %+v", got)
			}
		}
	})
}

// TestSmallRequestsOnly is a receiver that takes three spans at a time.
func TestSmallRequestsOnly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		want := append(spansOf(e.ingest(7), 7), spansOf(e.ingest(0), 0)...)
		e.receiver.behave(func(rw http.ResponseWriter, spans []*trace.Span) bool {
			if len(spans) > 3 {
				rw.WriteHeader(http.StatusRequestEntityTooLarge)
				return false
			}
			return true
		})
		e.rest()
		e.wantNames("in pieces", want)
		if got := e.status(); got.Refused != 0 || got.SentSpans != 9 {
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
	each(t, func(t *testing.T, e *env) {
		for kind, body := range map[string]string{
			"application/x-protobuf": string(answer), "application/json": `{"partialSuccess":{"rejectedSpans":"2"}}`,
			"application/json; charset=utf-8": `{"partialSuccess":{"rejectedSpans":2}}`,
		} {
			e := e.elsewhere()
			e.receiver.forget()
			e.put(e.settings())
			e.decide(5)
			e.receiver.behave(func(rw http.ResponseWriter, _ []*trace.Span) bool {
				rw.Header().Set("Content-Type", kind)
				fmt.Fprint(rw, body)
				return true
			})
			e.rest()
			e.rest()
			if got := e.status(); got.Refused != 2 || got.SentDecisions != 3 || got.Problem != "" ||
				e.receiver.tries() != 1 {
				t.Errorf("%s: status %+v after %d tries", kind, got, e.receiver.tries())
			}
		}
	})
}

// TestWhatWaitsTooLongIsLost, and is counted while the receiver is still down.
func TestWhatWaitsTooLongIsLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		settings := e.settings()
		settings.MaxAge = 2 * time.Hour
		e.put(settings)
		e.receiver.become(http.StatusServiceUnavailable)
		e.decide(3)
		e.ingest(2)
		e.ingest(1)
		old := e.Now()
		e.rest()
		e.Pass(90 * time.Minute)
		want := append(decided(e.decide(2)), spansOf(e.ingest(1), 1)...)
		e.Pass(time.Hour)
		e.rest()
		e.Pass(10 * time.Minute)
		e.rest() // decisions failed again; traces had to wait for that
		lost := e.status()
		if lost.LostDecisions != 3 || lost.LostUntil == nil || lost.LostUntil.Sub(old).Abs() > time.Minute {
			t.Errorf("status %+v", lost)
		}
		e.receiver.become(0)
		e.Pass(10 * time.Minute)
		e.rest()
		e.wantNames("what was not too old", want)
		if got := e.status(); got.LostTraces != 2 || got.LostDecisions != 3 || got.Lag != 0 {
			t.Errorf("status %+v", got)
		}
	})
}

// TestAProcessThatDies: it has sent, and does not live to say so. Another sends the
// same again, under the same ids, once the lease is over.
func TestAProcessThatDies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		tools := e.decide(2)
		dying := newDying(e.T)
		killed := e.replicaBy(dying)
		e.Pass(10 * time.Second)
		if err := killed.Send(dying.ctx); err != nil {
			t.Fatal(err)
		}
		// This one gave its lease back, which one that is killed does not.
		e.write(func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE forwarding SET lease_holder = 'killed', lease_until = $2 WHERE org_id = $1`,
				e.org, database.Micros(tx.Now().Add(time.Minute)))
			return err
		})
		first := e.receiver.names()
		e.wantNames("before it died", decided(tools))
		e.rest()
		if got := e.receiver.names(); len(got) != len(first) {
			t.Errorf("another sent while the lease held: %v", got)
		}
		e.Pass(2 * time.Minute)
		e.rest()
		e.wantNames("then again", append(decided(tools), decided(tools)...))
		if a, b := e.receiver.spans[0], e.receiver.spans[2]; !proto.Equal(a, b) {
			t.Errorf("the same decision was sent as %v and as %v", a, b)
		}
	})
}

// TestReplicasTakeTurns has three send at once, over and over.
func TestReplicasTakeTurns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		replicas := []*forwarding.Service{e.out, e.replica(), e.replica()}
		var want []string
		for range 5 {
			want = append(want, decided(e.decide(20))...)
			e.Pass(time.Second)
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
		e.rest()
		e.wantNames("each once, in order", want)
	})
}

// TestSettingsThatChangeMeanwhile: what was sent under the old ones is not counted
// against the new.
func TestSettingsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		e.decide(1, func(d *decision.Record) { d.Tool = "old" })
		var once sync.Once
		e.receiver.behave(func(http.ResponseWriter, []*trace.Span) bool {
			once.Do(func() {
				off := e.settings()
				off.Enabled = false
				e.put(off)
				e.decide(1, func(d *decision.Record) { d.Tool = "while-off" })
				e.put(e.settings())
			})
			return true
		})
		e.rest()
		e.decide(1, func(d *decision.Record) { d.Tool = "new" })
		e.Pass(2 * time.Minute)
		e.rest()
		e.wantNames("what happened while it was off", []string{"writ.decision old", "writ.decision new"})
	})
}
