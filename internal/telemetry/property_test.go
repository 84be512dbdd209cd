package telemetry_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/telemetry"
)

// The model: what was sent, in words of its own.
type (
	mTrace struct {
		ID, Session, Status, Agent string
		Start                      time.Time
		End                        time.Time // zero: not known
		Duration                   *int64
		Spans                      []mSpan
		Invalid                    string // breaks a rule in this way; empty: none
	}
	mSpan struct {
		Kind, Name, Status string
		Start              time.Time
		Duration           *int64
		Attributes         map[string]any
	}
)

var (
	models   = []string{"claude-sonnet-4", "gpt-4o", "unknown-model"}
	tools    = []string{"Bash", "Read"}
	policies = []string{"p1", "p2"}
)

func drawTime(t *rapid.T) time.Time {
	hours := rapid.SampledFrom([]int{0, 0, 0, -1, -5, -23, -24, -25, -24 * 6, -24 * 8, -24 * 20, -24 * 29, 50}).Draw(t,
		"hours")
	minutes := rapid.IntRange(-90, 0).Draw(t, "minutes")
	return noon.Add(time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute)
}

func drawDuration(t *rapid.T) *int64 {
	if rapid.Bool().Draw(t, "timed") {
		d := rapid.SampledFrom([]int64{0, 1, 2, 15, 120, 500, 501, 7000, 123456}).Draw(t, "duration")
		return &d
	}
	return nil
}

func drawSpan(t *rapid.T) mSpan {
	s := mSpan{
		Name:       "s",
		Status:     rapid.SampledFrom([]string{"ok", "ok", "error", "denied"}).Draw(t, "status"),
		Start:      drawTime(t),
		Duration:   drawDuration(t),
		Attributes: map[string]any{},
	}
	s.Kind = rapid.SampledFrom([]string{"span", "generation", "policy_call", "event", "custom"}).Draw(t, "kind")
	count := func(name string) int { return rapid.IntRange(0, 5000).Draw(t, name) }
	switch s.Kind {
	case "generation":
		s.Attributes = map[string]any{
			"model":            rapid.SampledFrom(models).Draw(t, "model"),
			"inputTokens":      count("in"),
			"outputTokens":     count("out"),
			"cacheReadTokens":  count("cr"),
			"cacheWriteTokens": count("cw"),
		}
		if rapid.Bool().Draw(t, "costed") {
			s.Attributes["costUsd"] = rapid.SampledFrom([]float64{0, 0.25, 1.5}).Draw(t, "cost")
		}
	case "policy_call":
		s.Attributes = map[string]any{
			"policyId":      rapid.SampledFrom(policies).Draw(t, "policy"),
			"decision":      rapid.SampledFrom([]string{"allow", "deny", "hold", "ask"}).Draw(t, "decision"),
			"matchedRuleId": rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rule"),
		}
	case "span":
		s.Attributes = map[string]any{"toolName": rapid.SampledFrom(tools).Draw(t, "tool"), "inputTokens": count("in")}
	case "event":
		s.Name = rapid.SampledFrom([]string{"session.end", "note"}).Draw(t, "event")
	}
	return s
}

func drawTrace(t *rapid.T, sessions []string) mTrace {
	x := mTrace{
		ID:       newID(),
		Status:   rapid.SampledFrom([]string{"ok", "ok", "error", "denied"}).Draw(t, "status"),
		Agent:    rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "agent"),
		Start:    drawTime(t),
		Duration: drawDuration(t),
	}
	x.Session = rapid.SampledFrom(append(sessions, "")).Draw(t, "session")
	x.Spans = rapid.SliceOfN(rapid.Custom(drawSpan), 0, 6).Draw(t, "spans")
	x.Invalid = rapid.SampledFrom([]string{"", "", "", "", "status", "tokens", "name", "time"}).Draw(t, "invalid")
	return x
}

