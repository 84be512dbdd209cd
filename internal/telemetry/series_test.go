package telemetry_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/telemetry"
)

// series reads a series of the hours around noon, without empty buckets.
func (e *env) series(q telemetry.SeriesQuery) map[string]map[string]telemetry.Number {
	e.T.Helper()
	if q.From.IsZero() {
		q.From, q.Until = noon.Add(-5*time.Hour), noon.Add(5*time.Hour)
	}
	s, err := e.Series(e.T.Context(), orgA, q)
	if err != nil {
		e.T.Fatalf("%+v: %v", q, err)
	}
	got := map[string]map[string]telemetry.Number{}
	for _, b := range s.Buckets {
		empty := true
		for _, n := range b.Values {
			empty = empty && n == "0"
		}
		if !empty {
			got[b.At.Format("2 15h")] = b.Values
		}
	}
	return got
}

type (
	numbers = map[string]telemetry.Number
	hourly  = map[string]numbers
)

// TestSeriesOfTelemetry: every metric of traces, by hour and by day.
func TestSeriesOfTelemetry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		costs := func(at time.Time, model string, in, out int, dollars string) string {
			return span("generation", "g", at, fmt.Sprintf(
				`"attributes":{"model":%q,"inputTokens":%d,"outputTokens":%d,"costUsd":%s}`, model, in, out, dollars))
		}
		early, late := noon.Add(-3*time.Hour), noon.Add(-time.Minute)
		e.accept(orgA,
			trace(newID(), early, `"agentId":"billing","durationMs":300`, costs(early, "m1", 10, 1, "0.1")),
			trace(newID(), early, `"agentId":"billing","durationMs":300`, costs(early, "m2", 20, 2, "0.2")),
			strings.Replace(trace(newID(), late, `"agentId":"travel"`, costs(late, "m1", 40, 4, "1.000000001")),
				`"status":"ok"`, `"status":"error"`, 1))
		e.accept(orgB, trace(newID(), early, `"agentId":"billing"`, costs(early, "m1", 1000, 1000, "9")))
		for name, tt := range map[string]struct {
			query telemetry.SeriesQuery
			want  hourly
		}{
			"traces": {
				telemetry.SeriesQuery{Metric: telemetry.MetricTraces},
				hourly{"15 09h": {"traces": "2"}, "15 12h": {"traces": "1"}},
			},
			"traces of days": {
				telemetry.SeriesQuery{Metric: telemetry.MetricTraces, Daily: true}, hourly{"15 00h": {"traces": "3"}},
			},
			"errors": {
				telemetry.SeriesQuery{Metric: telemetry.MetricErrors}, hourly{"15 12h": {"errors": "1"}},
			},
			"tokens by kind": {
				telemetry.SeriesQuery{Metric: telemetry.MetricTokens}, hourly{
					"15 09h": {"input": "30", "output": "3", "cacheRead": "0", "cacheWrite": "0"},
					"15 12h": {"input": "40", "output": "4", "cacheRead": "0", "cacheWrite": "0"},
				},
			},
			"tokens of an agent": {
				telemetry.SeriesQuery{Metric: telemetry.MetricTokens, Agent: "travel"}, hourly{
					"15 12h": {"input": "40", "output": "4", "cacheRead": "0", "cacheWrite": "0"},
				},
			},
			"tokens by model": {
				telemetry.SeriesQuery{Metric: telemetry.MetricTokens, By: "model", Daily: true},
				hourly{"15 00h": {"m1": "55", "m2": "22"}},
			},
			"cost": {
				telemetry.SeriesQuery{Metric: telemetry.MetricCost},
				hourly{"15 09h": {"cost": "0.3"}, "15 12h": {"cost": "1.000000001"}},
			},
			"cost by agent": {
				telemetry.SeriesQuery{Metric: telemetry.MetricCost, By: "agent"},
				hourly{"15 09h": {"billing": "0.3"}, "15 12h": {"travel": "1.000000001"}},
			},
		} {
			if diff := cmp.Diff(tt.want, e.series(tt.query)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		if got := e.series(telemetry.SeriesQuery{Metric: telemetry.MetricP95}); len(got) != 1 ||
			got["15 09h"]["p95"] < "297" || got["15 09h"]["p95"] > "303" {
			t.Errorf("p95: %v, want 300 within one per cent, and nothing where no duration is known", got)
		}
		e.wantClean()
	})
}

