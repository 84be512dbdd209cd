package telemetry_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/telemetry"
)

// used is what a day had, counted over the rows themselves.
type used struct{ Spans, Input, Nanos, Bytes int64 }

// rawDay counts a day over the rows, as somebody would who knows no rollups.
func (e *env) rawDay(orgID string, day int64) used {
	received := `CASE WHEN s.seq >= 500 THEN s.seq ELSE t.pk END / 1024 / 86400000000`
	length := "length(CAST(%s AS BLOB))"
	if e.DB.Engine() == database.PostgreSQL {
		length = "octet_length(%s)"
	}
	bytes := func(columns ...string) string {
		for i, c := range columns {
			columns[i] = fmt.Sprintf(length, c)
		}
		return strings.Join(columns, " + ")
	}
	spans := `FROM trace t JOIN span s ON s.received_day = t.received_day AND s.trace_pk = t.pk WHERE t.org_id = $1 AND `
	reported := `(SELECT COALESCE(SUM(%s), 0) FROM reported_usage WHERE org_id = $1 AND superseded = 0 AND bucket / 24 = $2)`
	number := func(query string) int64 { return e.Number(query, orgID, day) }
	total := func(of, from string) int64 {
		return number(`SELECT CAST(COALESCE(SUM(` + of + `), 0) AS BIGINT) ` + from)
	}
	sum := func(column string) int64 {
		return total("s."+column, spans+received+` = $2 AND s.kind = 'generation'`) +
			number(`SELECT CAST(`+fmt.Sprintf(reported, column)+` AS BIGINT)`)
	}
	return used{
		Spans: number(`SELECT count(*) ` + spans + received + ` = $2`),
		Input: sum("input_tokens"),
		Nanos: sum("cost_nanos"),
		Bytes: total(bytes("name", "attributes", "tags"), `FROM trace WHERE org_id = $1 AND received_day = $2`) +
			total(bytes("s.name", "s.attributes"), spans+`t.received_day = $2`),
	}
}

// TestMeteredEqualsANaiveCount of the rows, on each day and in each month, also when retention has removed them.
func TestMeteredEqualsANaiveCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		second := e.another(e.DB)
		services := []*telemetry.Service{e.Service, second}
		begin := e.Now()
		want := map[string]used{}
		kept := map[string]int64{}
		for round := range 8 {
			e.sendSome(t, services, uint64(round))
			today := e.Now().UnixMicro() / 86400000000
			want[e.Now().Format(time.DateOnly)] = e.rawDay(orgA, today)
			for d := today - keptDays; d <= today; d++ {
				kept[e.Now().Format(time.DateOnly)] += e.rawDay(orgA, d).Bytes
			}
			e.wantClean()
			e.Pass(11 * day)
			if _, err := e.Retain(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}
		if left := e.Number(`SELECT count(*) FROM trace`); left == 0 || left > 4*30 {
			t.Fatalf("%d traces are left, of 8 rounds: retention should have some", left)
		}
		if err := second.MergeWriters(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.wantMetered(t, telemetry.MeteredQuery{From: begin, Until: e.Now()}, want, kept)
		months := map[string]used{}
		for day, u := range want {
			m := months[day[:7]+"-01"]
			m.Spans, m.Input, m.Nanos = m.Spans+u.Spans, m.Input+u.Input, m.Nanos+u.Nanos
			months[day[:7]+"-01"] = m
		}
		e.wantMetered(t, telemetry.MeteredQuery{From: begin, Until: e.Now(), Monthly: true}, months, nil)
		other, err := e.MeteredOf(t.Context(), orgB, telemetry.MeteredQuery{From: begin, Until: e.Now()})
		if err != nil || len(other) != 89 || other[0].Spans != 0 || other[0].StoredBytes != 0 {
			t.Errorf("another organization: %d days, the first %+v, %v", len(other), other[0], err)
		}
		if _, err := e.MeteredOf(t.Context(), "", telemetry.MeteredQuery{From: begin, Until: e.Now()}); err == nil {
			t.Error("no organization used something")
		}
	})
}

// sendSome sends traces whole and in pieces, twice and at once, and reports totals, some of which spans replace.
func (e *env) sendSome(t *testing.T, services []*telemetry.Service, seed uint64) {
	t.Helper()
	rapid.Custom(func(rt *rapid.T) int {
		sessions := []string{newID(), newID()}
		for i, session := range append(sessions, newID()) {
			entries := []telemetry.ReportedUsage{{Model: "gpt-4o", Usage: telemetry.Usage{Input: int64(100 * (i + 1))}}}
			for range 2 { // a total, not an increment
				if _, err := e.ReportUsage(context.Background(), orgA, "p", session, entries); err != nil {
					t.Fatal(err)
				}
			}
		}
		traces := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mTrace { return drawTrace(t, sessions) }), 10,
			25).Draw(rt, "traces")
		sendConcurrently(rt, services, orgA, traces)
		for range 3 {
			x := drawGrowing(rt, sessions)
			for i := range x.spans {
				f := []telemetry.Fragment{x.fragment(x.spans[:i+1])}
				if _, err := services[i%2].AddFragments(context.Background(), orgA, f); err != nil {
					t.Fatal(err)
				}
			}
		}
		return 0
	}).Example(int(seed))
}

