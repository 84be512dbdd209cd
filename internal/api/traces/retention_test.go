package traces_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"writ/client"
	"writ/internal/app"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/telemetry"
	"writ/internal/testserver"
)

const aDay = 24 * time.Hour

// TestRetention is what is removed, and when it is old enough (3, 8).
func TestRetention(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		retain := func(o *observed) {
			o.t.Helper()
			if _, err := s.Telemetry.Retain(o.t.Context(), false); err != nil {
				o.t.Fatalf("retain: %v", err)
			}
		}
		gone := func(o *observed, trace m) bool {
			o.t.Helper()
			got, err := o.owner.Trace(o.t.Context(), o.org, trace["id"].(string))
			if err != nil {
				o.t.Fatal(err)
			}
			return got == nil
		}
		rule("Traces and sessions are kept for 30 days", func(t *testing.T, o *observed) {
			session := database.NewID()
			b := o.inSession(session, time.Minute, nil, o.generation("m", 5, 0, nil), o.policyCall("p", "deny", nil))
			o.store(b)
			o.later(30*aDay - time.Hour)
			retain(o)
			if gone(o, b["trace"].(m)) || o.session(session).TraceCount != 1 || o.summary(30).TotalTraces != 1 ||
				o.policy("p", 30).Denied != 1 {
				t.Error("something is gone within 30 days")
			}
		})
		rule("Older traces are removed with their spans, their sessions and their figures", func(
			t *testing.T, o *observed,
		) {
			session := database.NewID()
			b := o.inSession(session, time.Minute, nil, o.generation("m", 5, 0, nil), o.policyCall("p", "deny", nil))
			o.store(b)
			o.report("p", database.NewID(), input("reported", 7))
			o.later(32 * aDay)
			fresh := o.trace(nil)
			o.store(batch(fresh, o.generation("m", 1, 0, nil)))
			retain(o)
			if !gone(o, b["trace"].(m)) || gone(o, fresh) {
				t.Error("the old trace is there, or the fresh one is not")
			}
			if x, err := o.owner.TelemetrySession(t.Context(), o.org, session); err != nil || x != nil {
				t.Errorf("its session: %+v, %v", x, err)
			}
			if ids := o.listed(client.TraceFilter{Days: 90}); !slices.Equal(ids, []string{fresh["id"].(string)}) {
				t.Errorf("listed are %v", ids)
			}
			if sum := o.summary(90); sum.TotalTraces != 1 || sum.TotalSessions != 0 || sum.TotalTokens.Input != 1 ||
				len(sum.TopFailingPolicies) != 0 {
				t.Errorf("summary %+v", sum)
			}
			if p := o.policy("p", 90); p.Calls != 0 || p.PolicyName != "" {
				t.Errorf("policy %+v", p)
			}
			wantRows(t, s, "span", 1)
			wantRows(t, s, "trace_key", 1)
		})
		rule("A removed trace id may be used again", func(t *testing.T, o *observed) {
			trace := o.trace(nil)
			o.store(batch(trace))
			o.later(32 * aDay)
			retain(o)
			o.store(batch(trace))
		})
		rule("A trace is kept by its receipt, whenever it says it happened", func(t *testing.T, o *observed) {
			old, ahead := o.trace(m{"startTime": o.Ago(80 * aDay)}), o.trace(m{"startTime": "9999-01-01T00:00:00Z"})
			o.store(batch(old), batch(ahead))
			retain(o)
			if gone(o, old) || gone(o, ahead) {
				t.Error("what was just received is gone")
			}
			o.later(32 * aDay)
			retain(o)
			if !gone(o, old) || !gone(o, ahead) {
				t.Error("what was received 32 days ago is there")
			}
		})
		rule("A session is kept by its lastActivityAt, with the totals of its whole life", func(
			t *testing.T, o *observed,
		) {
			session := database.NewID()
			o.store(o.inSession(session, time.Minute, nil, o.generation("m", 5, 0, nil)))
			o.later(20 * aDay)
			o.store(o.inSession(session, time.Minute, nil, o.generation("m", 3, 0, nil)))
			o.later(15 * aDay)
			retain(o)
			if x := o.session(session); x.TraceCount != 2 || x.TotalInputTokens != 8 || len(x.Traces) != 1 {
				t.Errorf("%+v", x)
			}
		})
	})
}

