package projection_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/projection"
	"writ/internal/telemetry"
	"writ/internal/verdict"
)

// series is what a series of decisions says, without what is zero: by hour or day and name.
func (e *env) series(orgID string, q telemetry.SeriesQuery) (map[string]string, telemetry.Series) {
	e.T.Helper()
	q.Metric = telemetry.MetricDecisions
	s, err := e.telemetry.Series(e.T.Context(), orgID, q)
	if err != nil {
		e.T.Fatal(err)
	}
	got := map[string]string{}
	for _, b := range s.Buckets {
		for name, n := range b.Values {
			if n != "0" {
				got[b.At.Format("2 15h ")+name] = string(n)
			}
		}
	}
	return got, s
}

// logged is the same, counted one by one from the log.
func (e *env) logged(q telemetry.SeriesQuery, name func(d decision.Record) string) map[string]string {
	e.T.Helper()
	counts := map[string]int{}
	err := decision.Backwards(e.T.Context(), e.DB, e.acme, "", q.From, func(d decision.Record) bool {
		width := time.Hour
		if q.Daily {
			width *= 24
		}
		if d.At.Before(q.Until) {
			counts[d.At.Truncate(width).Format("2 15h ")+name(d)]++
		}
		return true
	})
	if err != nil {
		e.T.Fatal(err)
	}
	got := map[string]string{}
	for name, n := range counts {
		got[name] = fmt.Sprint(n)
	}
	return got
}

// wantLogged wants series that say what the log says, by verdict, agent and tool, each hour and each day.
func (e *env) wantLogged() {
	e.T.Helper()
	for _, daily := range []bool{false, true} {
		for by, name := range map[string]func(decision.Record) string{
			"verdict": func(d decision.Record) string { return d.Verdict.String() },
			"agent":   func(d decision.Record) string { return d.AgentID },
			"tool":    func(d decision.Record) string { return d.Server + "." + d.Tool },
		} {
			q := telemetry.SeriesQuery{
				By: by, Daily: daily, From: noon.Add(-72 * time.Hour).Truncate(24 * time.Hour),
				Until: noon.Add(72 * time.Hour).Truncate(24 * time.Hour),
			}
			got, _ := e.series(e.acme, q)
			if diff := cmp.Diff(e.logged(q, name), got); diff != "" {
				e.T.Errorf("decisions by %s, daily %v (-log +series):\n%s", by, daily, diff)
			}
		}
	}
}

// some are decisions of a few agents about a few tools.
func (e *env) some(n int) (all []decision.Record) {
	for i := range n {
		d := e.decision("plan-1", verdict.Verdict(i%4))
		d.AgentID, d.Tool, d.Rule = fmt.Sprint("agent-", i%3), fmt.Sprint("tool-", i%5), fmt.Sprint("rule-", i%2)
		all = append(all, d)
	}
	return all
}

// TestSeriesSayWhatTheLogSays, also after hours, days, and other replicas.
func TestSeriesSayWhatTheLogSays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for round := range 5 {
			e.decide(e.some(40 + 13*round)...)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					if err := projection.New(e.DB, e.telemetry,
						decision.NewRecent()).Run(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			e.project()
			e.wantLogged()
			e.Pass(time.Duration(round) * 7 * time.Hour)
		}
		other, _ := e.series(e.globex, telemetry.SeriesQuery{
			From: noon.Add(-time.Hour), Until: noon.Add(72 * time.Hour),
		})
		if len(other) != 0 {
			t.Errorf("another organization sees %v", other)
		}
		// Rows of a process that stopped are added up by another, and the totals stay.
		e.Pass(48 * time.Hour)
		if err := e.service().MergeWriters(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.wantLogged()
		e.wantExact()
		if err := e.telemetry.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.wantLogged()
	})
}

