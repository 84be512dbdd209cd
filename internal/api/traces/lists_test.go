package traces_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// listPage is a page of either list as it comes.
type listPage struct {
	Items      []m
	NextCursor *string
	HasMore    *bool
}

// page reads a page; rest is the list and its query.
func (o *observed) page(rest string) listPage {
	o.t.Helper()
	answer := o.get(rest)
	var page listPage
	if err := json.Unmarshal(answer.Body, &page); err != nil || answer.Status != http.StatusOK ||
		page.HasMore == nil || page.Items == nil {
		o.t.Fatalf("%s: %d %v: %s", rest, answer.Status, err, answer.Body)
	}
	if (page.NextCursor != nil) != *page.HasMore || strings.Contains(string(answer.Body), `"nextCursor":null`) {
		o.t.Errorf("%s: hasMore %t and nextCursor do not agree: %s", rest, *page.HasMore, answer.Body)
	}
	return page
}

func (p listPage) ids() []string {
	ids := []string{}
	for _, item := range p.Items {
		ids = append(ids, item["id"].(string))
	}
	return ids
}

// walk reads a list to its end, sending each cursor back unchanged.
func (o *observed) walk(list string, limit int) (ids []string, pages int) {
	o.t.Helper()
	cursor := ""
	for pages = 1; pages < 1000; pages++ {
		page := o.page(fmt.Sprintf("/%s?limit=%d&cursor=%s", list, limit, url.QueryEscape(cursor)))
		ids = append(ids, page.ids()...)
		if !*page.HasMore {
			return ids, pages
		}
		if len(page.Items) != limit {
			o.t.Errorf("a page in between has %d items, want %d", len(page.Items), limit)
		}
		cursor = *page.NextCursor
	}
	o.t.Fatal("the list has no end")
	return nil, 0
}

// at stores something that either list shows at an instant, and gives its id there.
func (o *observed) at(list string, instant time.Time) string {
	o.t.Helper()
	session, trace := database.NewID(), o.trace(m{"startTime": instant.Format(time.RFC3339Nano)})
	o.store(batch(with(trace, m{"sessionId": session})))
	if list == "sessions" {
		return session
	}
	return trace["id"].(string)
}