// wantRows counts the rows of a table in the telemetry store, all organizations
// together.
func wantRows(t *testing.T, s *testserver.Server, table string, want int) {
	t.Helper()
	var got int
	if err := s.TelemetryDB.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&got); err != nil || got != want {
		t.Errorf("%d rows of %s, %v, want %d", got, table, err, want)
	}
}

// TestRetentionIsSettable sets OBSERVABILITY_RETENTION_DAYS.
func TestRetentionIsSettable(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("What is older than the days that are set is removed", func(t *testing.T, o *observed) {
			o.store(batch(o.trace(nil)))
			o.later(3*aDay - time.Hour)
			o.store(batch(o.trace(nil)))
			o.later(2 * aDay)
			if _, err := s.Telemetry.Retain(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if ids := o.listed(client.TraceFilter{}); len(ids) != 1 {
				t.Errorf("listed are %v, want the second alone", ids)
			}
		})
	}, "OBSERVABILITY_RETENTION_DAYS", "3")
}

// TestMissedRetentionRunsAtStart stops a server, and starts another on its data
// weeks later.
func TestMissedRetentionRunsAtStart(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		first := testserver.Start(t, o)
		options := app.Options{Config: first.Config, Logger: slog.New(slog.DiscardHandler), Version: "test"}
		x := observe(t, first, first.Person("owner"))
		trace := x.trace(nil)
		x.store(batch(trace))
		if err := first.Telemetry.RunRetention(t.Context()); err != nil { // nothing is due; tomorrow's run is planned
			t.Fatal(err)
		}
		if err := first.Stop(); err != nil {
			t.Fatal(err)
		}
		options.Now = func() time.Time { return time.Now().Add(40 * aDay) }
		second, err := app.Start(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		first.Server = second // what the test's end stops
		err = testserver.Eventually(func() error {
			got, err := second.Telemetry.Trace(t.Context(), x.org, trace["id"].(string))
			if err == nil && got != nil {
				err = fmt.Errorf("trace %s is still there", got.ID)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// keeper is the area alone, with a clock and without the server's schedule.
type keeper struct {
	*telemetry.Service
	t       *testing.T
	db      *database.DB
	clock   *atomic.Int64
	log     *testserver.Buffer
	session string
}

// eachKeeper begins at 12:30 UTC with one trace of a session, and the day's run behind it.
func eachKeeper(t *testing.T, body func(t *testing.T, k *keeper)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		k := &keeper{t: t, clock: new(atomic.Int64), log: &testserver.Buffer{}, session: database.NewID()}
		k.clock.Store(time.Date(2030, 5, 15, 12, 30, 0, 0, time.UTC).UnixNano())
		o.Store, o.Now = database.Telemetry, func() time.Time { return time.Unix(0, k.clock.Load()) }
		k.db = dbtest.Open(t, o)
		k.Service = k.replica()
		k.ingest()
		k.wantRuns(0) // a first start is no missed run
		body(t, k)
	})
}

const keeperOrg = "0190a0a0-0000-7000-8000-00000000000a"

func (k *keeper) replica() *telemetry.Service {
	k.t.Helper()
	service, err := telemetry.New(k.t.Context(), telemetry.Config{
		Database: k.db, Prices: telemetry.BuiltInPrices(), Logger: slog.New(slog.NewTextHandler(k.log, nil)),
		SessionIdle: 30 * time.Minute, Retention: 30 * aDay,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return service
}

// ingest stores a trace with many spans.
func (k *keeper) ingest() {
	k.t.Helper()
	now := stamp(time.Unix(0, k.clock.Load()).UTC())
	var spans []m
	for range 400 {
		spans = append(spans, m{
			"id":         database.NewID(),
			"kind":       "span",
			"name":       "s",
			"startTime":  now,
			"attributes": m{"text": strings.Repeat("x", 500)},
		})
	}
	b := batch(m{"id": database.NewID(), "sessionId": k.session, "name": "t", "startTime": now, "status": "ok"},
		spans...)
	result, err := k.Ingest(k.t.Context(), keeperOrg, "p", telemetry.Request{
		Product: "p", Batches: rawBatches(k.t, []any{b}),
	})
	if err != nil || result.Accepted != 1 {
		k.t.Fatalf("%+v, %v", result, err)
	}
}

// goTo moves the clock to a time of day, today or on a later day.
func (k *keeper) goTo(days, hour, minute int) {
	now := time.Unix(0, k.clock.Load()).UTC()
	k.clock.Store(time.Date(now.Year(), now.Month(), now.Day()+days, hour, minute, 0, 0, time.UTC).UnixNano())
}

// wantRuns asks for the scheduled work and counts how often it was done so far.
func (k *keeper) wantRuns(want int) {
	k.t.Helper()
	if err := k.RunRetention(k.t.Context()); err != nil {
		k.t.Fatalf("run retention: %v", err)
	}
	if got := strings.Count(k.log.String(), "retention done"); got != want {
		k.t.Errorf("retention ran %d times, want %d", got, want)
	}
}

func TestRetentionRunsDailyAtThree(t *testing.T) {
	t.Parallel()
	eachKeeper(t, func(t *testing.T, k *keeper) {
		k.goTo(1, 2, 59)
		k.wantRuns(0)
		k.goTo(0, 3, 0)
		k.wantRuns(1)
		k.wantRuns(1)
		k.goTo(0, 23, 59)
		k.wantRuns(1)
		k.goTo(1, 2, 59)
		k.wantRuns(1)
		k.goTo(0, 3, 1)
		k.wantRuns(2)
		k.goTo(5, 1, 0) // five runs were missed: one makes up for them
		k.wantRuns(3)
		k.wantRuns(3)
		k.goTo(0, 3, 0)
		k.wantRuns(4)
	})
}

func TestRetentionRunsOnOneReplica(t *testing.T) {
	t.Parallel()
	eachKeeper(t, func(t *testing.T, k *keeper) {
		replicas := []*telemetry.Service{k.Service, k.replica(), k.replica(), k.replica()}
		k.goTo(1, 3, 0)
		var wg sync.WaitGroup
		for _, replica := range replicas {
			wg.Go(func() {
				if err := replica.RunRetention(t.Context()); err != nil {
					t.Errorf("run retention: %v", err)
				}
			})
		}
		wg.Wait()
		k.wantRuns(1)
	})
}

func TestDryRetentionRemovesNothing(t *testing.T) {
	t.Parallel()
	eachKeeper(t, func(t *testing.T, k *keeper) {
		k.goTo(31, 0, 1)
		for _, dry := range []bool{true, true, false} {
			removed, err := k.Retain(t.Context(), dry)
			if want := time.Date(2030, 5, 16, 0, 0, 0, 0, time.UTC); err != nil || removed.Traces != 1 ||
				removed.Sessions != 1 || !removed.Before.Equal(want) {
				t.Errorf("dry %t: %+v, %v, want one trace and one session before %s", dry, removed, err, want)
			}
		}
		if removed, err := k.Retain(t.Context(), true); err != nil || removed.Traces != 0 || removed.Sessions != 0 {
			t.Errorf("afterwards: %+v, %v", removed, err)
		}
	})
}

// TestRetentionGivesSpaceBack: SQLite keeps what is deleted unless it is told,
// and on PostgreSQL the day's partitions go.
func TestRetentionGivesSpaceBack(t *testing.T) {
	t.Parallel()
	eachKeeper(t, func(t *testing.T, k *keeper) {
		size := func() (n int64) {
			t.Helper()
			query := `SELECT page_count + freelist_count FROM pragma_page_count, pragma_freelist_count`
			if k.db.Engine() == database.PostgreSQL {
				query = `SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent WHERE c.relname IN ('trace', 'span')`
			}
			if err := k.db.QueryRow(t.Context(), query).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		empty := size()
		for range 20 {
			k.ingest()
		}
		full := size()
		k.goTo(40, 3, 0)
		k.wantRuns(1)
		if left := size(); left >= full || k.db.Engine() == database.SQLite && left > empty+full/10 {
			t.Errorf("%d are left of %d, %d before", left, full, empty)
		}
	})
}