// TestUsageFollowsTheAgent: that of a trace whose root names its agent late, and that of reports.
func TestUsageFollowsTheAgent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		byAgent := func() map[string]int64 {
			items, err := e.Tokens(t.Context(), orgA, "agent", telemetry.Days(1))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{}
			for _, item := range items {
				got[item.Key] = item.Usage.Input
			}
			return got
		}
		want := func(when string, want map[string]int64) {
			t.Helper()
			if diff := cmp.Diff(want, byAgent()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
			e.wantClean()
		}
		x := gTrace{id: newID()}
		f := x.fragment([]gSpan{call(noon.Add(-time.Hour)), call(noon)})
		f.Trace.AgentID = ""
		e.wantAdded(e.grown(orgA, f), telemetry.Added{Stored: 2})
		want("before the agent is known", map[string]int64{"": 20})
		f = x.fragment([]gSpan{call(noon)})
		f.Trace.AgentID = "billing"
		e.wantAdded(e.grown(orgA, f), telemetry.Added{Stored: 1})
		want("once it is known", map[string]int64{"billing": 30})

		session := newID()
		e.accept(orgA, trace(newID(), noon, inSession(session)+`,"agentId":"travel"`))
		report := func(tokens int64) {
			t.Helper()
			if _, err := e.ReportUsage(t.Context(), orgA, "p", session, []telemetry.ReportedUsage{
				{Model: "m", Usage: telemetry.Usage{Input: tokens}},
			}); err != nil {
				t.Fatal(err)
			}
		}
		report(5)
		want("with a report", map[string]int64{"billing": 30, "travel": 5})
		e.Pass(time.Hour)
		report(7)
		want("with a later report", map[string]int64{"billing": 30, "travel": 7})
		e.accept(orgA, trace(newID(), noon, inSession(session)+`,"agentId":"travel"`, generation(noon, "m", 100)))
		want("with spans instead of the report", map[string]int64{"billing": 30, "travel": 100})
	})
}

// TestPeriods: from and until beside days, in aggregates whole hours and in lists exactly.
func TestPeriods(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for _, ago := range []time.Duration{0, time.Hour, 2 * time.Hour, 50 * time.Hour} {
			e.accept(orgA, trace(newID(), noon.Add(-ago), inSession(newID())))
		}
		for name, tt := range map[string]struct {
			period       telemetry.Period
			count, lists int64
		}{
			"days":            {telemetry.Period{Days: 1}, 3, 3},
			"from":            {telemetry.Period{Days: 1, From: noon.Add(-60 * time.Hour)}, 4, 4},
			"from and until":  {telemetry.Period{From: noon.Add(-90 * time.Minute), Until: noon.Add(-time.Hour)}, 1, 0},
			"days until then": {telemetry.Period{Days: 1, Until: noon.Add(-49 * time.Hour)}, 1, 1},
		} {
			sum, err := e.Summary(t.Context(), orgA, tt.period)
			if err != nil || sum.Traces != tt.count || sum.Sessions != tt.count {
				t.Errorf("%s: %d traces and %d sessions (%v), want %d", name, sum.Traces, sum.Sessions, err, tt.count)
			}
			p := tt.period
			list, err := e.ListTraces(t.Context(), orgA, telemetry.TraceFilter{
				Days: p.Days, From: p.From, Until: p.Until, Limit: 10,
			})
			if err != nil || int64(len(list.Items)) != tt.lists {
				t.Errorf("%s lists %d traces (%v), want %d", name, len(list.Items), err, tt.lists)
			}
		}
	})
}

// TestUsageByAgentOfBefore: the migration counts what is stored as ingest would have.
func TestUsageByAgentOfBefore(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../database/migrations/telemetry/0006_series.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, backfill, ok := strings.Cut(string(text), "DEFAULT '';\n")
	if !ok {
		t.Fatal("the migration has no statement that counts usage by agent")
	}
	each(t, func(t *testing.T, e *env) {
		for i, at := range []time.Time{noon, noon.Add(-30 * time.Hour), noon.Add(90 * time.Minute), time.Unix(-10, 0)} {
			e.accept(orgA, trace(newID(), noon, fmt.Sprintf(`"agentId":"agent-%d"`, i%2), generation(at, "m", 10+i)))
			e.accept(orgB, trace(newID(), noon, ``, generation(at, "m", 1)))
		}
		e.grown(orgA, gTrace{id: newID()}.fragment([]gSpan{call(noon.Add(-time.Hour)), call(noon.Add(3 * time.Hour))}))
		if _, err := e.ReportUsage(t.Context(), orgA, "p", newID(), []telemetry.ReportedUsage{
			{Model: "m", Usage: telemetry.Usage{Input: 7}},
		}); err != nil {
			t.Fatal(err)
		}
		e.Exec(`DELETE FROM rollup_usage WHERE dimension = 'agent'`)
		e.Exec(backfill)
		e.wantClean()
	})
}