// TestLists is what sessions and traces have in common (2.5, 4.1, 7, 8).
func TestLists(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, common func(string, func(*testing.T, *observed))) {
		rule := func(sentence string, test func(t *testing.T, o *observed, list string)) {
			for _, list := range []string{"sessions", "traces"} {
				common(list+": "+sentence, func(t *testing.T, o *observed) { test(t, o, list) })
			}
		}
		rule("An empty list is one empty page without nextCursor", func(t *testing.T, o *observed, list string) {
			if answer := o.get("/" + list); string(answer.Body) != `{"items":[],"hasMore":false}` {
				t.Errorf("%s", answer.Body)
			}
		})
		rule("days is 7 unless given", func(t *testing.T, o *observed, list string) {
			inside, outside := o.at(list, s.Now().Add(-7*24*time.Hour+time.Minute)),
				o.at(list, s.Now().Add(-7*24*time.Hour-time.Minute))
			if got := o.page("/" + list).ids(); !slices.Equal(got, []string{inside}) {
				t.Errorf("%v, want %s alone, not %s", got, inside, outside)
			}
			if got := o.page("/" + list + "?days=8").ids(); !slices.Equal(got, []string{inside, outside}) {
				t.Errorf("of 8 days: %v", got)
			}
			if got := o.page("/" + list + "?days=1").ids(); len(got) != 0 {
				t.Errorf("of one day: %v", got)
			}
		})
		rule("days is from 1 to 90", func(t *testing.T, o *observed, list string) {
			for _, days := range []string{"0", "-1", "91", "7.5", "week", "1e1", "99999999999999999999"} {
				o.refuse("/"+list+"?days="+days, "days")
			}
			old := o.at(list, s.Now().Add(-29*24*time.Hour))
			o.at(list, s.Now().Add(-89*24*time.Hour)) // before the 30 days that are kept
			for _, days := range []int{30, 60, 90} {
				if got := o.page(fmt.Sprintf("/%s?days=%d", list, days)).ids(); !slices.Equal(got, []string{old}) {
					t.Errorf("of %d days: %v", days, got)
				}
				if sum := o.summary(days); sum.TotalTraces != 1 || sum.TotalSessions != 1 {
					t.Errorf("the summary of %d days counts %d traces and %d sessions", days, sum.TotalTraces,
						sum.TotalSessions)
				}
			}
		})
		rule("limit is 50 unless given, and from 1 to 200", func(t *testing.T, o *observed, list string) {
			for _, limit := range []string{"0", "-1", "201", "many"} {
				o.refuse("/"+list+"?limit="+limit, "limit")
			}
			var batches []any
			for range 201 {
				batches = append(batches, batch(o.trace(m{"sessionId": database.NewID()})))
			}
			o.store(batches...)
			for query, want := range map[string]int{"": 50, "?limit=1": 1, "?limit=200": 200} {
				if page := o.page("/" + list + query); len(page.Items) != want || !*page.HasMore {
					t.Errorf("%q: %d items, more %t, want %d", query, len(page.Items), *page.HasMore, want)
				}
			}
		})
		rule("The order is by time, then id, newest first, and pages give each once", func(
			t *testing.T, o *observed, list string,
		) {
			now := s.Now().Truncate(time.Second)
			type row struct {
				at int
				id string
			}
			var rows []row
			for i := range 23 { // some at the same instant, sent in no order
				at := (i * 7 % 23) / 3
				rows = append(rows, row{at, o.at(list, now.Add(time.Duration(at-60)*time.Second))})
			}
			slices.SortFunc(rows, func(a, b row) int {
				return strings.Compare(fmt.Sprintf("%03d%s", b.at, b.id), fmt.Sprintf("%03d%s", a.at, a.id))
			})
			var want []string
			for _, r := range rows {
				want = append(want, r.id)
			}
			for _, limit := range []int{1, 2, 5, 22, 23, 24} {
				got, pages := o.walk(list, limit)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("in pages of %d (-want +got):\n%s", limit, diff)
				}
				if pages != (23+limit-1)/limit {
					t.Errorf("%d pages of %d", pages, limit)
				}
			}
		})
		rule("What comes while a reader turns pages moves nothing he has not seen", func(
			t *testing.T, o *observed, list string,
		) {
			third, second, first := o.at(list, s.Now().Add(-3*time.Minute)), o.at(list, s.Now().Add(-2*time.Minute)),
				o.at(list, s.Now().Add(-time.Minute))
			page := o.page("/" + list + "?limit=1")
			o.at(list, s.Now().Add(-time.Second))
			rest := o.page("/" + list + "?cursor=" + *page.NextCursor)
			if got := append(page.ids(), rest.ids()...); !slices.Equal(got, []string{first, second, third}) {
				t.Errorf("%v, want %v", got, []string{first, second, third})
			}
		})
		rule("A malformed cursor is 400 with the message Invalid cursor", func(t *testing.T, o *observed, list string) {
			for range 2 {
				o.at(list, s.Now().Add(-time.Minute))
			}
			good := *o.page("/" + list + "?limit=1").NextCursor
			other := map[string]string{"sessions": "traces", "traces": "sessions"}[list]
			elsewhere := observe(t, s, o.owner)
			for range 2 {
				elsewhere.at(list, s.Now().Add(-time.Minute))
			}
			for name, cursor := range map[string]string{
				"no cursor at all": "x", "null": "null", "cut": good[:20], "longer": good + "AAAA",
				"padded": good + "=", "blank": " ", "NUL": "\x00",
				"in capitals": strings.ToUpper(good), "changed": "B" + good[1:], "long": strings.Repeat("A", 5000),
				"bytes":                   "\xff\xfe",
				"of the other list":       *o.page("/" + other + "?limit=1").NextCursor,
				"of another organization": *elsewhere.page("/" + list + "?limit=1").NextCursor,
			} {
				answer := o.get("/" + list + "?cursor=" + url.QueryEscape(cursor))
				answer.ErrorFields(t, http.StatusBadRequest)
				if !strings.Contains(string(answer.Body), `"message":"Invalid cursor"`) {
					t.Errorf("a cursor that is %s: %s", name, answer.Body)
				}
			}
			if got := o.page("/" + list + "?limit=1&cursor=" + good).ids(); len(got) != 1 {
				t.Errorf("the good one: %v", got)
			}
		})
		rule("Filters that are no value of theirs are 400", func(t *testing.T, o *observed, list string) {
			refused := map[string][]string{"status": {"fine", "OK"}, "userId": {"alice", "1"}}
			if list == "traces" {
				maps.Copy(refused, map[string][]string{
					"sessionId": {"mine"}, "minDurationMs": {"-1", "long", "1.5"},
					"minCostUsd": {"-1", "much", "NaN", "Inf", "1e300"}, "hasError": {"yes", "TRUE", "1"},
				})
			}
			for name, values := range refused {
				for _, value := range values {
					o.refuse("/"+list+"?"+name+"="+value, name)
				}
			}
		})
	})
}

