package webhook_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/outbound"
)

// received is what a generic target reads.
type received struct {
	ID, Type, OrganizationID, Title string
	Number                          int64
	Request                         map[string]any
}

func decode(t *testing.T, body []byte) (r received) {
	t.Helper()
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatalf("a target got %s: %v", body, err)
	}
	return r
}

func count(from, to int64) (numbers []int64) {
	for n := from; n <= to; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// TestDownForAnHour: nothing is lost, and the order is kept.
func TestDownForAnHour(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hook := e.create(webhook.New{})
		e.target.set(true, 0)
		for range 60 {
			e.happen(notice.Opened, 1)
			e.deliver()
			e.Pass(time.Minute)
		}
		if got := e.target.numbers(t); len(got) != 0 {
			t.Fatalf("a target that is down got %v", got)
		}
		if tries := e.target.tried(); tries < 5 || tries > 20 {
			t.Errorf("%d tries in an hour", tries)
		}
		if got := e.get(hook.ID); got.FailingSince == nil || !got.FailingSince.Equal(start) || got.Waiting != 60 ||
			!got.Enabled() {
			t.Errorf("while it is down: %+v", got)
		}
		e.target.set(false, 0)
		e.Pass(20 * time.Minute) // the longest pause
		for range 4 {
			e.deliver()
		}
		if diff := cmp.Diff(count(1, 60), e.target.numbers(t)); diff != "" {
			t.Errorf("arrived (-want +got):\n%s", diff)
		}
		if got := e.get(hook.ID); got.FailingSince != nil || got.DeliveredAt == nil || got.Waiting != 0 {
			t.Errorf("when it is back: %+v", got)
		}
	})
}

// TestAnotherTargetDoesNotWait: one that is down holds back nobody else.
func TestAnotherTargetDoesNotWait(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hang := make(chan struct{})
		slow := e.create(webhook.New{Name: "slow", URL: "https://slow.example.org/"})
		e.create(webhook.New{Name: "quick"})
		arrived := make(chan struct{}, 10)
		e.target.before = func(r outbound.Request) {
			if strings.Contains(r.URL, "slow") {
				<-hang
				return
			}
			arrived <- struct{}{}
		}
		e.happen(notice.Opened, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { e.hooks.Run(ctx, func(err error) { t.Error(err) }) })
		<-arrived
		e.happen(notice.Opened, 1)
		<-arrived
		if got := e.get(slow.ID); got.Waiting != 2 {
			t.Errorf("%d wait at the slow one, which has answered nothing yet", got.Waiting)
		}
		close(hang)
		cancel()
		running.Wait()
	})
}

// TestTwoReplicas: one sends, however many look.
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.create(webhook.New{})
		e.happen(notice.Opened, 50)
		replicas := []*webhook.Service{e.hooks, e.replica(), e.replica()}
		for range 5 {
			var all sync.WaitGroup
			for _, r := range replicas {
				all.Go(func() {
					if err := r.Deliver(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		if diff := cmp.Diff(count(1, 50), e.target.numbers(t)); diff != "" {
			t.Errorf("arrived (-want +got):\n%s", diff)
		}
	})
}

// TestKilledBetweenDeliveries: the process ends in the middle of a try. Another goes
// on when the lease is over, and sends the same under the same id.
func TestKilledBetweenDeliveries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.create(webhook.New{})
		e.happen(notice.Opened, 3)
		killed, sent := make(chan struct{}), 0
		e.target.before = func(outbound.Request) {
			if sent++; sent == 2 {
				close(killed)
				select {} // it never hears the answer, and stores nothing
			}
		}
		go e.hooks.Deliver(context.Background()) //nolint:errcheck // it never ends
		<-killed
		e.target.mu.Lock()
		e.target.before = nil
		e.target.mu.Unlock()
		other := e.replica()
		if err := other.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(count(1, 1), e.target.numbers(t)); diff != "" {
			t.Errorf("while the lease is held (-want +got):\n%s", diff)
		}
		e.Pass(2 * time.Minute)
		if err := other.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(count(1, 3), e.target.numbers(t)); diff != "" {
			t.Errorf("arrived (-want +got):\n%s", diff)
		}
	})
}

