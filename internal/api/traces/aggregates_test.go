package traces_test

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// near reports whether a quantile is within one per cent.
func near(got, want float64) bool { return math.Abs(got-want) <= want*0.0101 }

// stamp is an instant as clients write it.
func stamp(instant time.Time) string { return instant.Format(time.RFC3339Nano) }

// firstHour is when an aggregate over days begins: the full hour before.
func firstHour(s *testserver.Server, days int) time.Time {
	return s.Now().Add(-time.Duration(days) * 24 * time.Hour).Truncate(time.Hour)
}

// TestAggregatePeriods is what summary, tokens and policies have in common.
func TestAggregatePeriods(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("days is from 1 to 90", func(t *testing.T, o *observed) {
			for _, path := range []string{"/analytics/summary", "/tokens", "/policies/p"} {
				for _, days := range []string{"0", "-7", "91", "x", "1.5"} {
					o.refuse(path+"?days="+days, "days")
				}
				for _, days := range []string{"1", "90"} {
					if answer := o.get(path + "?days=" + days); answer.Status != http.StatusOK {
						t.Errorf("%s of %s days: %d %s", path, days, answer.Status, answer.Body)
					}
				}
			}
		})
		// counted are the figures that each of the three gives over days.
		counted := func(o *observed, days int) [3]int64 {
			o.t.Helper()
			tokens, err := o.owner.Client.Tokens(o.t.Context(), o.org, "model", days)
			if err != nil {
				o.t.Fatal(err)
			}
			var input int64
			for _, item := range tokens.Items {
				input += item.InputTokens
			}
			return [3]int64{o.summary(days).TotalTraces, input, o.policy("p", days).Calls}
		}
		at := func(o *observed, instant time.Time) {
			o.t.Helper()
			start := m{"startTime": stamp(instant)}
			o.store(batch(o.trace(start), with(o.generation("m", 1, 0, nil), start), o.policyCall("p", "allow", start)))
		}
		rule("days is 7 unless given", func(t *testing.T, o *observed) {
			at(o, s.Now().Add(-6*24*time.Hour))
			at(o, s.Now().Add(-8*24*time.Hour))
			if got := counted(o, 0); got != [3]int64{1, 1, 1} {
				t.Errorf("without days: traces, tokens and calls %v", got)
			}
			if got := counted(o, 9); got != [3]int64{2, 2, 2} {
				t.Errorf("of 9 days: %v", got)
			}
		})
		rule("A period begins at the full hour at or before now less the days", func(t *testing.T, o *observed) {
			at(o, firstHour(s, 2).Add(-time.Millisecond))
			if got := counted(o, 2); got != [3]int64{} {
				t.Errorf("just before it: %v", got)
			}
			at(o, firstHour(s, 2))
			if got := counted(o, 2); got != [3]int64{1, 1, 1} {
				t.Errorf("at its beginning: %v", got)
			}
		})
		rule("What is dated in the future counts when it is received", func(t *testing.T, o *observed) {
			at(o, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
			if got := counted(o, 1); got != [3]int64{1, 1, 1} {
				t.Errorf("traces, tokens and calls %v", got)
			}
			if rate := o.summary(1).TracesPerMinute; rate != 1.0/60 {
				t.Errorf("%v traces a minute", rate)
			}
		})
		rule("A span counts when it began, not when its trace did", func(t *testing.T, o *observed) {
			old := m{"startTime": stamp(s.Now().Add(-5 * 24 * time.Hour))}
			o.store(batch(o.trace(old), o.generation("m", 1, 0, nil), with(o.generation("m", 10, 0, nil), old)))
			if got := counted(o, 1); got != [3]int64{0, 1, 0} {
				t.Errorf("traces, tokens and calls %v", got)
			}
		})
	})
}