// TestTraceFilters is each filter of the trace list, alone and with others (4.1).
func TestTraceFilters(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		alice, bob, session := database.NewID(), database.NewID(), database.NewID()
		traces := []m{ // the newest last, under the names A to G
			{"name": "A", "status": "ok", "userId": alice, "agentId": "codex", "durationMs": 0, "sessionId": session},
			{"name": "B", "status": "error", "userId": alice, "agentId": "codex", "durationMs": 1},
			{"name": "C", "status": "denied", "userId": bob, "agentId": "claude", "durationMs": 999},
			{"name": "D", "status": "ok", "userId": bob, "agentId": "", "durationMs": 1000, "sessionId": session},
			{"name": "E", "status": "error", "durationMs": 1001, "agentId": "Codex", "sessionId": session},
			{"name": "F", "status": "ok", "durationMs": nil},
			{"name": "f", "status": "ok", "durationMs": 1_000_000_000_000},
		}
		ms := func(n int64) *int64 { return &n }
		for sentence, c := range map[string]struct {
			filter client.TraceFilter
			want   string // names, newest first
		}{
			"Without a filter all are listed": {client.TraceFilter{}, "f F E D C B A"},
			"sessionId matches exactly":       {client.TraceFilter{SessionID: session}, "E D A"},
			"A session in capitals is the same session": {
				client.TraceFilter{SessionID: strings.ToUpper(session)}, "E D A",
			},
			"A session without traces has none":   {client.TraceFilter{SessionID: database.NewID()}, ""},
			"name matches exactly, case included": {client.TraceFilter{Name: "F"}, "F"},
			"name is no pattern":                  {client.TraceFilter{Name: "%"}, ""},
			"status ok":                           {client.TraceFilter{Status: "ok"}, "f F D A"},
			"status error":                        {client.TraceFilter{Status: "error"}, "E B"},
			"status denied":                       {client.TraceFilter{Status: "denied"}, "C"},
			"userId matches exactly":              {client.TraceFilter{UserID: alice}, "B A"},
			"A user in capitals is the same user": {
				client.TraceFilter{UserID: strings.ToUpper(bob)}, "D C",
			},
			"agentId matches exactly, case included":         {client.TraceFilter{AgentID: "codex"}, "B A"},
			"An agentId that no database takes matches none": {client.TraceFilter{AgentID: "\x00"}, ""},
			"A name that no database takes matches none":     {client.TraceFilter{Name: "\xff"}, ""},
			"minDurationMs 0 selects what has a duration": {
				client.TraceFilter{MinDurationMs: ms(0)}, "f E D C B A",
			},
			"minDurationMs is inclusive":                 {client.TraceFilter{MinDurationMs: ms(1000)}, "f E D"},
			"minDurationMs 1":                            {client.TraceFilter{MinDurationMs: ms(1)}, "f E D C B"},
			"minDurationMs between two of the same size": {client.TraceFilter{MinDurationMs: ms(1001)}, "f E"},
			"minDurationMs of the longest": {
				client.TraceFilter{MinDurationMs: ms(1_000_000_000_000)}, "f",
			},
			"minDurationMs beyond any duration selects none": {
				client.TraceFilter{MinDurationMs: ms(1_000_000_000_001)}, "",
			},
			"minDurationMs may be as large as a number can be": {client.TraceFilter{MinDurationMs: ms(1<<63 - 1)}, ""},
			"hasError true selects what is not ok":             {client.TraceFilter{HasError: pointer(true)}, "E C B"},
			"hasError false selects what is ok": {
				client.TraceFilter{HasError: pointer(false)}, "f F D A",
			},
			"hasError true overrides a status": {
				client.TraceFilter{HasError: pointer(true), Status: "ok"}, "E C B",
			},
			"hasError false overrides a status": {
				client.TraceFilter{HasError: pointer(false), Status: "denied"}, "f F D A",
			},
			"Filters together select what meets all": {
				client.TraceFilter{SessionID: session, HasError: pointer(false), MinDurationMs: ms(1)}, "D",
			},
			"User, agent, status and name together": {
				client.TraceFilter{UserID: alice, AgentID: "codex", Status: "error", Name: "B"}, "B",
			},
			"Filters that exclude each other select none": {
				client.TraceFilter{UserID: alice, Status: "denied"}, "",
			},
			"A filter and a limit": {
				client.TraceFilter{MinDurationMs: ms(0), List: client.List{Limit: 2}}, "f E",
			},
			"days and a filter": {
				client.TraceFilter{Days: 1, HasError: pointer(true)}, "E C B",
			},
		} {
			rule(sentence, func(t *testing.T, o *observed) {
				var batches []any
				for i, trace := range traces {
					batches = append(batches,
						batch(o.trace(with(trace, m{"startTime": o.Ago(time.Duration(20-i) * time.Minute)}))))
				}
				o.store(batches...)
				page, err := o.owner.Traces(t.Context(), o.org, c.filter)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, trace := range page.Items {
					names = append(names, trace.Name)
				}
				if got := strings.Join(names, " "); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		}
		rule("Pages of a filtered list leave nothing out", func(t *testing.T, o *observed) {
			want := 0
			for i := range 30 {
				o.store(batch(o.trace(m{
					"durationMs": 1 << (i % 12), "startTime": o.Ago(time.Duration(i%9) * time.Minute),
				})))
				if 1<<(i%12) >= 64 {
					want++
				}
			}
			seen, f := map[string]bool{}, client.TraceFilter{MinDurationMs: ms(64), List: client.List{Limit: 4}}
			for {
				page, err := o.owner.Traces(t.Context(), o.org, f)
				if err != nil {
					t.Fatal(err)
				}
				for _, trace := range page.Items {
					if seen[trace.ID] || *trace.DurationMs < 64 {
						t.Errorf("%s of %d ms is listed again or should not be", trace.ID, *trace.DurationMs)
					}
					seen[trace.ID] = true
				}
				if f.Cursor = page.NextCursor; !page.HasMore {
					break
				}
			}
			if len(seen) != want {
				t.Errorf("%d traces in all, want %d", len(seen), want)
			}
		})
	})
}