// TestStoppingIsNoFailure: what is under way when the server stops waits for the next.
func TestStoppingIsNoFailure(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hook := e.create(webhook.New{})
		e.happen(notice.Opened, 1)
		ctx, cancel := context.WithCancel(t.Context())
		e.target.down = true
		e.target.before = func(outbound.Request) { cancel() }
		if err := e.hooks.Deliver(ctx); err != nil {
			t.Fatal(err)
		}
		if got := e.deliveries(hook.ID, webhook.Waiting); len(got) != 1 || got[0].Attempts != 0 {
			t.Errorf("waiting: %+v", got)
		}
		e.target.before = nil
		e.target.set(false, 0)
		if err := e.replica().Deliver(t.Context()); err != nil { // the lease was given back
			t.Fatal(err)
		}
		if diff := cmp.Diff(count(1, 1), e.target.numbers(t)); diff != "" {
			t.Errorf("arrived (-want +got):\n%s", diff)
		}
	})
}

// TestRefusedDeliveriesDie after a few tries, and let the next ones through.
func TestRefusedDeliveriesDie(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hook := e.create(webhook.New{})
		e.happen(notice.Opened, 1)
		e.target.set(false, 400)
		for range 5 {
			e.deliver()
			e.Pass(20 * time.Minute)
		}
		dead := e.deliveries(hook.ID, webhook.Dead)
		if len(dead) != 1 || dead[0].Attempts != 5 || dead[0].HTTPStatus != 400 || dead[0].Problem == "" ||
			dead[0].DoneAt == nil {
			t.Fatalf("dead: %+v", dead)
		}
		e.target.set(false, 0)
		e.happen(notice.Opened, 1)
		e.deliver()
		again, err := e.hooks.Replay(t.Context(), e.admin, hook.ID, dead[0].ID)
		if err != nil || again.Status != webhook.Waiting {
			t.Fatalf("replay: %+v, %v", again, err)
		}
		e.deliver()
		if diff := cmp.Diff([]int64{2, 1}, e.target.numbers(t)); diff != "" {
			t.Errorf("arrived (-want +got):\n%s", diff)
		}
		if decode(t, e.target.got[1].Body).ID != dead[0].ID {
			t.Error("a replay has another id")
		}
	})
}

// TestTargetsAreLeftAlone for as long as they ask, within reason.
func TestTargetsAreLeftAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.create(webhook.New{})
		e.happen(notice.Opened, 1)
		e.target.set(false, 429)
		triesAfter := func(asked string, wait time.Duration) int {
			e.target.retryAfter = asked
			e.deliver()
			before := e.target.tried()
			e.Pass(wait)
			e.deliver()
			return e.target.tried() - before
		}
		if n := triesAfter("300", 299*time.Second); n != 0 {
			t.Errorf("%d tries before the time was over", n)
		}
		e.Pass(time.Second)
		for _, unreasonable := range []string{"86400", "-5", "soon", ""} {
			if n := triesAfter(unreasonable, 20*time.Minute); n != 1 {
				t.Errorf("%d tries after Retry-After: %s", n, unreasonable)
			}
			e.Pass(20 * time.Minute)
		}
	})
}

// TestUnansweredDeliveriesDieAfterADay, with all that waited as long.
func TestUnansweredDeliveriesDieAfterADay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hook := e.create(webhook.New{})
		e.target.set(true, 0)
		e.happen(notice.Opened, 3)
		e.deliver()
		e.Pass(23 * time.Hour)
		e.happen(notice.Opened, 1)
		e.deliver()
		if got := e.get(hook.ID); got.Dead != 0 || got.Waiting != 4 {
			t.Errorf("within the day: %d dead, %d waiting", got.Dead, got.Waiting)
		}
		e.Pass(time.Hour)
		e.deliver()
		if got := e.get(hook.ID); got.Dead != 3 || got.Waiting != 1 {
			t.Errorf("after the day: %d dead, %d waiting", got.Dead, got.Waiting)
		}
	})
}

