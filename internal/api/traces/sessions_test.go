package traces_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/telemetry"
	"writ/internal/testserver"
)

// inSession is a batch of a session that began some time ago.
func (o *observed) inSession(session string, ago time.Duration, changes m, spans ...m) m {
	return batch(o.trace(with(m{"sessionId": session, "startTime": o.Ago(ago)}, changes)), spans...)
}

// ending is an event that ends a session, some time ago.
func (o *observed) ending(ago time.Duration, status string) m {
	return o.span("event", m{"name": "session.end", "startTime": o.Ago(ago), "status": status})
}

// TestSessionDetail is GET .../sessions/:id (2.4, 4.1, 7).
func TestSessionDetail(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("An id that is not stored, well-formed or not, is 200 with null", func(t *testing.T, o *observed) {
			for _, id := range []string{database.NewID(), "x", "%00", "'--", strings.Repeat("a", 36)} {
				if answer := o.get("/sessions/" + id); answer.Status != http.StatusOK || string(answer.Body) != "null" {
					t.Errorf("%s: %d %s", id, answer.Status, answer.Body)
				}
			}
		})
		rule("A session has the figures of its traces, and their list in chronological order", func(
			t *testing.T, o *observed,
		) {
			id, user := database.NewID(), database.NewID()
			full := m{"cacheReadTokens": 3, "cacheWriteTokens": 4, "costUsd": 0.5}
			second := o.inSession(id, 2*time.Minute, m{"userId": user, "agentId": "codex"},
				o.generation("a", 1, 2, full))
			first := o.inSession(id, 5*time.Minute, m{"status": "error"}, o.generation("b", 10, 20, full),
				o.span("span", m{"status": "error"}))
			third := o.inSession(id, time.Minute, m{"agentId": "claude"})
			o.store(second, first, third)
			got := o.session(strings.ToUpper(id))
			var order []string
			for _, trace := range got.Traces {
				order = append(order, trace.ID)
			}
			want := []string{}
			for _, b := range []m{first, second, third} {
				want = append(want, b["trace"].(m)["id"].(string))
			}
			if !slices.Equal(order, want) {
				t.Errorf("traces %v, want %v", order, want)
			}
			if trace := got.Traces[0]; trace.TotalInputTokens != 10 || trace.TotalOutputTokens != 20 ||
				trace.TotalCostUSD != 0.5 || trace.SpanCount != 2 || trace.ErrorCount != 1 {
				t.Errorf("its first trace: %+v", trace)
			}
			started, active := first["trace"].(m)["startTime"].(string), third["trace"].(m)["startTime"].(string)
			if stamp(got.StartedAt) != cutToMicros(started) || stamp(got.LastActivityAt) != cutToMicros(active) {
				t.Errorf("from %s to %s, want %s to %s", stamp(got.StartedAt), stamp(got.LastActivityAt), started,
					active)
			}
			got.Traces, got.StartedAt, got.LastActivityAt = nil, time.Time{}, time.Time{}
			wantSession := &client.TelemetrySession{
				ID:                    id,
				OrgID:                 o.org,
				UserID:                &user,
				AgentID:               "codex",
				Product:               "suite",
				TraceCount:            3,
				TotalInputTokens:      11,
				TotalOutputTokens:     22,
				TotalCacheReadTokens:  6,
				TotalCacheWriteTokens: 8,
				TotalCostUSD:          1,
				Status:                "active",
			}
			if diff := cmp.Diff(wantSession, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		rule("It has the members of the specification and no other", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Minute, nil))
			var got m
			if err := json.Unmarshal(o.get("/sessions/"+id).Body, &got); err != nil {
				t.Fatal(err)
			}
			want := []string{"agentId", "id", "lastActivityAt", "orgId", "product", "startedAt", "status",
				"totalCacheReadTokens", "totalCacheWriteTokens",
				"totalCostUsd", "totalInputTokens", "totalOutputTokens", "traceCount", "traces", "userId"}
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("members of the detail (-want +got):\n%s", diff)
			}
			listed := o.page("/sessions").Items[0]
			want = slices.DeleteFunc(want, func(name string) bool { return name == "traces" })
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(listed))); diff != "" {
				t.Errorf("members in the list (-want +got):\n%s", diff)
			}
			wantTrace := []string{"agentId", "attributes", "durationMs", "endTime", "errorCount", "id", "inputPreview",
				"name", "outputPreview", "sessionId", "spanCount",
				"startTime", "status", "tags", "totalCostUsd", "totalInputTokens", "totalOutputTokens", "userId"}
			for where, trace := range map[string]m{
				"the detail": got["traces"].([]any)[0].(m), "the trace list": o.page("/traces").Items[0],
			} {
				if diff := cmp.Diff(wantTrace, slices.Sorted(maps.Keys(trace))); diff != "" {
					t.Errorf("members of a trace in %s (-want +got):\n%s", where, diff)
				}
			}
		})
		rule("lastActivityAt is the latest end, and never after receipt", func(t *testing.T, o *observed) {
			id := database.NewID()
			end := s.Now().Add(-30 * time.Second).Truncate(time.Second)
			o.store(o.inSession(id, 3*time.Minute, m{"endTime": stamp(end)}), o.inSession(id, 2*time.Minute, nil))
			if got := o.session(id).LastActivityAt; !got.Equal(end) {
				t.Errorf("%s, want the end %s", got, end)
			}
			before := s.Now()
			o.store(o.inSession(id, time.Minute, m{"endTime": "9999-12-31T00:00:00Z"}),
				o.inSession(id, 0, m{"startTime": "9999-12-31T00:00:00Z"}))
			if got := o.session(id).LastActivityAt; got.Before(before.Add(-time.Second)) || got.After(s.Now()) {
				t.Errorf("%s, want now", got)
			}
		})
	})
}

