package telemetry_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/telemetry"
)

func (e *env) retain() telemetry.Removed {
	e.T.Helper()
	removed, err := e.Retain(e.T.Context(), false)
	if err != nil {
		e.T.Fatalf("retention: %v", err)
	}
	return removed
}

// TestRetention removes traces with their spans, ids, sessions and figures after
// the kept days, and nothing that is younger.
func TestRetention(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		old, young := newID(), newID()
		oldSession, youngSession := newID(), newID()
		e.accept(orgA, trace(old, e.Now(), inSession(oldSession), generation(e.Now(), "m", 1)))
		e.Pass(day)
		e.accept(orgA, trace(young, e.Now(), inSession(youngSession), generation(e.Now(), "m", 10)))
		e.Pass(keptDays*day - 12*time.Hour) // past midnight: the first day is out, the second is not
		before := e.Now().Truncate(day).AddDate(0, 0, -keptDays)
		want := telemetry.Removed{Before: before, Traces: 1, Sessions: 1}
		if counted, err := e.Retain(t.Context(), true); err != nil || counted != want {
			t.Errorf("dry run: %+v, %v, want %+v", counted, err, want)
		}
		if detail, err := e.Trace(t.Context(), orgA, old); err != nil || detail == nil {
			t.Errorf("after a dry run: %+v, %v", detail, err)
		}
		if removed := e.retain(); removed != want {
			t.Errorf("removed %+v, want %+v", removed, want)
		}
		if detail, err := e.Trace(t.Context(), orgA, old); err != nil || detail != nil {
			t.Errorf("the old trace: %+v, %v", detail, err)
		}
		if session, err := e.Session(t.Context(), orgA, oldSession); err != nil || session != nil {
			t.Errorf("the old session: %+v, %v", session, err)
		}
		if session, err := e.Session(t.Context(), orgA, youngSession); err != nil || session == nil ||
			len(session.Traces) != 1 {
			t.Errorf("the young session: %+v, %v", session, err)
		}
		e.wantTraces(orgA, 1)
		if sum := e.figures(orgA).Summary; sum.Usage.Input != 10 || sum.Sessions != 1 {
			t.Errorf("summary %+v, want that of the young", sum)
		}
		for table, want := range map[string]int64{
			// by model, by session and by agent
			"span": 1, "session": 1, "session_model": 1, "rollup_trace": 1, "rollup_minute": 0, "rollup_usage": 3,
		} {
			if n := e.Number(`SELECT count(*) FROM ` + table); n != want {
				t.Errorf("%d rows in %s, want %d", n, table, want)
			}
		}
		e.wantClean()
		// An id that was forgotten is new again.
		e.accept(orgA, trace(old, e.Now(), "", generation(e.Now(), "m", 1)))
		e.wantClean()
	})
}

// fill stores some megabytes.
func (e *env) fill() {
	e.T.Helper()
	filler := fmt.Sprintf(`"attributes":{"input":%q}`, strings.Repeat("x", 4000))
	for range 4 {
		var batches []string
		for range 250 {
			batches = append(batches, trace(newID(), e.Now(), filler, span("span", "s", e.Now(), filler)))
		}
		e.accept(orgA, batches...)
	}
}

// TestFileShrinks: SQLite gives the space of what was removed back.
func TestFileShrinks(t *testing.T) {
	t.Parallel()
	e := open(t, dbtest.SQLite(t))
	e.fill()
	pages := e.Number(`PRAGMA page_count`)
	e.Pass((keptDays + 2) * day)
	e.retain()
	if left := e.Number(`PRAGMA page_count`); left > pages/10 {
		t.Errorf("%d pages, %d before", left, pages)
	}
	if free := e.Number(`PRAGMA freelist_count`); free != 0 {
		t.Errorf("%d free pages are kept", free)
	}
	pageSize := e.Number(`PRAGMA page_size`)
	if err := e.DB.Close(); err != nil { // a checkpoint
		t.Fatal(err)
	}
	if file, err := os.Stat(e.Options.SQLitePath); err != nil || file.Size() > pages*pageSize/10 {
		t.Errorf("the file has %d bytes of %d, %v", file.Size(), pages*pageSize, err)
	}
}