// uncount leaves telemetry as the migration leaves one that has counted nothing yet.
func (e *env) uncount() {
	e.T.Helper()
	err := e.bulk.Write(e.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM rollup_decision`)
		if err == nil {
			_, err = tx.Exec(ctx,
				`UPDATE projected SET counted_from = position, counted_since = 9223372036854775807 WHERE position > 0`)
		}
		return err
	}})
	if err != nil {
		e.T.Fatal(err)
	}
}

// TestEarlierDecisionsAreCountedOnce: those that were in telemetry before it counted any.
func TestEarlierDecisionsAreCountedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.decide(e.some(1203)...)
		e.Pass(5 * time.Hour)
		e.decide(e.some(50)...)
		e.project()
		e.uncount()
		e.Pass(time.Hour)
		e.decide(e.some(7)...)
		q := telemetry.SeriesQuery{From: noon.Add(time.Hour), Until: noon.Add(2 * time.Hour)}
		if _, s := e.series(e.acme, q); s.Complete {
			t.Error("complete before earlier decisions are counted")
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := projection.New(e.DB, e.telemetry,
					decision.NewRecent()).Run(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for range 3 { // replicas may have been in each other's way
			if err := projection.New(e.DB, e.telemetry, decision.NewRecent()).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		e.wantLogged()
		if _, s := e.series(e.acme, q); !s.Complete {
			t.Errorf("not complete after all are counted: %+v", s)
		}
	})
}

// TestSeriesAreComplete only where an hour is over, counted and kept.
func TestSeriesAreComplete(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.decide(e.some(4)...)
		e.project()
		complete := func(from, until time.Duration, behind time.Duration) bool {
			_, s := e.series(e.acme, telemetry.SeriesQuery{
				From: noon.Add(from), Until: noon.Add(until), Behind: behind,
			})
			return s.Complete
		}
		if complete(0, time.Minute, 0) {
			t.Error("the present hour is complete")
		}
		e.Pass(30 * time.Minute)
		if !complete(0, 30*time.Minute, 0) {
			t.Error("an hour that is over is not complete")
		}
		if complete(0, 30*time.Minute, time.Second) {
			t.Error("an hour is complete that decisions may still be missing from")
		}
		e.Pass(40 * 24 * time.Hour)
		if complete(0, 30*time.Minute, 0) {
			t.Error("an hour that retention removes is complete")
		}
	})
}

// TestDenialsByDeciderAndRule tell the last one's entry.
func TestDenialsByDeciderAndRule(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.decide(e.some(41)...)
		e.project()
		want := map[string]telemetry.Denial{}
		total := int64(0)
		err := decision.Backwards(t.Context(), e.DB, e.acme, "", noon.Add(-time.Hour), func(d decision.Record) bool {
			if d.Verdict == verdict.Deny {
				x := want[d.Rule]
				x.DecidedBy, x.Rule, x.Count, x.LastIndex = d.PolicyID, d.Rule, x.Count+1, max(x.LastIndex, d.Index)
				want[d.Rule] = x
				total++
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := e.telemetry.Denials(t.Context(), e.acme, telemetry.Days(1))
		got := map[string]telemetry.Denial{}
		for _, d := range found.Items {
			got[d.Rule] = d
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" || found.Total != total || !found.Complete {
			t.Errorf("denials %+v, %v (-log +counted):\n%s", found, err, diff)
		}
		if other, err := e.telemetry.Denials(t.Context(), e.globex, telemetry.Days(1)); err != nil || other.Total != 0 {
			t.Errorf("another organization sees %+v, %v", other, err)
		}
	})
}

// TestLargestItemsAndTheRest: what is not shown by name is not lost.
func TestLargestItemsAndTheRest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var all []decision.Record
		for i := range 25 {
			for range 1 + i {
				d := e.decision("", verdict.Allow)
				d.AgentID = fmt.Sprintf("agent-%02d", i)
				all = append(all, d)
			}
		}
		e.decide(all...)
		e.project()
		got, _ := e.series(e.acme, telemetry.SeriesQuery{By: "agent", From: noon, Until: noon.Add(time.Minute)})
		if len(got) != 21 || got["15 12h agent-24"] != "25" || got["15 12h (other)"] != "15" { // 1+2+3+4+5
			t.Errorf("%v", got)
		}
		one, _ := e.series(e.acme, telemetry.SeriesQuery{Agent: "agent-07", From: noon, Until: noon.Add(time.Minute)})
		if diff := cmp.Diff(map[string]string{"15 12h allow": "8"}, one); diff != "" {
			t.Error(diff)
		}
	})
}

// TestCountsAfterARestore: what the restored log says from there on is counted.
func TestCountsAfterARestore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.decide(e.some(6)...)
		e.project()
		e.DB = e.OpenEmpty(database.Main)
		e.log = e.auditLog()
		e.Exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, 'Acme', 1, 1)`, e.acme)
		e.decide(e.some(2)...)
		e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
			return e.log.BeginEpoch(ctx, tx, e.acme, audit.Lost{Known: true, Entries: 4})
		})
		e.projector = projection.New(e.DB, e.telemetry, e.recent)
		e.Pass(time.Hour)
		e.decide(e.some(3)...)
		e.project()
		q := telemetry.SeriesQuery{From: noon.Add(time.Hour), Until: noon.Add(2 * time.Hour)}
		got, _ := e.series(e.acme, q)
		if diff := cmp.Diff(e.logged(q, func(d decision.Record) string { return d.Verdict.String() }),
			got); diff != "" {
			t.Error(diff)
		}
	})
}
