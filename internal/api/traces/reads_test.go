package traces_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// telemetryReads are the seven reads.
func telemetryReads() []string {
	return []string{
		"/sessions", "/sessions/" + database.NewID(), "/traces", "/traces/" + database.NewID(), "/policies/p",
		"/analytics/summary", "/tokens",
	}
}

// TestTelemetryReaders is who may read (5).
func TestTelemetryReaders(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		stranger := s.Person("stranger")
		rule("Without credentials it is 401", func(t *testing.T, o *observed) {
			for _, rest := range telemetryReads() {
				o.Request(t, "GET", o.path(rest), "").ErrorFields(t, http.StatusUnauthorized)
			}
		})
		rule("An API key reads nothing, its own organization included", func(t *testing.T, o *observed) {
			for _, rest := range telemetryReads() {
				o.Request(t, "GET", o.path(rest), "", testserver.Credentials(o.agent)...).ErrorFields(t,
					http.StatusUnauthorized)
			}
		})
		rule("Who is no member is 403", func(t *testing.T, o *observed) {
			for _, rest := range telemetryReads() {
				o.Request(t, "GET", o.path(rest), "", testserver.Credentials(stranger.Client)...).ErrorFields(t,
					http.StatusForbidden)
			}
		})
		rule("A malformed organization is 403", func(t *testing.T, o *observed) {
			for _, rest := range telemetryReads() {
				o.Request(t, "GET", "/organization/mine/observability"+rest, "",
					testserver.Credentials(o.owner.Client)...).ErrorFields(t, http.StatusForbidden)
			}
		})
		rule("A member reads another organization's telemetry as if there were none", func(t *testing.T, o *observed) {
			session := database.NewID()
			trace := o.trace(m{"sessionId": session})
			o.store(batch(trace, o.generation("m", 1, 1, nil), o.policyCall("p", "deny", nil)))
			other := observe(t, s, o.owner) // a member of both
			for rest, want := range map[string]string{
				"/sessions":                       `{"items":[],"hasMore":false}`,
				"/sessions/" + session:            `null`,
				"/traces":                         `{"items":[],"hasMore":false}`,
				"/traces/" + trace["id"].(string): `null`,
				"/tokens":                         `{"groupBy":"model","items":[]}`,
				"/policies/p":                     `{"policyId":"p","policyName":"","calls":0,"allowed":0,"denied":0,"avgDurationMs":0,"p50DurationMs":0,"p95DurationMs":0,"topMatchedRules":[]}`,
			} {
				if answer := other.get(rest); answer.Status != http.StatusOK || string(answer.Body) != want {
					t.Errorf("%s: %d %s, want %s", rest, answer.Status, answer.Body, want)
				}
			}
			if sum := other.summary(7); sum.TotalTraces+sum.TotalSessions+sum.TotalTokens.Input != 0 ||
				len(sum.TopFailingPolicies) > 0 {
				t.Errorf("summary %+v", sum)
			}
		})
		rule("A viewer sees that something happened, not what was said", func(t *testing.T, o *observed) {
			const secret = "what was said"
			session := database.NewID()
			trace := o.trace(m{"sessionId": session, "attributes": m{"input": secret, "output": secret, "x": secret}})
			o.store(batch(trace, o.generation("m", 3, 0, m{"prompt": secret})))
			viewer, member := s.Join(o.owner, o.org, "viewer"), s.Join(o.owner, o.org, "member")
			for _, rest := range []string{"/sessions/" + session, "/traces", "/traces/" + trace["id"].(string)} {
				seen := o.Request(t, "GET", o.path(rest), "", testserver.Credentials(viewer.Client)...)
				if seen.Status != http.StatusOK || strings.Contains(string(seen.Body), secret) ||
					!strings.Contains(string(seen.Body), trace["id"].(string)) {
					t.Errorf("a viewer gets %s: %d %s", rest, seen.Status, seen.Body)
				}
				if seen := o.Request(t, "GET", o.path(rest), "",
					testserver.Credentials(member.Client)...); !strings.Contains(string(seen.Body), secret) {
					t.Errorf("a member does not get %s: %s", rest, seen.Body)
				}
			}
			page, err := viewer.Traces(t.Context(), o.org, client.TraceFilter{})
			if err != nil || len(page.Items) != 1 || page.Items[0].TotalInputTokens != 3 ||
				string(page.Items[0].Attributes) != "{}" || page.Items[0].InputPreview != nil {
				t.Errorf("a viewer's list: %+v, %v", page, err)
			}
		})
	})
}

