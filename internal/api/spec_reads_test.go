package api_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
)

// telemetryRoleCases are the reads: every role may, though a viewer sees less.
func telemetryRoleCases() []roleCase {
	read := func(path, what string, call func(ctx context.Context, org string, p *person) error) roleCase {
		return roleCase{"GET /organization/{orgId}/observability" + path, what, anyRole, 0,
			func(ctx context.Context, _ *server, org string, p *person) error { return call(ctx, org, p) }}
	}
	return []roleCase{
		read("/sessions", "list", func(ctx context.Context, org string, p *person) error {
			_, err := p.TelemetrySessions(ctx, org, client.SessionFilter{})
			return err
		}),
		read("/sessions/{id}", "read", func(ctx context.Context, org string, p *person) error {
			_, err := p.TelemetrySession(ctx, org, database.NewID())
			return err
		}),
		read("/traces", "list", func(ctx context.Context, org string, p *person) error {
			_, err := p.Traces(ctx, org, client.TraceFilter{})
			return err
		}),
		read("/traces/{id}", "read", func(ctx context.Context, org string, p *person) error {
			_, err := p.Trace(ctx, org, database.NewID())
			return err
		}),
		read("/policies/{policyId}", "read", func(ctx context.Context, org string, p *person) error {
			_, err := p.PolicyStats(ctx, org, "p", 0)
			return err
		}),
		read("/analytics/summary", "read", func(ctx context.Context, org string, p *person) error {
			_, err := p.Summary(ctx, org, 0)
			return err
		}),
		read("/tokens", "read", func(ctx context.Context, org string, p *person) error {
			_, err := p.Client.Tokens(ctx, org, "", 0)
			return err
		}),
		read("/sessions/export", "export", func(ctx context.Context, org string, p *person) error {
			return closed(p.ExportSessions(ctx, org, "", client.SessionFilter{}))
		}),
		read("/traces/export", "export", func(ctx context.Context, org string, p *person) error {
			return closed(p.ExportTraces(ctx, org, client.TraceExport{}))
		}),
		read("/sessions/{id}/export", "export one", func(ctx context.Context, org string, p *person) error {
			return letIn(closed(p.ExportSession(ctx, org, database.NewID())))
		}),
		read("/traces/{id}/export", "export one", func(ctx context.Context, org string, p *person) error {
			return letIn(closed(p.ExportTrace(ctx, org, database.NewID())))
		}),
	}
}

// closed reads an export to its end.
func closed(body io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}

// letIn takes it for a yes that there is nothing: who may not read learns less.
func letIn(err error) error {
	if client.StatusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

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
	rules(t, func(s *server, rule func(string, func(*testing.T, *observed))) {
		stranger := s.person("stranger")
		rule("Without credentials it is 401", func(t *testing.T, o *observed) {
			for _, rest := range telemetryReads() {
				o.wire(t, "GET", o.path(rest), "").errorFields(t, http.StatusUnauthorized)
			}
		})
		rule("An API key reads nothing, its own organization included", func(t *testing.T, o *observed) {
			for _, rest := range telemetryReads() {
				o.wire(t, "GET", o.path(rest), "", credentials(o.agent)...).errorFields(t, http.StatusUnauthorized)
			}
		})
		rule("Who is no member is 403", func(t *testing.T, o *observed) {
			for _, rest := range telemetryReads() {
				o.wire(t, "GET", o.path(rest), "", credentials(stranger.Client)...).errorFields(t, http.StatusForbidden)
			}
		})
		rule("A malformed organization is 403", func(t *testing.T, o *observed) {
			for _, rest := range telemetryReads() {
				o.wire(t, "GET", "/organization/mine/observability"+rest, "",
					credentials(o.owner.Client)...).errorFields(t, http.StatusForbidden)
			}
		})
		rule("A member reads another organization's telemetry as if there were none", func(t *testing.T, o *observed) {
			session := database.NewID()
			trace := o.trace(m{"sessionId": session})
			o.store(batch(trace, o.generation("m", 1, 1, nil), o.policyCall("p", "deny", nil)))
			other := s.observed(t, o.owner) // a member of both
			for rest, want := range map[string]string{
				"/sessions":                       `{"items":[],"hasMore":false}`,
				"/sessions/" + session:            `null`,
				"/traces":                         `{"items":[],"hasMore":false}`,
				"/traces/" + trace["id"].(string): `null`,
				"/tokens":                         `{"groupBy":"model","items":[]}`,
				"/policies/p":                     `{"policyId":"p","policyName":"","calls":0,"allowed":0,"denied":0,"avgDurationMs":0,"p50DurationMs":0,"p95DurationMs":0,"topMatchedRules":[]}`,
			} {
				if answer := other.get(rest); answer.status != http.StatusOK || string(answer.body) != want {
					t.Errorf("%s: %d %s, want %s", rest, answer.status, answer.body, want)
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
			viewer, member := s.join(o.owner, o.org, "viewer"), s.join(o.owner, o.org, "member")
			for _, rest := range []string{"/sessions/" + session, "/traces", "/traces/" + trace["id"].(string)} {
				seen := o.wire(t, "GET", o.path(rest), "", credentials(viewer.Client)...)
				if seen.status != http.StatusOK || strings.Contains(string(seen.body), secret) ||
					!strings.Contains(string(seen.body), trace["id"].(string)) {
					t.Errorf("a viewer gets %s: %d %s", rest, seen.status, seen.body)
				}
				if seen := o.wire(t, "GET", o.path(rest), "",
					credentials(member.Client)...); !strings.Contains(string(seen.body), secret) {
					t.Errorf("a member does not get %s: %s", rest, seen.body)
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
	rules(t, func(s *server, rule func(string, func(*testing.T, *observed))) {
		rule("An id that is not stored, well-formed or not, is 200 with null", func(t *testing.T, o *observed) {
			for _, id := range []string{database.NewID(), "x", "null", strings.Repeat("a", 36), "%00", "'--"} {
				if answer := o.get("/traces/" + id); answer.status != http.StatusOK || string(answer.body) != "null" {
					t.Errorf("%s: %d %s", id, answer.status, answer.body)
				}
			}
		})
		rule("A trace comes back whole, with product, source and its spans in order", func(t *testing.T, o *observed) {
			start := s.now().Add(-time.Minute).Truncate(time.Microsecond)
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
			if err := json.Unmarshal(answer.body, &got.m); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(answer.body, &got); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"sessionId", "endTime", "durationMs", "userId"} {
				if value, there := got.m[name]; !there || value != nil {
					t.Errorf("%s is %v", name, value)
				}
			}
			if got.m["agentId"] != "" || len(got.m["tags"].([]any)) != 0 || len(got.m["attributes"].(m)) != 0 ||
				got.Spans[0]["status"] != "ok" {
				t.Errorf("%s", answer.body)
			}
			wantTrace := []string{
				"agentId", "attributes", "durationMs", "endTime", "id", "name", "product", "sessionId", "source",
				"spans", "startTime", "status", "tags", "userId",
			}
			if diff := cmp.Diff(wantTrace, slices.Sorted(maps.Keys(got.m))); diff != "" {
				t.Errorf("members of a trace (-want +got):\n%s", diff)
			}
			wantSpan := []string{
				"attributes", "durationMs", "endTime", "id", "kind", "name", "parentSpanId", "sessionId", "startTime",
				"status",
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
	rules(t, func(s *server, rule func(string, func(*testing.T, *observed))) {
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