// TestPartitionsAreDropped: PostgreSQL does, too.
func TestPartitionsAreDropped(t *testing.T) {
	t.Parallel()
	e := open(t, dbtest.Postgres(t))
	e.fill()
	const size = `SELECT SUM(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind = 'r' AND c.relname LIKE '%\_day\_%'`
	bytes := e.Number(size)
	e.Pass((keptDays + 2) * day)
	e.accept(orgA, trace(newID(), e.Now(), ""))
	e.retain()
	if left := e.Number(size); left > bytes/4 {
		t.Errorf("%d bytes, %d before", left, bytes)
	}
	for _, table := range []string{"trace", "span"} {
		if names := e.partitions(table); len(names) != 2 { // today's and tomorrow's
			t.Errorf("partitions %v", names)
		}
	}
	e.wantTraces(orgA, 1)
}

// TestOldTraceReceivedToday: rows are kept by their day of receipt, figures by
// the hour in which it happened; neither is ever short of the other's truth.
func TestOldTraceReceivedToday(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ancient, recent := newID(), newID()
		e.accept(orgA,
			trace(ancient, e.Now().Add(-2*keptDays*day), "", generation(e.Now(), "m", 1)),
			trace(recent, e.Now().Add(-20*day), "", generation(e.Now().Add(-20*day), "m", 10)))
		stored := func(when string, want bool) {
			t.Helper()
			for _, id := range []string{ancient, recent} {
				if detail, err := e.Trace(t.Context(), orgA, id); err != nil || (detail != nil) != want {
					t.Errorf("%s: trace %+v, %v", when, detail, err)
				}
			}
			e.wantClean()
		}
		counted := func(when string, traces, tokens int64) {
			t.Helper()
			sum, err := e.Summary(t.Context(), orgA, telemetry.Days(90))
			if err != nil || sum.Traces != traces || sum.Usage.Input != tokens {
				t.Errorf("%s: %d traces with %d tokens count (%v), want %d and %d", when, sum.Traces, sum.Usage.Input,
					err, traces, tokens)
			}
		}
		// A span counts when it happened, whenever its trace began.
		stored("at once", true)
		counted("at once", 1, 11)
		e.retain()
		stored("after retention", true)
		counted("after retention", 1, 11)
		e.Pass(15 * day)
		e.retain()
		stored("half-way", true)
		counted("half-way", 0, 1)
		e.Pass(16 * day)
		e.retain()
		stored("at the end", false)
		counted("at the end", 0, 0)
	})
}

// TestRetentionBesideIngest removes much while more comes in.
func TestRetentionBesideIngest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		other := e.replica()
		for i := range 5 {
			var batches []string
			for n := range 200 {
				batches = append(batches, e.rich(e.Now(), newID(), n))
			}
			e.accept(orgA, batches...)
			if i%2 == 1 {
				e.Pass(day)
			}
		}
		e.Pass(keptDays*day + day)
		stored := whileIngesting(e, func() {
			if removed := e.retain(); removed.Traces != 1000 || removed.Sessions != 1000 {
				t.Errorf("removed %+v", removed)
			}
		}, e.Service, other.Service)
		e.wantTraces(orgA, stored)
		e.wantClean()
	})
}

const done = "retention done"

// TestOneReplicaRunsRetention has three servers that look at the same time.
func TestOneReplicaRunsRetention(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		servers := []*env{e, e.replica(), e.replica()}
		look := func() {
			var looking sync.WaitGroup
			for _, server := range servers {
				looking.Go(func() {
					if err := server.RunRetention(t.Context()); err != nil {
						t.Errorf("retention: %v", err)
					}
				})
			}
			looking.Wait()
		}
		for _, step := range []struct {
			when string
			at   time.Time
			runs int
		}{
			{"at the first start", noon, 0},
			{"a second before three", time.Date(2030, 5, 16, 2, 59, 59, 0, time.UTC), 0},
			{"at three", time.Date(2030, 5, 16, 3, 0, 0, 0, time.UTC), 1},
			{"a minute later", time.Date(2030, 5, 16, 3, 1, 0, 0, time.UTC), 1},
			{"the next day, late", time.Date(2030, 5, 17, 9, 0, 0, 0, time.UTC), 2},
			{"at three again", time.Date(2030, 5, 18, 3, 0, 0, 0, time.UTC), 3},
			{"after a week away", time.Date(2030, 5, 25, 1, 0, 0, 0, time.UTC), 4},
		} {
			e.Set(step.at)
			look()
			if runs := e.log.count(done); runs != step.runs {
				t.Errorf("%s: retention ran %d times, want %d", step.when, runs, step.runs)
			}
		}
	})
}

