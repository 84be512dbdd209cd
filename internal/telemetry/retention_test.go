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

func (s *store) retain() telemetry.Removed {
	s.t.Helper()
	removed, err := s.Retain(s.t.Context(), false)
	if err != nil {
		s.t.Fatalf("retention: %v", err)
	}
	return removed
}

// TestRetention removes traces with their spans, ids, sessions and figures after
// the kept days, and nothing that is younger.
func TestRetention(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		old, young := newID(), newID()
		oldSession, youngSession := newID(), newID()
		s.accept(orgA, trace(old, s.now(), inSession(oldSession), generation(s.now(), "m", 1)))
		s.advance(day)
		s.accept(orgA, trace(young, s.now(), inSession(youngSession), generation(s.now(), "m", 10)))
		s.advance(keptDays*day - 12*time.Hour) // past midnight: the first day is out, the second is not
		before := s.now().Truncate(day).AddDate(0, 0, -keptDays)
		want := telemetry.Removed{Before: before, Traces: 1, Sessions: 1}
		if counted, err := s.Retain(t.Context(), true); err != nil || counted != want {
			t.Errorf("dry run: %+v, %v, want %+v", counted, err, want)
		}
		if detail, err := s.Trace(t.Context(), orgA, old); err != nil || detail == nil {
			t.Errorf("after a dry run: %+v, %v", detail, err)
		}
		if removed := s.retain(); removed != want {
			t.Errorf("removed %+v, want %+v", removed, want)
		}
		if detail, err := s.Trace(t.Context(), orgA, old); err != nil || detail != nil {
			t.Errorf("the old trace: %+v, %v", detail, err)
		}
		if session, err := s.Session(t.Context(), orgA, oldSession); err != nil || session != nil {
			t.Errorf("the old session: %+v, %v", session, err)
		}
		if session, err := s.Session(t.Context(), orgA, youngSession); err != nil || session == nil ||
			len(session.Traces) != 1 {
			t.Errorf("the young session: %+v, %v", session, err)
		}
		s.wantTraces(orgA, 1)
		if sum := s.figures(orgA).Summary; sum.Usage.Input != 10 || sum.Sessions != 1 {
			t.Errorf("summary %+v, want that of the young", sum)
		}
		for table, want := range map[string]int64{
			// by model and by session
			"span": 1, "session": 1, "session_model": 1, "rollup_trace": 1, "rollup_minute": 0, "rollup_usage": 2,
		} {
			if n := s.number(`SELECT count(*) FROM ` + table); n != want {
				t.Errorf("%d rows in %s, want %d", n, table, want)
			}
		}
		s.wantClean()
		// An id that was forgotten is new again.
		s.accept(orgA, trace(old, s.now(), "", generation(s.now(), "m", 1)))
		s.wantClean()
	})
}

// fill stores some megabytes.
func (s *store) fill() {
	s.t.Helper()
	filler := fmt.Sprintf(`"attributes":{"input":%q}`, strings.Repeat("x", 4000))
	for range 4 {
		var batches []string
		for range 250 {
			batches = append(batches, trace(newID(), s.now(), filler, span("span", "s", s.now(), filler)))
		}
		s.accept(orgA, batches...)
	}
}

// TestFileShrinks: SQLite gives the space of what was removed back.
func TestFileShrinks(t *testing.T) {
	t.Parallel()
	s := open(t, dbtest.SQLite(t))
	s.fill()
	pages := s.number(`PRAGMA page_count`)
	s.advance((keptDays + 2) * day)
	s.retain()
	if left := s.number(`PRAGMA page_count`); left > pages/10 {
		t.Errorf("%d pages, %d before", left, pages)
	}
	if free := s.number(`PRAGMA freelist_count`); free != 0 {
		t.Errorf("%d free pages are kept", free)
	}
	pageSize := s.number(`PRAGMA page_size`)
	if err := s.db.Close(); err != nil { // a checkpoint
		t.Fatal(err)
	}
	if file, err := os.Stat(s.options.SQLitePath); err != nil || file.Size() > pages*pageSize/10 {
		t.Errorf("the file has %d bytes of %d, %v", file.Size(), pages*pageSize, err)
	}
}

// TestPartitionsAreDropped: PostgreSQL does, too.
func TestPartitionsAreDropped(t *testing.T) {
	t.Parallel()
	s := open(t, dbtest.Postgres(t))
	s.fill()
	const size = `SELECT SUM(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind = 'r' AND c.relname LIKE '%\_day\_%'`
	bytes := s.number(size)
	s.advance((keptDays + 2) * day)
	s.accept(orgA, trace(newID(), s.now(), ""))
	s.retain()
	if left := s.number(size); left > bytes/4 {
		t.Errorf("%d bytes, %d before", left, bytes)
	}
	for _, table := range []string{"trace", "span"} {
		if names := s.partitions(table); len(names) != 2 { // today's and tomorrow's
			t.Errorf("partitions %v", names)
		}
	}
	s.wantTraces(orgA, 1)
}