// wire is the batch as it is sent.
func (x mTrace) wire() json.RawMessage {
	stamp := func(t time.Time) string { return t.Format(time.RFC3339Nano) }
	head := map[string]any{
		"id":         x.ID,
		"name":       "t",
		"startTime":  stamp(x.Start),
		"status":     x.Status,
		"agentId":    x.Agent,
		"durationMs": x.Duration,
	}
	if x.Session != "" {
		head["sessionId"] = x.Session
	}
	spans := []map[string]any{}
	for _, s := range x.Spans {
		spans = append(spans, map[string]any{
			"id":         newID(),
			"kind":       s.Kind,
			"name":       s.Name,
			"status":     s.Status,
			"startTime":  stamp(s.Start),
			"durationMs": s.Duration,
			"attributes": s.Attributes,
		})
	}
	switch x.Invalid {
	case "status":
		head["status"] = "fine"
	case "time":
		head["startTime"] = "yesterday"
	case "name":
		head["name"] = ""
	case "tokens":
		spans = append(spans, map[string]any{
			"id":         newID(),
			"kind":       "generation",
			"name":       "g",
			"startTime":  stamp(x.Start),
			"attributes": map[string]any{"inputTokens": -1},
		})
	}
	encoded, err := json.Marshal(map[string]any{"trace": head, "spans": spans})
	if err != nil {
		panic(err)
	}
	return encoded
}

// TestFiguresEqualANaiveCount sends random batches, good and bad, twice and from
// several sides at once, and counts by hand what every answer should be.
func TestFiguresEqualANaiveCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		second := e.another(e.DB)
		rapid.Check(t, func(rt *rapid.T) {
			orgID := newID()
			sessions := []string{newID(), newID()}
			traces := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mTrace { return drawTrace(t, sessions) }), 1,
				25).Draw(rt, "traces")
			sendConcurrently(rt, []*telemetry.Service{e.Service, second}, orgID, traces)
			valid := slices.DeleteFunc(slices.Clone(traces), func(x mTrace) bool { return x.Invalid != "" })
			for _, days := range []int{1, 7, 30} {
				compareSummary(rt, e, orgID, days, valid)
				compareTokens(rt, e, orgID, days, valid)
				comparePolicies(rt, e, orgID, days, valid)
			}
			compareSessions(rt, e, orgID, valid)
			if diff, err := e.Verify(context.Background()); err != nil || len(diff) != 0 {
				rt.Fatalf("verify: %+v, %v", diff, err)
			}
		})
	})
}

// sendConcurrently sends every trace twice, in requests of a few, all at once.
func sendConcurrently(t *rapid.T, services []*telemetry.Service, orgID string, traces []mTrace) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	accepted, rejected := map[string]int{}, 0
	for round := range 2 {
		for i, part := range slices.Collect(slices.Chunk(traces, 4)) {
			raw, err := json.Marshal(map[string]any{"product": "p", "batches": wires(part)})
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				request, err := telemetry.ParseRequest(raw)
				if err != nil {
					t.Errorf("parse: %v", err)
					return
				}
				result, err := services[(i+round)%len(services)].Ingest(context.Background(), orgID, "p", request)
				if err != nil {
					t.Errorf("ingest: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				rejected += len(result.Rejections)
				for _, id := range result.TraceIDs {
					accepted[id]++
				}
			})
		}
	}
	wg.Wait()
	for _, x := range traces {
		want := 1
		if x.Invalid != "" {
			want = 0
			rejected -= 2
		}
		if accepted[x.ID] != want {
			t.Fatalf("trace %s (%s) accepted %d times, want %d", x.ID, x.Invalid, accepted[x.ID], want)
		}
	}
	if rejected != 0 {
		t.Fatalf("%d more rejections than bad traces", rejected)
	}
}

func wires(traces []mTrace) []json.RawMessage {
	var list []json.RawMessage
	for _, x := range traces {
		list = append(list, x.wire())
	}
	return list
}

// in reports whether something that started then counts in the last days: from
// the full hour on, and what is dated ahead counts at its receipt, now.
func in(start time.Time, days int) bool {
	from := noon.AddDate(0, 0, -days).Truncate(time.Hour)
	return !start.Before(from) || start.After(noon)
}