// cutToMicros is a time of RFC 3339 to the microsecond, which is what is stored.
func cutToMicros(text string) string {
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return err.Error()
	}
	return stamp(instant.Truncate(time.Microsecond))
}

// TestSessionDetailIsCapped loads a session directly and in bulk. It runs on
// SQLite alone, because of the time it takes; the query is the same on both.
func TestSessionDetailIsCapped(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	o := observe(t, s, s.Person("owner"))
	const all = telemetry.MaxSessionTraces + 1
	session, begin := database.NewID(), s.Now().Add(-24*time.Hour).Truncate(time.Second)
	for from := 0; from < all; from += 500 {
		var batches []any
		for i := from; i < min(from+500, all); i++ {
			batches = append(batches,
				batch(m{
					"id":        database.NewID(),
					"sessionId": session,
					"name":      fmt.Sprint(i),
					"startTime": stamp(begin.Add(time.Duration(i) * time.Second)),
					"status":    "ok",
				}))
		}
		result, err := s.Telemetry.Ingest(t.Context(), o.org, "bulk", telemetry.Request{
			Product: "bulk", Batches: rawBatches(t, batches),
		})
		if err != nil || result.Accepted != len(batches) {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	got := o.session(session)
	if got.TraceCount != all || len(got.Traces) != telemetry.MaxSessionTraces {
		t.Fatalf("%d traces of %d are shown, want all but one", len(got.Traces), got.TraceCount)
	}
	for i, trace := range got.Traces {
		if trace.Name != fmt.Sprint(i+1) { // the oldest, 0, is left out
			t.Fatalf("trace %d is %s", i, trace.Name)
		}
	}
}

// TestSessionFilters is each filter of the session list, alone and with others (4.1).
func TestSessionFilters(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		alice, bob := database.NewID(), database.NewID()
		for sentence, c := range map[string]struct {
			filter client.SessionFilter
			want   string // agents, latest activity first
		}{
			"Without a filter all are listed":                {client.SessionFilter{}, "E D C B A"},
			"status active":                                  {client.SessionFilter{Status: "active"}, "E B"},
			"status completed":                               {client.SessionFilter{Status: "completed"}, "C"},
			"status expired":                                 {client.SessionFilter{Status: "expired"}, "A"},
			"status error":                                   {client.SessionFilter{Status: "error"}, "D"},
			"userId matches exactly":                         {client.SessionFilter{UserID: alice}, "C A"},
			"A user in capitals is the same user":            {client.SessionFilter{UserID: strings.ToUpper(bob)}, "D"},
			"A user without sessions has none":               {client.SessionFilter{UserID: database.NewID()}, ""},
			"agentId matches exactly":                        {client.SessionFilter{AgentID: "B"}, "B"},
			"agentId is no pattern, and its case counts":     {client.SessionFilter{AgentID: "b"}, ""},
			"An agentId that no database takes matches none": {client.SessionFilter{AgentID: "\x00"}, ""},
			"Filters together select what meets all": {
				client.SessionFilter{UserID: alice, Status: "completed", AgentID: "C"}, "C",
			},
			"Filters that exclude each other select none": {
				client.SessionFilter{UserID: alice, Status: "error"}, "",
			},
			"A filter and a limit": {
				client.SessionFilter{Status: "active", List: client.List{Limit: 1}}, "E",
			},
		} {
			rule(sentence, func(t *testing.T, o *observed) {
				o.store(
					o.inSession(database.NewID(), 40*time.Minute, m{"agentId": "A", "userId": alice}),
					o.inSession(database.NewID(), 20*time.Minute, m{"agentId": "B"}),
					o.inSession(database.NewID(), 15*time.Minute, m{"agentId": "C", "userId": alice},
						o.ending(15*time.Minute, "ok")),
					o.inSession(database.NewID(), 10*time.Minute, m{"agentId": "D", "userId": bob},
						o.ending(10*time.Minute, "error")),
					o.inSession(database.NewID(), 5*time.Minute, m{"agentId": "E"}),
				)
				page, err := o.owner.TelemetrySessions(t.Context(), o.org, c.filter)
				if err != nil {
					t.Fatal(err)
				}
				var agents []string
				for _, session := range page.Items {
					agents = append(agents, session.AgentID)
				}
				if got := strings.Join(agents, " "); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		}
	})
}