// TestFailedRetentionIsTriedAgain soon, not a day later.
func TestFailedRetentionIsTriedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.accept(orgA, trace(newID(), e.Now(), ""))
		if err := e.RunRetention(t.Context()); err != nil {
			t.Fatal(err)
		}
		mend := e.refuseDeletes()
		e.Pass((keptDays + 1) * day)
		if err := e.RunRetention(t.Context()); err == nil {
			t.Error("retention that failed said nothing")
		}
		mend()
		if err := e.RunRetention(t.Context()); err != nil || e.log.count(done) != 0 {
			t.Errorf("at once: %v, %d runs", err, e.log.count(done))
		}
		e.Pass(10 * time.Minute)
		if err := e.RunRetention(t.Context()); err != nil || e.log.count(done) != 1 {
			t.Errorf("ten minutes later: %v, %d runs", err, e.log.count(done))
		}
		e.wantTraces(orgA, 0)
	})
}

// refuseDeletes makes the database keep the ids of traces.
func (e *env) refuseDeletes() (mend func()) {
	e.T.Helper()
	if e.DB.Engine() == database.SQLite {
		e.Exec(`CREATE TRIGGER refuse BEFORE DELETE ON trace_key BEGIN SELECT RAISE(ABORT, 'refused'); END`)
		return func() { e.Exec(`DROP TRIGGER refuse`) }
	}
	e.Exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`)
	e.Exec(`CREATE TRIGGER refuse BEFORE DELETE ON trace_key FOR EACH ROW EXECUTE FUNCTION refuse()`)
	return func() { e.Exec(`DROP TRIGGER refuse ON trace_key`) }
}

// TestRetentionYieldsToReaders: a partition that someone reads is not dropped
// under them, and ingest does not wait for that either.
func TestRetentionYieldsToReaders(t *testing.T) {
	t.Parallel()
	e := open(t, dbtest.Postgres(t))
	e.accept(orgA, trace(newID(), e.Now(), ""))
	e.Pass((keptDays + 1) * day)
	e.accept(orgB, trace(newID(), e.Now(), ""))
	err := e.DB.Snapshot(t.Context(), func(ctx context.Context, r database.Reader) error {
		var n int
		if err := r.QueryRow(ctx, `SELECT count(*) FROM trace`).Scan(&n); err != nil {
			return err
		}
		if _, err := e.Retain(ctx, false); !fault.Is(err, fault.Unavailable) {
			t.Errorf("retention beside a reader: %v, want unavailable", err)
		}
		e.accept(orgB, trace(newID(), e.Now(), ""))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	e.retain()
	e.wantTraces(orgA, 0)
	e.wantTraces(orgB, 2)
}

// TestPartitionsAreMadeAhead lets someone read across midnight: ingest goes on in
// a partition that was made the day before.
func TestPartitionsAreMadeAhead(t *testing.T) {
	t.Parallel()
	e := open(t, dbtest.Postgres(t))
	for range 3 {
		if err := e.MakePartitions(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := e.DB.Snapshot(t.Context(), func(ctx context.Context, r database.Reader) error {
			var n int
			if err := r.QueryRow(ctx, `SELECT count(*) FROM trace`).Scan(&n); err != nil {
				return err
			}
			e.Pass(day)
			e.accept(orgA, trace(newID(), e.Now(), ""))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	e.wantTraces(orgA, 3)
}