// TestDisabledAfterThreeDays: visibly, and until a person enables it.
func TestDisabledAfterThreeDays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hook := e.create(webhook.New{})
		e.target.set(true, 0)
		for range 74 {
			e.happen(notice.Opened, 1)
			e.deliver()
			e.Pass(time.Hour)
		}
		got := e.get(hook.ID)
		if got.Enabled() || got.Disabled == "" || got.Waiting != 0 || got.Dead != 73 {
			t.Fatalf("after three days: %+v", got)
		}
		untold, err := e.hooks.UnreportedDisabled(t.Context(), e.DB)
		if err != nil || len(untold) != 1 || untold[0].ID != hook.ID {
			t.Errorf("untold: %+v, %v", untold, err)
		}
		tries := e.target.tried()
		e.happen(notice.Opened, 1)
		e.deliver()
		if e.target.tried() != tries {
			t.Error("a disabled webhook was sent to")
		}
		enabled := true
		if _, err := e.hooks.Update(t.Context(), e.admin, hook.ID, webhook.Change{Enabled: &enabled}); err != nil {
			t.Fatal(err)
		}
		e.target.set(false, 0)
		e.happen(notice.Opened, 1)
		e.deliver()
		if diff := cmp.Diff([]int64{e.number}, e.target.numbers(t)); diff != "" {
			t.Errorf("arrived (-want +got):\n%s", diff)
		}
	})
}

// TestAnswersOfTargets are read for their status alone, by the client that is used
// outside of tests.
func TestAnswersOfTargets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		status  int
		problem string
	}{
		"taken": {func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(202) }, 202, ""},
		"a redirect": {
			func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/elsewhere", http.StatusFound) },
			302, "the target redirects, and redirects are not followed",
		},
		"a permanent one": {func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "/elsewhere", http.StatusPermanentRedirect)
		}, 308, "the target redirects, and redirects are not followed"},
		"gone": {
			func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(410) }, 410,
			"the target refused the delivery",
		},
		"too many": {
			func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(429) }, 429,
			"the target asks for fewer requests",
		},
		"broken": {
			func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) }, 503, "the target failed",
		},
		"a huge answer":  {hugeAnswer(200), 200, ""},
		"a huge refusal": {hugeAnswer(500), 500, "the target failed"},
		"an answer cut off": {
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0,
			"the connection to the target broke",
		},
		"an informative one": {
			func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(103); rw.WriteHeader(200) }, 200, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				var seen atomic.Int32
				server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					seen.Add(1)
					c.answer(rw, r)
				}))
				defer server.Close()
				e.hooks = e.replicaTo(outboundClient(t))
				hook := e.create(webhook.New{URL: server.URL + "/hook"})
				got, err := e.hooks.Test(t.Context(), e.admin, hook.ID)
				if err != nil || got.HTTPStatus != c.status || got.Problem != c.problem || seen.Load() != 1 {
					t.Errorf("%+v, %v after %d requests", got, err, seen.Load())
				}
				if listed := e.deliveries(hook.ID, ""); len(listed) != 1 || listed[0].ID != got.ID {
					t.Errorf("listed: %+v", listed)
				}
			})
		})
	}
}

// outboundClient may call this machine, where the tests' targets are.
func outboundClient(t *testing.T) *outbound.Client {
	t.Helper()
	permit, err := outbound.ParsePermit("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	client := outbound.New(outbound.Options{Permits: []outbound.Permit{permit}})
	t.Cleanup(client.Close)
	return client
}

// hugeAnswer writes until the client hangs up.
func hugeAnswer(status int) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(status)
		for {
			if _, err := rw.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
}

// TestOneOrganizationTakesNotAllPlaces, however many slow targets it names.
func TestOneOrganizationTakesNotAllPlaces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hang, hanging, arrived := make(chan struct{}), make(chan struct{}, 10), make(chan struct{}, 10)
		e.target.before = func(r outbound.Request) {
			if strings.Contains(r.URL, "slow") {
				hanging <- struct{}{}
				<-hang
				return
			}
			arrived <- struct{}{}
		}
		for range 10 {
			e.create(webhook.New{URL: "https://slow.example.org/"})
		}
		e.happen(notice.Opened, 1)
		other := e.elsewhere()
		other.create(webhook.New{})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { e.hooks.Run(ctx, func(err error) { t.Error(err) }) })
		for range 4 {
			<-hanging
		}
		for range 2 { // looks
			other.happen(notice.Opened, 1)
			<-arrived
		}
		if more := len(hanging); more != 0 {
			t.Errorf("%d places more are taken by one organization", more)
		}
		cancel()
		close(hang)
		running.Wait()
	})
}