// TestSummary is GET .../analytics/summary (2.5, 4.1).
func TestSummary(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("Without telemetry all is 0 and empty, nothing null", func(t *testing.T, o *observed) {
			const want = `{"period":7,"totalTraces":0,"totalSessions":0,"totalErrors":0,"totalTokens":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},` +
				`"totalCostUsd":0,"p50DurationMs":0,"p95DurationMs":0,"topFailingPolicies":[],"tracesPerMinute":0}`
			if answer := o.get("/analytics/summary"); string(answer.Body) != want {
				t.Errorf("%s\nwant %s", answer.Body, want)
			}
		})
		rule("period is the days", func(t *testing.T, o *observed) {
			if got := o.summary(30).Period; got != 30 {
				t.Errorf("period %d", got)
			}
		})
		rule("Totals are those of traces, their sessions and their generation spans", func(t *testing.T, o *observed) {
			session := database.NewID()
			full := m{"cacheReadTokens": 3, "cacheWriteTokens": 4, "costUsd": 0.25}
			o.store(
				batch(o.trace(m{"sessionId": session}), o.generation("a", 100, 20, full),
					o.generation("b", 1, 2, full)),
				batch(o.trace(m{"sessionId": session, "status": "error"}), o.span("span", m{
					"attributes": m{"inputTokens": 5000, "costUsd": 9, "toolName": "t"},
				})),
				batch(o.trace(m{"sessionId": database.NewID(), "status": "denied"})),
				batch(o.trace(nil), o.span("span", m{"status": "error"})), // a failed span is no failed trace
			)
			got := o.summary(1)
			want := client.Summary{
				Period:             1,
				TotalTraces:        4,
				TotalSessions:      2,
				TotalErrors:        2,
				TotalTokens:        client.TokenTotals{Input: 101, Output: 22, CacheRead: 6, CacheWrite: 8},
				TotalCostUSD:       0.5,
				TopFailingPolicies: []client.PolicyCount{},
				TracesPerMinute:    4.0 / 60,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		rule("Sums are exact, however large", func(t *testing.T, o *observed) {
			var spans []m
			for range 500 {
				spans = append(spans, o.generation("m", 1_000_000_000_000, 1, m{"costUsd": 0.1}))
			}
			o.store(batch(o.trace(nil), spans...), batch(o.trace(nil), o.generation("m", 1, 0, nil)))
			if got := o.summary(1); got.TotalTokens.Input != 500_000_000_000_001 || got.TotalTokens.Output != 500 ||
				got.TotalCostUSD != 50 {
				t.Errorf("%+v", got)
			}
		})
		rule("p50 and p95 are of the traces that have a duration, within 1 %", func(t *testing.T, o *observed) {
			var batches []any
			for i := range 400 {
				batches = append(batches, batch(o.trace(m{"durationMs": (i*7%400 + 1) * 10})))
			}
			o.store(append(batches, batch(o.trace(nil)), batch(o.trace(nil), o.span("span", m{
				"durationMs": 1_000_000,
			})))...)
			if got := o.summary(1); !near(got.P50DurationMs, 2000) || !near(got.P95DurationMs, 3800) {
				t.Errorf("p50 %v, p95 %v", got.P50DurationMs, got.P95DurationMs)
			}
		})
		rule("topFailingPolicies counts literal deny decisions only, the most first", func(t *testing.T, o *observed) {
			deny := func(policy string) m { return o.policyCall(policy, "deny", nil) }
			o.store(batch(o.trace(nil), deny("few"), deny("most"), deny("most"), deny("same"),
				o.policyCall("never", "hold", nil),
				o.policyCall("never", "ask", nil), o.policyCall("never", "allow", nil),
				o.policyCall("never", "DENY", nil),
				with(deny("never"), m{"kind": "span"}), o.policyCall("few", "hold", m{"status": "denied"})))
			want := []client.PolicyCount{
				{PolicyID: "most", Count: 2}, {PolicyID: "few", Count: 1}, {PolicyID: "same", Count: 1},
			}
			if diff := cmp.Diff(want, o.summary(1).TopFailingPolicies); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		rule("tracesPerMinute is over the last 60 minutes, whatever the days", func(t *testing.T, o *observed) {
			for _, ago := range []time.Duration{
				0, 30 * time.Minute, 59 * time.Minute, 62 * time.Minute, 3 * time.Hour, 48 * time.Hour,
			} {
				o.store(batch(o.trace(m{"startTime": o.Ago(ago)})))
			}
			for _, days := range []int{1, 7, 90} {
				if got := o.summary(days).TracesPerMinute; got != 3.0/60 {
					t.Errorf("of %d days: %v a minute, want %v", days, got, 3.0/60)
				}
			}
		})
	})
}

// TestPolicyAggregate is GET .../policies/:policyId (2.5, 4.1).
func TestPolicyAggregate(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("calls counts allow, deny, hold and ask; hold and ask are in neither subtotal", func(
			t *testing.T, o *observed,
		) {
			var spans []m
			for decision, n := range map[string]int{
				"allow": 4, "deny": 3, "hold": 2, "ask": 1, "Allow": 1, "block": 1, "": 1,
			} {
				for range n {
					spans = append(spans, o.policyCall("p", decision, nil))
				}
			}
			o.store(batch(o.trace(nil), spans...))
			if got := o.policy("p", 1); got.Calls != 10 || got.Allowed != 4 || got.Denied != 3 {
				t.Errorf("%+v", got)
			}
		})
		rule("Only policy_call spans that name the policy count", func(t *testing.T, o *observed) {
			attributes := m{"policyId": "p", "decision": "deny"}
			o.store(batch(o.trace(nil), o.policyCall("p", "deny", nil), o.policyCall("q", "deny", nil),
				o.span("span", m{"attributes": attributes}),
				o.span("generation", m{"attributes": attributes}),
				o.span("policy_call", m{"attributes": m{"policyId": nil, "decision": "deny"}})))
			if got := o.policy("p", 1); got.Calls != 1 {
				t.Errorf("%+v", got)
			}
		})
		rule("An unknown policy has zeros, no name and no rules", func(t *testing.T, o *observed) {
			want := client.PolicyStats{PolicyID: "unheard of", TopMatchedRules: []client.RuleCount{}}
			if diff := cmp.Diff(want, o.policy("unheard of", 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		rule("The average is exact, p50 and p95 within 1 %, of calls that have a duration", func(
			t *testing.T, o *observed,
		) {
			var spans []m
			for i := range 100 {
				spans = append(spans, o.policyCall("p", "allow", m{"durationMs": (i + 1) * 10}))
			}
			o.store(batch(o.trace(nil), append(spans, o.policyCall("p", "allow", m{"durationMs": nil}))...))
			got := o.policy("p", 1)
			if got.Calls != 101 || got.AvgDurationMs != 505 || !near(got.P50DurationMs, 500) ||
				!near(got.P95DurationMs, 950) {
				t.Errorf("%+v", got)
			}
		})
		rule("topMatchedRules are the rules that matched most, with any decision", func(t *testing.T, o *observed) {
			call := func(rule any, decision string) m {
				return o.policyCall("p", decision, m{
					"attributes": m{"policyId": "p", "decision": decision, "matchedRuleId": rule},
				})
			}
			o.store(batch(o.trace(nil), call("b", "hold"), call("a", "deny"), call("c", "allow"), call("c", "ask"),
				call(nil, "deny"), call("none", "other")))
			want := []client.RuleCount{{RuleID: "c", Count: 2}, {RuleID: "a", Count: 1}, {RuleID: "b", Count: 1}}
			if diff := cmp.Diff(want, o.policy("p", 1).TopMatchedRules); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		rule("policyName is the last name seen, also when that was before the period", func(t *testing.T, o *observed) {
			called := func(name string, ago time.Duration) m {
				return o.policyCall("p", "allow", m{
					"startTime": o.Ago(ago), "attributes": m{"policyId": "p", "policyName": name, "decision": "allow"},
				})
			}
			o.store(batch(o.trace(nil), called("Old", 72*time.Hour), called("New", 48*time.Hour)),
				batch(o.trace(nil), called("", 47*time.Hour)))
			for _, days := range []int{1, 7} {
				if got := o.policy("p", days); got.PolicyName != "New" {
					t.Errorf("over %d days: %+v", days, got)
				}
			}
			if got := o.policy("p", 1); got.Calls != 0 {
				t.Errorf("%d calls on the last day", got.Calls)
			}
		})
		rule("A policy may have any id", func(t *testing.T, o *observed) {
			for _, id := range []string{"a/b", "ä ö", "<p>", "writ:default", "50%", "a?b#c", strings.Repeat("x", 490)} {
				o.store(batch(o.trace(nil), o.policyCall(id, "deny", nil)))
				var got client.PolicyStats
				if err := o.owner.Call(t.Context(), http.MethodGet, o.path("/policies/"+url.PathEscape(id)), nil, nil,
					&got); err != nil || got.PolicyID != id || got.Denied != 1 {
					t.Errorf("%.50q: %+v, %v", id, got, err)
				}
			}
		})
	})
}

// TestTokens is GET .../tokens (2.5, 4.1).
func TestTokens(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("groupBy is model unless given, and is echoed", func(t *testing.T, o *observed) {
			for query, want := range map[string]string{
				"": "model", "?groupBy=model": "model", "?groupBy=tool": "tool", "?groupBy=session": "session",
				"?groupBy=agent": "agent",
			} {
				if answer := o.get("/tokens" +
					query); string(answer.Body) != fmt.Sprintf(`{"groupBy":%q,"items":[]}`, want) {
					t.Errorf("%q: %d %s", query, answer.Status, answer.Body)
				}
			}
		})
		rule("Any other groupBy is 400", func(t *testing.T, o *observed) {
			for _, by := range []string{"Model", "agents", "model,tool", "*"} {
				o.refuse("/tokens?groupBy="+by, "groupBy")
			}
		})
		rule("model and session groups aggregate generation spans", func(t *testing.T, o *observed) {
			first, second := database.NewID(), database.NewID()
			o.store(
				batch(o.trace(m{"sessionId": first}), o.generation("x", 1, 10, m{"costUsd": 1}),
					o.generation("y", 2, 20, m{"costUsd": 2, "cacheReadTokens": 7, "cacheWriteTokens": 8}),
					o.span("span", m{"attributes": m{"model": "x", "inputTokens": 500, "costUsd": 50}})),
				batch(o.trace(m{"sessionId": second}), o.generation("x", 4, 40, m{"costUsd": 4})),
				batch(o.trace(nil), o.generation("x", 8, 80, m{"costUsd": 8})), // of no session
			)
			x, y := client.UsageItem{Key: "x", InputTokens: 13, OutputTokens: 130, CostUSD: 13}, client.UsageItem{
				Key:              "y",
				InputTokens:      2,
				OutputTokens:     20,
				CacheReadTokens:  7,
				CacheWriteTokens: 8,
				CostUSD:          2,
			}
			if diff := cmp.Diff([]client.UsageItem{x, y}, o.tokens("model")); diff != "" {
				t.Errorf("by model (-want +got):\n%s", diff)
			}
			want := []client.UsageItem{{Key: second, InputTokens: 4, OutputTokens: 40, CostUSD: 4}, {
				Key:              first,
				InputTokens:      3,
				OutputTokens:     30,
				CacheReadTokens:  7,
				CacheWriteTokens: 8,
				CostUSD:          3,
			}}
			if diff := cmp.Diff(want, o.tokens("session")); diff != "" {
				t.Errorf("by session (-want +got):\n%s", diff)
			}
		})
		rule("tool groups read spans of any kind by attributes.toolName, and may show zeros", func(
			t *testing.T, o *observed,
		) {
			o.store(batch(o.trace(nil), o.span("span", m{"attributes": m{"toolName": "Bash"}}),
				o.span("event", m{"attributes": m{"toolName": "Read", "inputTokens": 3}}),
				o.generation("m", 5, 6, m{"toolName": "Search", "costUsd": 0.5}), o.generation("m", 100, 100, nil),
				o.span("span", m{"attributes": m{"toolName": 7}})))
			want := []client.UsageItem{
				{Key: "Search", InputTokens: 5, OutputTokens: 6, CostUSD: 0.5}, {Key: "Read", InputTokens: 3},
				{Key: "Bash"},
			}
			if diff := cmp.Diff(want, o.tokens("tool")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		rule("Items are ordered by cost, then tokens, then key", func(t *testing.T, o *observed) {
			o.store(batch(o.trace(nil), o.generation("c", 1, 0, m{"costUsd": 1}), o.generation("b", 9, 0, nil),
				o.generation("a", 4, 5, nil), o.generation("d", 0, 0, m{"costUsd": 2})))
			var keys []string
			for _, item := range o.tokens("model") {
				keys = append(keys, item.Key)
			}
			if got := strings.Join(keys, " "); got != "d c a b" {
				t.Errorf("%s", got)
			}
		})
		rule("Beyond 1,000 items the rest is one with the key (other)", func(t *testing.T, o *observed) {
			for part := range 3 {
				var spans []m
				for i := range 400 {
					spans = append(spans, o.generation(fmt.Sprintf("m%04d", part*400+i), 1+part*400+i, 0, nil))
				}
				o.store(batch(o.trace(nil), spans...))
			}
			items := o.tokens("model") // 1,200 models with 1 to 1,200 tokens
			if len(items) != 1001 || items[0].InputTokens != 1200 || items[1000].Key != "(other)" ||
				items[1000].InputTokens != 200*201/2 {
				t.Errorf("%d items, first %+v, last %+v", len(items), items[0], items[len(items)-1])
			}
		})
	})
}