// TestOldTraceReceivedToday: rows are kept by their day of receipt, figures by
// the hour in which it happened; neither is ever short of the other's truth.
func TestOldTraceReceivedToday(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		ancient, recent := newID(), newID()
		s.accept(orgA,
			trace(ancient, s.now().Add(-2*keptDays*day), "", generation(s.now(), "m", 1)),
			trace(recent, s.now().Add(-20*day), "", generation(s.now().Add(-20*day), "m", 10)))
		stored := func(when string, want bool) {
			t.Helper()
			for _, id := range []string{ancient, recent} {
				if detail, err := s.Trace(t.Context(), orgA, id); err != nil || (detail != nil) != want {
					t.Errorf("%s: trace %+v, %v", when, detail, err)
				}
			}
			s.wantClean()
		}
		counted := func(when string, traces, tokens int64) {
			t.Helper()
			sum, err := s.Summary(t.Context(), orgA, 90)
			if err != nil || sum.Traces != traces || sum.Usage.Input != tokens {
				t.Errorf("%s: %d traces with %d tokens count (%v), want %d and %d", when, sum.Traces, sum.Usage.Input,
					err, traces, tokens)
			}
		}
		// A span counts when it happened, whenever its trace began.
		stored("at once", true)
		counted("at once", 1, 11)
		s.retain()
		stored("after retention", true)
		counted("after retention", 1, 11)
		s.advance(15 * day)
		s.retain()
		stored("half-way", true)
		counted("half-way", 0, 1)
		s.advance(16 * day)
		s.retain()
		stored("at the end", false)
		counted("at the end", 0, 0)
	})
}

// TestRetentionBesideIngest removes much while more comes in.
func TestRetentionBesideIngest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		other := s.replica()
		for i := range 5 {
			var batches []string
			for n := range 200 {
				batches = append(batches, s.rich(s.now(), newID(), n))
			}
			s.accept(orgA, batches...)
			if i%2 == 1 {
				s.advance(day)
			}
		}
		s.advance(keptDays*day + day)
		stored := whileIngesting(s, func() {
			if removed := s.retain(); removed.Traces != 1000 || removed.Sessions != 1000 {
				t.Errorf("removed %+v", removed)
			}
		}, s.Service, other.Service)
		s.wantTraces(orgA, stored)
		s.wantClean()
	})
}

const done = "retention done"

// TestOneReplicaRunsRetention has three servers that look at the same time.
func TestOneReplicaRunsRetention(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		servers := []*store{s, s.replica(), s.replica()}
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
			s.clock.Store(step.at.UnixMicro())
			look()
			if runs := s.log.count(done); runs != step.runs {
				t.Errorf("%s: retention ran %d times, want %d", step.when, runs, step.runs)
			}
		}
	})
}

// TestFailedRetentionIsTriedAgain soon, not a day later.
func TestFailedRetentionIsTriedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		s.accept(orgA, trace(newID(), s.now(), ""))
		if err := s.RunRetention(t.Context()); err != nil {
			t.Fatal(err)
		}
		mend := s.refuseDeletes()
		s.advance((keptDays + 1) * day)
		if err := s.RunRetention(t.Context()); err == nil {
			t.Error("retention that failed said nothing")
		}
		mend()
		if err := s.RunRetention(t.Context()); err != nil || s.log.count(done) != 0 {
			t.Errorf("at once: %v, %d runs", err, s.log.count(done))
		}
		s.advance(10 * time.Minute)
		if err := s.RunRetention(t.Context()); err != nil || s.log.count(done) != 1 {
			t.Errorf("ten minutes later: %v, %d runs", err, s.log.count(done))
		}
		s.wantTraces(orgA, 0)
	})
}

// refuseDeletes makes the database keep the ids of traces.
func (s *store) refuseDeletes() (mend func()) {
	s.t.Helper()
	if s.db.Engine() == database.SQLite {
		s.exec(`CREATE TRIGGER refuse BEFORE DELETE ON trace_key BEGIN SELECT RAISE(ABORT, 'refused'); END`)
		return func() { s.exec(`DROP TRIGGER refuse`) }
	}
	s.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`)
	s.exec(`CREATE TRIGGER refuse BEFORE DELETE ON trace_key FOR EACH ROW EXECUTE FUNCTION refuse()`)
	return func() { s.exec(`DROP TRIGGER refuse ON trace_key`) }
}

// TestRetentionYieldsToReaders: a partition that someone reads is not dropped
// under them, and ingest does not wait for that either.
func TestRetentionYieldsToReaders(t *testing.T) {
	t.Parallel()
	s := open(t, dbtest.Postgres(t))
	s.accept(orgA, trace(newID(), s.now(), ""))
	s.advance((keptDays + 1) * day)
	s.accept(orgB, trace(newID(), s.now(), ""))
	err := s.db.Snapshot(t.Context(), func(ctx context.Context, r database.Reader) error {
		var n int
		if err := r.QueryRow(ctx, `SELECT count(*) FROM trace`).Scan(&n); err != nil {
			return err
		}
		if _, err := s.Retain(ctx, false); !fault.Is(err, fault.Unavailable) {
			t.Errorf("retention beside a reader: %v, want unavailable", err)
		}
		s.accept(orgB, trace(newID(), s.now(), ""))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.retain()
	s.wantTraces(orgA, 0)
	s.wantTraces(orgB, 2)
}

// TestPartitionsAreMadeAhead lets someone read across midnight: ingest goes on in
// a partition that was made the day before.
func TestPartitionsAreMadeAhead(t *testing.T) {
	t.Parallel()
	s := open(t, dbtest.Postgres(t))
	for range 3 {
		if err := s.MakePartitions(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := s.db.Snapshot(t.Context(), func(ctx context.Context, r database.Reader) error {
			var n int
			if err := r.QueryRow(ctx, `SELECT count(*) FROM trace`).Scan(&n); err != nil {
				return err
			}
			s.advance(day)
			s.accept(orgA, trace(newID(), s.now(), ""))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.wantTraces(orgA, 3)
}
