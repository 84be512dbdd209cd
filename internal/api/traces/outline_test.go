package traces_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/projection"
	"writ/internal/testserver"
	"writ/internal/verdict"
)

// outlined is a trace as an outline, and one span.
type outlined struct {
	ID         string
	Attributes m
	Totals     *struct{ SpanCount, ErrorCount, TotalInputTokens int64 }
	Spans      []outlinedSpan
}

type outlinedSpan struct {
	ID         string
	Kind       string
	Attributes m
	Facts      *struct {
		ToolName, Model, Decision, PolicyID, RuleID string
		InputTokens                                 int64
		AuditIndex                                  *int64
		Shadow                                      bool
	}
}

func getAs[T any](o *observed, t *testing.T, who *testserver.Person, rest string) (got T) {
	t.Helper()
	answer := o.Request(t, "GET", o.path(rest), "", testserver.Credentials(who.Client)...)
	if answer.Status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", rest, answer.Status, answer.Body)
	}
	if err := json.Unmarshal(answer.Body, &got); err != nil {
		t.Fatalf("GET %s: %v: %.200s", rest, err, answer.Body)
	}
	return got
}

// TestTraceOutline is GET .../traces/:id?fields=, and one span of a trace.
func TestTraceOutline(t *testing.T) {
	t.Parallel()
	const secret = "what was said"
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("An outline has all but what was said; one span and the head have that", func(t *testing.T, o *observed) {
			trace := o.trace(m{"attributes": m{"input": secret}})
			call := o.span("span", m{"status": "error", "attributes": m{"toolName": "search", "text": secret}})
			o.store(batch(trace, o.generation("m", 3, 1, m{"prompt": secret}), call))
			id := trace["id"].(string)
			if text := string(o.get("/traces/" + id + "?fields=outline").Body); strings.Contains(text, `:{"text"`) ||
				strings.Contains(text, `"prompt"`) {
				t.Errorf("an outline has attributes: %s", text)
			}
			got := getAs[outlined](o, t, o.owner, "/traces/"+id+"?fields=outline")
			if len(got.Spans) != 2 || len(got.Attributes) != 0 || got.Totals == nil || got.Totals.SpanCount != 2 ||
				got.Totals.ErrorCount != 1 || got.Totals.TotalInputTokens != 3 {
				t.Errorf("outline %+v", got)
			}
			if facts := got.Spans[0].Facts; facts.Model != "m" || facts.InputTokens != 3 {
				t.Errorf("facts of the generation %+v", facts)
			}
			if facts := got.Spans[1].Facts; facts.ToolName != "search" || len(got.Spans[1].Attributes) != 0 {
				t.Errorf("facts of the call %+v", facts)
			}
			head := getAs[outlined](o, t, o.owner, "/traces/"+id+"?fields=head")
			if len(head.Spans) != 0 || head.Attributes["input"] != secret || head.Totals == nil {
				t.Errorf("head %+v", head)
			}
			span := getAs[outlinedSpan](o, t, o.owner, "/traces/"+id+"/spans/"+strings.ToUpper(call["id"].(string)))
			if span.Attributes["text"] != secret || span.Facts.ToolName != "search" {
				t.Errorf("span %+v", span)
			}
			viewer := s.Join(o.owner, o.org, "viewer")
			for _, rest := range []string{"?fields=outline", "?fields=head", "/spans/" + call["id"].(string)} {
				seen := o.Request(t, "GET", o.path("/traces/"+id+rest), "", testserver.Credentials(viewer.Client)...)
				if seen.Status != http.StatusOK || strings.Contains(string(seen.Body), secret) {
					t.Errorf("a viewer gets %s: %d %s", rest, seen.Status, seen.Body)
				}
			}
		})
		rule("What is not there, or another organization's, is 200 with null", func(t *testing.T, o *observed) {
			trace, span := o.trace(nil), o.span("span", nil)
			o.store(batch(trace, span))
			id, spanID := trace["id"].(string), span["id"].(string)
			other := observe(t, s, o.owner)
			for _, got := range []testserver.Answer{
				o.get("/traces/x?fields=outline"), o.get("/traces/" + database.NewID() + "?fields=head"),
				o.get("/traces/" + id + "/spans/x"), o.get("/traces/" + id + "/spans/" + database.NewID()),
				o.get("/traces/x/spans/" + spanID), other.get("/traces/" + id + "?fields=outline"),
				other.get("/traces/" + id + "?fields=head"), other.get("/traces/" + id + "/spans/" + spanID),
			} {
				if got.Status != http.StatusOK || string(got.Body) != "null" {
					t.Errorf("%d %s", got.Status, got.Body)
				}
			}
			o.refuse("/traces/"+id+"?fields=all", "fields")
		})
		rule("10,000 spans with payloads are outlined in order", func(t *testing.T, o *observed) {
			o.growTo(t, 10_000)
			answer := o.get("/traces/" + uuidTrace + "?fields=outline")
			if size := len(answer.Body); size > 10_000*600 {
				t.Errorf("the outline has %d bytes", size)
			}
			got := getAs[outlined](o, t, o.owner, "/traces/"+uuidTrace+"?fields=outline")
			if len(got.Spans) != 10_000 || got.Totals.SpanCount != 10_000 {
				t.Fatalf("%d spans of %+v", len(got.Spans), got.Totals)
			}
			last := getAs[outlinedSpan](o, t, o.owner, "/traces/"+uuidTrace+"/spans/"+got.Spans[9_999].ID)
			if text, _ := last.Attributes["text"].(string); len(text) != 1000 {
				t.Errorf("the last span has %+v", last.Attributes)
			}
		})
	})
}