// wantMetered compares what is metered with what was counted by hand; without kept, not what is stored.
func (e *env) wantMetered(t *testing.T, q telemetry.MeteredQuery, want map[string]used, kept map[string]int64) {
	t.Helper()
	all, err := e.MeteredOf(t.Context(), orgA, q)
	if err != nil {
		t.Fatal(err)
	}
	together, err := e.MeteredByAll(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, together); diff != "" {
		t.Errorf("all organizations are the one that sent something (-one +all):\n%s", diff)
	}
	got := map[string]used{}
	for _, m := range all {
		name := m.At.Format(time.DateOnly)
		if m.Spans > 0 || m.Usage != (telemetry.Usage{}) {
			got[name] = used{Spans: m.Spans, Input: m.Usage.Input, Nanos: m.Usage.CostNanos, Bytes: want[name].Bytes}
		}
		if bytes, was := kept[name]; was && bytes != m.StoredBytes {
			t.Errorf("%s: %d bytes are stored, want %d", name, m.StoredBytes, bytes)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what was used (-rows +metered):\n%s", diff)
	}
}

// limited is a service whose organizations may send so many spans a month.
func (e *env) limited(limit int64) *telemetry.Service {
	e.T.Helper()
	service, err := telemetry.New(e.T.Context(), telemetry.Config{
		Database: e.DB, Prices: telemetry.BuiltInPrices(), Logger: slog.New(slog.NewTextHandler(e.log, nil)),
		SessionIdle: time.Hour, Retention: keptDays * day,
		SpanLimit: func(_ context.Context, orgID string) (*int64, error) {
			if orgID == orgB {
				return nil, nil
			}
			return &limit, nil
		},
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return service
}

func spansOf(n int) string {
	spans := make([]string, n)
	for i := range spans {
		spans[i] = fmt.Sprintf(`{"id":%q,"kind":"span","name":"s","startTime":"2030-05-15T12:00:00Z"}`, newID())
	}
	return fmt.Sprintf(`{"trace":{"id":%q,"name":"t","startTime":"2030-05-15T12:00:00Z","status":"ok"},"spans":[%s]}`,
		newID(), strings.Join(spans, ","))
}

// TestABurstGetsExactlyItsQuota, over many connections, servers and forms, and nothing is half-written.
func TestABurstGetsExactlyItsQuota(t *testing.T) {
	t.Parallel()
	const limit = 100
	each(t, func(t *testing.T, e *env) {
		services := []*telemetry.Service{e.limited(limit), nil}
		if services[1] = services[0]; e.DB.Engine() == database.PostgreSQL { // a file of SQLite has one server
			services[1] = e.replica().limited(limit)
		}
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				var err error
				if i%3 == 0 {
					x := gTrace{id: newID(), spans: []gSpan{{id: newID(), start: noon, end: noon, isRoot: true}}}
					for range 5 {
						x.spans = append(x.spans, gSpan{id: newID(), start: noon, end: noon})
					}
					_, err = services[i%2].AddFragments(context.Background(), orgA,
						[]telemetry.Fragment{x.fragment(x.spans[:1]), x.fragment(x.spans[1:])})
				} else {
					_, err = send(context.Background(), services[i%2], orgA, body(spansOf(1), spansOf(7), spansOf(1)))
				}
				if err != nil && !fault.Is(err, fault.QuotaReached) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for range limit { // what is left is for what fits
			_, err := send(t.Context(), services[0], orgA, body(spansOf(1)))
			if err != nil && !fault.Is(err, fault.QuotaReached) {
				t.Fatal(err)
			}
		}
		stored := e.Number(`SELECT count(*) FROM span s JOIN trace t ON t.pk = s.trace_pk AND t.received_day = s.received_day`)
		counted := e.Number(`SELECT CAST(sum(spans) AS BIGINT) FROM metered_day`)
		if stored != limit || counted != limit {
			t.Errorf("%d spans are stored and %d counted, want %d", stored, counted, limit)
		}
		if orphans := e.Number(`SELECT count(*) FROM trace_key k WHERE NOT EXISTS (SELECT 1 FROM trace t WHERE t.pk = k.pk)`); orphans != 0 {
			t.Errorf("%d ids are taken for traces that are not there", orphans)
		}
		if whole := e.Number(`SELECT count(*) FROM trace t WHERE t.span_count <> (SELECT count(*) FROM span s WHERE s.trace_pk = t.pk)`); whole != 0 {
			t.Errorf("%d traces lack spans", whole)
		}
		e.wantClean()
	})
}

// TestWhatAQuotaLeavesAlone: what is stored already, other organizations, and the next month.
func TestWhatAQuotaLeavesAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		service := e.limited(3)
		first := body(spansOf(3))
		taken := func(what, orgID, text string, want bool) {
			t.Helper()
			if _, err := send(t.Context(), service, orgID, text); (err == nil) != want ||
				(err != nil && !fault.Is(err, fault.QuotaReached)) {
				t.Errorf("%s: %v", what, err)
			}
		}
		report := func(what string, want bool) {
			t.Helper()
			_, err := service.ReportUsage(t.Context(), orgA, "p", newID(),
				[]telemetry.ReportedUsage{{Model: "m", Usage: telemetry.Usage{Input: 1}}})
			if (err == nil) != want || (err != nil && !fault.Is(err, fault.QuotaReached)) {
				t.Errorf("%s: %v", what, err)
			}
		}
		taken("too much at once", orgA, body(spansOf(4)), false)
		report("a report before", true)
		taken("what fits", orgA, first, true)
		taken("the same again", orgA, first, true)
		taken("one more", orgA, body(spansOf(1)), false)
		taken("a trace without spans", orgA, body(spansOf(0)), false)
		report("a report after", false)
		taken("another organization", orgB, body(spansOf(50)), true)
		e.Pass(16*day + 12*time.Hour) // June
		taken("in the next month", orgA, body(spansOf(3)), true)
		taken("too much there", orgA, body(spansOf(1)), false)
		report("a report there", false)
	})
}