func compareSummary(t *rapid.T, e *env, orgID string, days int, traces []mTrace) {
	var want telemetry.Summary
	var durations []float64
	denials := map[string]int64{}
	for _, x := range traces {
		if in(x.Start, days) {
			want.Traces++
			if x.Status != "ok" {
				want.Errors++
			}
			if x.Duration != nil {
				durations = append(durations, float64(*x.Duration))
			}
		}
		if x.Start.After(noon) || !x.Start.Before(noon.Truncate(time.Minute).Add(-59*time.Minute)) {
			want.TracesPerMinute += 1.0 / 60
		}
		for _, sp := range x.Spans {
			if !in(sp.Start, days) {
				continue
			}
			if sp.Kind == "generation" {
				want.Usage = sumUsage(want.Usage, naiveUsage(sp))
			}
			if sp.Kind == "policy_call" && sp.Attributes["decision"] == "deny" {
				denials[sp.Attributes["policyId"].(string)]++
			}
		}
	}
	got, err := e.Summary(context.Background(), orgID, telemetry.Days(days))
	if err != nil {
		t.Fatalf("summary: %v", err)
	}
	if got.Traces != want.Traces || got.Errors != want.Errors || got.Usage != want.Usage ||
		math.Abs(got.TracesPerMinute-want.TracesPerMinute) > 1e-9 {
		t.Fatalf("summary of %d days: %+v, want %+v", days, got, want)
	}
	near(t, "p50", got.P50, durations, 0.5)
	near(t, "p95", got.P95, durations, 0.95)
	failing := map[string]int64{}
	for _, c := range got.TopFailing {
		failing[c.ID] = c.Count
	}
	if diff := cmp.Diff(denials, failing); diff != "" {
		t.Fatalf("denials (-want +got): %s", diff)
	}
}

func number(v any) int64 {
	n, _ := v.(int)
	return int64(n)
}

// naiveUsage prices by hand the three models of the test.
func naiveUsage(s mSpan) telemetry.Usage {
	a := s.Attributes
	u := telemetry.Usage{
		Input:      number(a["inputTokens"]),
		Output:     number(a["outputTokens"]),
		CacheRead:  number(a["cacheReadTokens"]),
		CacheWrite: number(a["cacheWriteTokens"]),
	}
	if cost, ok := a["costUsd"].(float64); ok && cost != 0 {
		u.CostNanos = int64(math.Round(cost * 1e9))
		return u
	}
	switch a["model"] {
	case "claude-sonnet-4": // 3, 15, 0.30, 3.75 dollars a million; input without what was cached
		u.CostNanos = u.Input*3000 + u.Output*15000 + u.CacheRead*300 + u.CacheWrite*3750
	case "gpt-4o": // 2.50, 10, 1.25; input with what was cached
		u.CostNanos = max(0, u.Input-u.CacheRead)*2500 + u.Output*10000 + u.CacheRead*1250
	}
	return u
}

func sumUsage(a, b telemetry.Usage) telemetry.Usage {
	return telemetry.Usage{
		Input:      a.Input + b.Input,
		Output:     a.Output + b.Output,
		CacheRead:  a.CacheRead + b.CacheRead,
		CacheWrite: a.CacheWrite + b.CacheWrite,
		CostNanos:  a.CostNanos + b.CostNanos,
	}
}

// near checks a quantile against the exact one: within one per cent.
func near(t *rapid.T, what string, got float64, values []float64, q float64) {
	want := 0.0
	if len(values) > 0 {
		slices.Sort(values)
		want = values[int(q*float64(len(values)-1))]
	}
	if math.Abs(got-want) > want*0.01+1e-9 {
		t.Fatalf("%s = %v, want %v within 1 %% of %v", what, got, want, values)
	}
}