// TestTraceDetail is GET .../traces/:id (2.2, 2.3, 4.1, 7).
func TestTraceDetail(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("An id that is not stored, well-formed or not, is 200 with null", func(t *testing.T, o *observed) {
			for _, id := range []string{database.NewID(), "x", "null", strings.Repeat("a", 36), "%00", "'--"} {
				if answer := o.get("/traces/" + id); answer.Status != http.StatusOK || string(answer.Body) != "null" {
					t.Errorf("%s: %d %s", id, answer.Status, answer.Body)
				}
			}
		})
		rule("A trace comes back whole, with product, source and its spans in order", func(t *testing.T, o *observed) {
			start := s.Now().Add(-time.Minute).Truncate(time.Microsecond)
			at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339Nano) }
			ids := []string{database.NewID(), database.NewID(), database.NewID(), database.NewID(), database.NewID()}
			detail := o.stored(m{
				"id": ids[0], "sessionId": ids[1], "name": "iap.plan", "startTime": at(0),
				"endTime": at(2 * time.Second), "durationMs": 2000, "status": "denied",
				"userId": strings.ToUpper(ids[2]), "agentId": "codex", "attributes": m{"source": "armorcodex"},
				"tags": []string{"b", "a"},
			},
				m{"id": ids[3], "kind": "generation", "name": "answer", "startTime": at(time.Second),
					"endTime": at(2 * time.Second), "durationMs": 900, "status": "error",
					"sessionId": ids[1], "attributes": m{"model": "m"},
				}, m{"id": ids[4], "parentSpanId": ids[3], "kind": "event", "name": "first", "startTime": at(0)})
			want := &client.TraceDetail{
				Trace: client.Trace{
					ID:         ids[0],
					SessionID:  &ids[1],
					Name:       "iap.plan",
					StartTime:  start,
					EndTime:    pointer(start.Add(2 * time.Second)),
					DurationMs: pointer(int64(2000)),
					Status:     "denied",
					UserID:     &ids[2],
					AgentID:    "codex",
					Attributes: json.RawMessage(`{"source":"armorcodex"}`),
					Tags:       []string{"b", "a"},
				},
				Product: "suite", Source: "armorcodex",
				Spans: []client.Span{
					{
						ID:         ids[3],
						SessionID:  &ids[1],
						Kind:       "generation",
						Name:       "answer",
						StartTime:  start.Add(time.Second),
						EndTime:    pointer(start.Add(2 * time.Second)),
						DurationMs: pointer(int64(900)),
						Status:     "error",
						CostUSD:    pointer(0.0),
						Attributes: json.RawMessage(`{"model":"m"}`),
					},
					{
						ID:           ids[4],
						ParentSpanID: &ids[3],
						Kind:         "event",
						Name:         "first",
						StartTime:    start,
						Status:       "ok",
						Attributes:   json.RawMessage(`{}`),
					},
				},
			}
			if diff := cmp.Diff(want, detail); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		rule("What was not sent is null, empty or the default, never missing", func(t *testing.T, o *observed) {
			trace, span := o.trace(nil), o.span("span", nil)
			o.store(batch(trace, span))
			var got struct {
				m
				Spans []m
			}
			answer := o.get("/traces/" + trace["id"].(string))
			if err := json.Unmarshal(answer.Body, &got.m); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(answer.Body, &got); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"sessionId", "endTime", "durationMs", "userId"} {
				if value, there := got.m[name]; !there || value != nil {
					t.Errorf("%s is %v", name, value)
				}
			}
			if got.m["agentId"] != "" || len(got.m["tags"].([]any)) != 0 || len(got.m["attributes"].(m)) != 0 ||
				got.Spans[0]["status"] != "ok" {
				t.Errorf("%s", answer.Body)
			}
			wantTrace := []string{
				"agentId", "attributes", "durationMs", "endTime", "id", "name", "product", "sessionId", "source",
				"spans", "startTime", "status", "tags", "userId",
			}
			if diff := cmp.Diff(wantTrace, slices.Sorted(maps.Keys(got.m))); diff != "" {
				t.Errorf("members of a trace (-want +got):\n%s", diff)
			}
			wantSpan := []string{
				"attributes", "costUsd", "durationMs", "endTime", "id", "kind", "name", "parentSpanId", "sessionId",
				"startTime", "status",
			}
			if diff := cmp.Diff(wantSpan, slices.Sorted(maps.Keys(got.Spans[0]))); diff != "" {
				t.Errorf("members of a span (-want +got):\n%s", diff)
			}
		})
		rule("source is attributes.source where that is a text, else the product", func(t *testing.T, o *observed) {
			for value, want := range map[any]string{
				"claude-code": "claude-code", 7: "suite", "": "suite", nil: "suite", true: "suite",
			} {
				if got := o.stored(o.trace(m{"attributes": m{"source": value}})).Source; got != want {
					t.Errorf("attributes.source %v: source is %q, want %q", value, got, want)
				}
			}
			if got := o.stored(o.trace(nil)).Source; got != "suite" {
				t.Errorf("without attributes: %q", got)
			}
		})
		rule("An id in capitals finds its trace", func(t *testing.T, o *observed) {
			trace := o.trace(nil)
			o.store(batch(trace))
			o.read(strings.ToUpper(trace["id"].(string)))
		})
	})
}

// TestPreviews is inputPreview and outputPreview of a list (2.2).
func TestPreviews(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		preview := func(o *observed, attributes m) [2]*string {
			o.t.Helper()
			trace := o.trace(m{"attributes": attributes})
			o.store(batch(trace))
			page, err := o.owner.Traces(o.t.Context(), o.org, client.TraceFilter{})
			if err != nil {
				o.t.Fatal(err)
			}
			i := slices.IndexFunc(page.Items, func(x client.Trace) bool { return x.ID == trace["id"] })
			return [2]*string{page.Items[i].InputPreview, page.Items[i].OutputPreview}
		}
		for sentence, c := range map[string]struct {
			value any
			want  *string
		}{
			"A text is shown":        {"hello", pointer("hello")},
			"An empty text is shown": {"", pointer("")},
			"200 characters are shown whole": {
				strings.Repeat("é", 200), pointer(strings.Repeat("é", 200)),
			},
			"Longer ones are cut at 200, between characters": {
				strings.Repeat("😀", 201), pointer(strings.Repeat("😀", 200)),
			},
			"Another value is shown as its JSON":        {m{"a": []int{1, 2}}, pointer(`{"a":[1,2]}`)},
			"null is shown as null":                     {nil, nil},
			"What is absent is null":                    {absent, nil},
			"NUL is shown as the replacement character": {"a\x00b", pointer("a\ufffdb")},
		} {
			rule(sentence, func(t *testing.T, o *observed) {
				if diff := cmp.Diff([2]*string{c.want, c.want}, preview(o, with(m{}, m{
					"input": c.value, "output": c.value,
				}))); diff != "" {
					t.Errorf("input and output (-want +got):\n%s", diff)
				}
			})
		}
	})
}