// growTo makes a trace of many spans, each with a payload.
func (o *observed) growTo(t *testing.T, spans int) {
	t.Helper()
	payload := fmt.Sprintf(`,"attributes":[{"key":"text","value":{"stringValue":%q}}]`, strings.Repeat("x", 1000))
	for from := 0; from < spans; from += 2500 {
		var sent []string
		for i := range min(2500, spans-from) {
			sent = append(sent, o.otlpSpan(hexTrace, fmt.Sprintf("%016x", from+i+1), payload))
		}
		body := `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(sent, ",") + `]}]}]}`
		if answer := o.exportJSON(t, body, "Content-Type", "application/json"); answer.Status != http.StatusOK {
			t.Fatalf("export: %d %s", answer.Status, answer.Body)
		}
	}
}

type decisionPage struct {
	Items []struct {
		Index                  int64
		Decision, Tool, Reason string
	}
	NextCursor string
	HasMore    bool
}

func (p decisionPage) indexes() []int64 {
	found := []int64{}
	for _, d := range p.Items {
		found = append(found, d.Index)
	}
	return found
}

// project shows what was decided as spans.
func (o *observed) project(t *testing.T) {
	t.Helper()
	if err := projection.New(o.Database, o.Telemetry, decision.NewRecent()).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// decided is the index of a new decision.
func (o *observed) decided(t *testing.T, changes ...func(*decision.Record)) int64 {
	t.Helper()
	made := o.decides(changes...)
	records, err := decision.Read(t.Context(), o.Database, o.org, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.ID == made.ID {
			return r.Index
		}
	}
	t.Fatal("the decision is not in the log")
	return 0
}

// TestTraceDecisions is GET .../traces/:id/decisions.
func TestTraceDecisions(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("A trace that Writ made names the entry of each decision", func(t *testing.T, o *observed) {
			var want []int64
			for range 5 {
				want = append(want, o.decided(t, func(d *decision.Record) { d.PlanID = "p" }))
			}
			o.project(t)
			trace := o.owned(t)
			var got []int64
			for _, span := range getAs[outlined](o, t, o.owner, "/traces/"+trace+"?fields=outline").Spans {
				if span.Facts.Decision != "deny" || span.Facts.RuleID != "large" || span.Facts.AuditIndex == nil {
					t.Fatalf("span %+v", span.Facts)
				}
				got = append(got, *span.Facts.AuditIndex)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("entries of the outline (-want +got):\n%s", diff)
			}
			first := getAs[decisionPage](o, t, o.owner, "/traces/"+trace+"/decisions?limit=3")
			rest := getAs[decisionPage](o, t, o.owner, "/traces/"+trace+"/decisions?limit=3&cursor="+first.NextCursor)
			if diff := cmp.Diff(want, append(first.indexes(), rest.indexes()...)); diff != "" || !first.HasMore ||
				rest.HasMore || first.Items[0].Reason != "too large" {
				t.Errorf("%+v, %+v (-want +got):\n%s", first, rest, diff)
			}
			viewer := s.Join(o.owner, o.org, "viewer")
			if seen := getAs[decisionPage](o, t, viewer, "/traces/"+trace+"/decisions"); len(seen.Items) != 5 ||
				seen.Items[0].Reason != "" {
				t.Errorf("a viewer sees %+v", seen)
			}
		})
		rule("A client's span names no entry, whatever it says", func(t *testing.T, o *observed) {
			o.decides()
			trace := o.trace(m{"name": "writ.plan", "attributes": m{"source": "writ"}})
			span := o.span("policy_call", m{
				"attributes": m{"policyId": "p", "policyName": "P", "decision": "allow", "auditIndex": 0},
			})
			o.store(batch(trace, span))
			id := trace["id"].(string)
			outline := getAs[outlined](o, t, o.owner, "/traces/"+id+"?fields=outline")
			one := getAs[outlinedSpan](o, t, o.owner, "/traces/"+id+"/spans/"+span["id"].(string))
			if outline.Spans[0].Facts.AuditIndex != nil || one.Facts.AuditIndex != nil {
				t.Errorf("entries %v and %v", outline.Spans[0].Facts, one.Facts)
			}
			if got := getAs[decisionPage](o, t, o.owner, "/traces/"+id+"/decisions"); len(got.Items) != 0 {
				t.Errorf("decisions %+v", got)
			}
		})
		rule("A client's trace has those of its session while it ran", func(t *testing.T, o *observed) {
			session := database.NewID()
			in := func(d *decision.Record) { d.SessionID, d.Verdict = session, verdict.Hold }
			at := func(d time.Duration) string { return s.Now().Add(d).Format(time.RFC3339Nano) }
			trace := o.trace(m{"sessionId": session, "startTime": at(-time.Hour), "endTime": at(time.Hour)})
			before := o.trace(m{"sessionId": session, "startTime": at(-time.Hour), "durationMs": 1000})
			open := o.trace(m{"sessionId": session, "startTime": at(-time.Hour)})
			alone := o.trace(m{"startTime": at(-time.Hour), "endTime": at(time.Hour)})
			o.store(batch(trace), batch(before), batch(alone),
				batch(open, o.span("span", m{"startTime": at(time.Hour)})))
			first, second := o.decided(t, in), o.decided(t, in)
			o.decides() // of no session
			want := []int64{second, first}
			for _, c := range []struct {
				trace m
				want  []int64
			}{{trace, want}, {open, want}, {before, []int64{}}, {alone, []int64{}}} {
				got := getAs[decisionPage](o, t, o.owner, "/traces/"+c.trace["id"].(string)+"/decisions")
				if diff := cmp.Diff(c.want, got.indexes()); diff != "" {
					t.Errorf("%v (-want +got):\n%s", c.trace, diff)
				}
			}
			page := getAs[decisionPage](o, t, o.owner, "/traces/"+trace["id"].(string)+"/decisions?limit=1")
			if next := getAs[decisionPage](o, t, o.owner, "/traces/"+trace["id"].(string)+"/decisions?limit=1&cursor="+
				page.NextCursor); len(next.Items) != 1 || next.Items[0].Index != first {
				t.Errorf("the second page is %+v", next)
			}
			o.refuse("/traces/"+trace["id"].(string)+"/decisions?cursor=x", "Invalid cursor")
			other := observe(t, s, o.owner)
			if got := getAs[decisionPage](other, t, o.owner, "/traces/"+trace["id"].(string)+
				"/decisions"); len(got.Items) != 0 {
				t.Errorf("another organization gets %+v", got)
			}
		})
	})
}

// owned is the trace that Writ made.
func (o *observed) owned(t *testing.T) string {
	t.Helper()
	for _, id := range o.listed(client.TraceFilter{Name: "writ.plan"}) {
		return id
	}
	t.Fatal("there is no trace of decisions")
	return ""
}

// TestSessionPages is a session that is too long for one answer.
func TestSessionPages(t *testing.T) {
	t.Parallel()
	rules(t, func(_ *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("Its head has no traces, and the list has each of them once", func(t *testing.T, o *observed) {
			session := database.NewID()
			const traces = 430
			var batches []any
			for i := range traces {
				batches = append(batches, o.inSession(session, time.Duration(i/3)*time.Second, nil)) // some at once
			}
			for len(batches) > 0 {
				n := min(100, len(batches))
				o.store(batches[:n]...)
				batches = batches[n:]
			}
			var head struct {
				TraceCount int
				Traces     []any
				StartedAt  string
			}
			answer := o.get("/sessions/" + session + "?fields=head")
			if err := json.Unmarshal(answer.Body, &head); err != nil || head.TraceCount != traces ||
				head.Traces == nil || len(head.Traces) != 0 {
				t.Fatalf("%v: %s", err, answer.Body)
			}
			seen, cursor := map[string]bool{}, ""
			for pages := 0; pages < 4; pages++ {
				got := getAs[struct {
					Items      []struct{ ID string }
					NextCursor string
				}](o, t, o.owner, "/traces?limit=200&sessionId="+session+"&from="+head.StartedAt+"&cursor="+cursor)
				for _, trace := range got.Items {
					if seen[trace.ID] {
						t.Errorf("%s comes twice", trace.ID)
					}
					seen[trace.ID] = true
				}
				if cursor = got.NextCursor; cursor == "" {
					break
				}
			}
			if len(seen) != traces || cursor != "" {
				t.Errorf("%d traces, want %d", len(seen), traces)
			}
			if answer := o.get("/sessions/" + database.NewID() + "?fields=head"); string(answer.Body) != "null" {
				t.Errorf("a session that is not there: %s", answer.Body)
			}
		})
	})
}