func compareTokens(t *rapid.T, e *env, orgID string, days int, traces []mTrace) {
	want := map[string]map[string]telemetry.Usage{"model": {}, "tool": {}, "session": {}, "agent": {}}
	for _, x := range traces {
		for _, sp := range x.Spans {
			if !in(sp.Start, days) {
				continue
			}
			u := naiveUsage(sp)
			if sp.Kind == "generation" {
				model := sp.Attributes["model"].(string)
				want["model"][model] = sumUsage(want["model"][model], u)
				want["agent"][x.Agent] = sumUsage(want["agent"][x.Agent], u)
				if x.Session != "" {
					want["session"][x.Session] = sumUsage(want["session"][x.Session], u)
				}
			}
			if tool, ok := sp.Attributes["toolName"].(string); ok {
				want["tool"][tool] = sumUsage(want["tool"][tool], u)
			}
		}
	}
	for groupBy, wanted := range want {
		items, err := e.Tokens(context.Background(), orgID, groupBy, telemetry.Days(days))
		if err != nil {
			t.Fatalf("tokens: %v", err)
		}
		got := map[string]telemetry.Usage{}
		for _, item := range items {
			got[item.Key] = item.Usage
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Fatalf("tokens of %d days by %s (-want +got): %s", days, groupBy, diff)
		}
	}
}

func comparePolicies(t *rapid.T, e *env, orgID string, days int, traces []mTrace) {
	for _, id := range policies {
		var calls, allowed, denied int64
		var durations []float64
		total := 0.0
		rules := map[string]int64{}
		for _, x := range traces {
			for _, sp := range x.Spans {
				if sp.Kind != "policy_call" || sp.Attributes["policyId"] != id || !in(sp.Start, days) {
					continue
				}
				calls++
				switch sp.Attributes["decision"] {
				case "allow":
					allowed++
				case "deny":
					denied++
				}
				rules[sp.Attributes["matchedRuleId"].(string)]++
				if sp.Duration != nil {
					durations = append(durations, float64(*sp.Duration))
					total += float64(*sp.Duration)
				}
			}
		}
		got, err := e.Policy(context.Background(), orgID, id, 0, telemetry.Days(days))
		if err != nil {
			t.Fatalf("policy: %v", err)
		}
		if got.Calls != calls || got.Allowed != allowed || got.Denied != denied {
			t.Fatalf("policy %s of %d days: %+v, want %d calls, %d allowed, %d denied", id, days, got, calls, allowed,
				denied)
		}
		if want := total / math.Max(1, float64(len(durations))); math.Abs(got.Average-want) > 1e-6 {
			t.Fatalf("average = %v, want %v", got.Average, want)
		}
		near(t, "policy p50", got.P50, durations, 0.5)
		near(t, "policy p95", got.P95, durations, 0.95)
		matched := map[string]int64{}
		for _, c := range got.TopRules {
			matched[c.ID] = c.Count
		}
		if diff := cmp.Diff(rules, matched); diff != "" {
			t.Fatalf("rules (-want +got): %s", diff)
		}
	}
}

func compareSessions(t *rapid.T, e *env, orgID string, traces []mTrace) {
	type session struct {
		Traces int64
		Usage  telemetry.Usage
		Active time.Time
	}
	want := map[string]*session{}
	for _, x := range traces {
		if x.Session == "" {
			continue
		}
		w := want[x.Session]
		if w == nil {
			w = &session{}
			want[x.Session] = w
		}
		w.Traces++
		activity := earlier(x.Start, noon)
		if !x.End.IsZero() {
			activity = earlier(x.End, noon)
		}
		if activity.After(w.Active) {
			w.Active = activity
		}
		for _, sp := range x.Spans {
			if sp.Kind == "generation" {
				w.Usage = sumUsage(w.Usage, naiveUsage(sp))
			}
		}
	}
	for id, w := range want {
		got, err := e.Session(context.Background(), orgID, id)
		if err != nil || got == nil {
			t.Fatalf("session %s: %v, %v", id, got, err)
		}
		if got.TraceCount != w.Traces || got.Usage != w.Usage || len(got.Traces) != int(w.Traces) ||
			// receipts are numbered by microseconds while the clock stands
			got.LastActivityAt.Sub(w.Active).Abs() > time.Second {
			t.Fatalf("session: %+v, want %+v", got.Session, w)
		}
		if !slices.IsSortedFunc(got.Traces, func(a, b telemetry.TraceItem) int {
			return a.Start.Compare(b.Start)
		}) {
			t.Fatal("the traces of a session are not in chronological order")
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
