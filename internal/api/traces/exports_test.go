package traces_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/csvsafe"
	"writ/internal/database"
	"writ/internal/testserver"
)

// endLine is the last line of an export.
type endLine struct {
	Complete bool   `json:"complete"`
	Lines    int    `json:"lines"`
	Message  string `json:"message"`
	Cursor   string `json:"cursor"`
}

// exported reads an export of lines: each as it is, and what the last one says.
func (o *observed) exported(path string) (lines []string, end endLine) {
	o.t.Helper()
	answer := o.get(path)
	if kind := answer.Header.Get("Content-Type"); answer.Status != http.StatusOK || kind != "application/x-ndjson" {
		o.t.Fatalf("%s: status %d, %s: %.300s", path, answer.Status, kind, answer.Body)
	}
	return readLines(o.t, answer.Body)
}

func readLines(t *testing.T, body []byte) (lines []string, end endLine) {
	t.Helper()
	lines = strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	var last struct {
		End *endLine `json:"end"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.End == nil {
		t.Fatalf("the last line says nothing of the end: %.300s", lines[len(lines)-1])
	}
	return lines[:len(lines)-1], *last.End
}

// table reads an export in CSV: its lines by the names of the columns, and its last.
func (o *observed) table(path string) (header []string, rows []map[string]string, end []string) {
	o.t.Helper()
	answer := o.get(path)
	if kind := answer.Header.Get("Content-Type"); answer.Status != http.StatusOK || kind != "text/csv; charset=utf-8" {
		o.t.Fatalf("%s: status %d, %s: %.300s", path, answer.Status, kind, answer.Body)
	}
	all, err := csv.NewReader(bytes.NewReader(answer.Body)).ReadAll()
	if err != nil {
		o.t.Fatalf("the table cannot be read: %v", err)
	}
	for _, line := range all[1 : len(all)-1] {
		row := map[string]string{}
		for i, cell := range line {
			row[all[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return all[0], rows, all[len(all)-1]
}

// hostileNames are texts that a spreadsheet would run, or that break a table.
var hostileNames = []string{
	"=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1:A9)", "\t=1", "\r=1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x",
	"a;=HYPERLINK(\"http://evil.example\")", "'=1", `",=1,"`, "two\nlines", "plain",
}

// storeHostile stores a trace for each hostile name, with a span of that name.
func (o *observed) storeHostile() {
	o.t.Helper()
	for i, name := range hostileNames {
		o.store(batch(
			o.trace(m{
				"name":       name,
				"agentId":    name,
				"startTime":  o.Ago(time.Duration(i+1) * time.Minute),
				"tags":       []string{name},
				"attributes": m{"input": name},
			}),
			o.span("tool", m{"name": name, "attributes": m{"toolName": name, "x": name}}),
		))
	}
}

func TestExportOfTraces(t *testing.T) {
	t.Parallel()
	rules(t, func(_ *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("A line of NDJSON is a trace with its spans, newest first, and the last one says that this is all.", func(
			t *testing.T, o *observed,
		) {
			old := o.trace(m{"startTime": o.Ago(time.Hour)})
			young := o.trace(nil)
			o.store(batch(old, o.generation("claude-sonnet-4", 1000, 200, m{"cacheReadTokens": 5000}),
				o.span("span", m{"status": "error"})), batch(young))
			lines, end := o.exported("/traces/export")
			if diff := cmp.Diff(endLine{Complete: true, Lines: 2}, end); diff != "" || len(lines) != 2 {
				t.Fatalf("%d lines; the end (-want +got):\n%s", len(lines), diff)
			}
			var got client.TraceDetail
			if err := json.Unmarshal([]byte(lines[1]), &got); err != nil {
				t.Fatal(err)
			}
			if got.TotalInputTokens != 1000 || got.TotalOutputTokens != 200 || got.TotalCostUSD != 0.0075 ||
				got.SpanCount != 2 || got.ErrorCount != 1 {
				t.Errorf("the figures are %+v", got.Trace)
			}
			if read := string(member(t, lines[1], "totalCacheReadTokens")); read != "5000" {
				t.Errorf("%s tokens were read from a cache", read)
			}
			o.sameAsRead(got)
		})
		rule("A trace that was exported can be sent to another organization, and comes out the same there.", func(
			t *testing.T, o *observed,
		) {
			o.storeHostile()
			o.store(`{"trace":{"id":"` + database.NewID() + `","sessionId":"` + database.NewID() +
				`","name":"pretty","startTime":"` + o.Ago(0) + `","status":"denied","attributes":{` + "\n\t" +
				`"a": [1,` + "\r\n" + ` 2]}},"spans":[{"id":"` + database.NewID() +
				`","kind":"event","name":"e","startTime":"` + o.Ago(0) + `","attributes":{` + "\n" + `"b":  "\n"}}]}`)
			lines, _ := o.exported("/traces/export")
			other := observe(t, o.Server, o.owner)
			for _, line := range lines {
				var trace m
				if err := json.Unmarshal([]byte(line), &trace); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				other.store(`{"trace":` + line + `,"spans":` + string(member(t, line, "spans")) + `}`)
			}
			again, _ := other.exported("/traces/export")
			if diff := cmp.Diff(lines, again); diff != "" {
				t.Errorf("what came out (-first +second):\n%s", diff)
			}
		})
		rule("A table opens without a formula running, and its texts are what they were.", func(
			t *testing.T, o *observed,
		) {
			o.storeHostile()
			for _, rows := range []string{"traces", "spans"} {
				_, table, end := o.table("/traces/export?format=csv&rows=" + rows)
				if end[0] != "# complete" || end[1] != fmt.Sprint(len(hostileNames)) ||
					len(table) != len(hostileNames) {
					t.Fatalf("%d rows of %s, the last line %q", len(table), rows, end)
				}
				for i, row := range table {
					for column, cell := range row {
						if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r\n") ||
							strings.HasPrefix(cell, "\uff1d") {
							t.Errorf("%s: the cell %q of %s begins a formula", rows, cell, column)
						}
					}
					if got := csvsafe.Original(row["name"]); got != hostileNames[i] {
						t.Errorf("%s: name %q came back as %q", rows, hostileNames[i], got)
					}
					if got := csvsafe.Original(row["agentId"]); got != hostileNames[i] {
						t.Errorf("%s: agent %q came back as %q", rows, hostileNames[i], got)
					}
					var attributes m
					if err := json.Unmarshal([]byte(row["attributes"]), &attributes); err != nil ||
						strings.Contains(row["attributes"], ";") {
						t.Errorf("%s: attributes %q: %v", rows, row["attributes"], err)
					}
				}
			}
		})
		rule("A line may be a span, with what is known of it.", func(t *testing.T, o *observed) {
			trace := o.trace(m{"agentId": "codex", "sessionId": database.NewID()})
			o.store(batch(trace, o.generation("gpt-4o", 10_000, 500, m{"cacheReadTokens": 6000}),
				o.policyCall("p1", "deny", nil)))
			lines, end := o.exported("/traces/export?rows=spans")
			if len(lines) != 2 || end.Lines != 2 {
				t.Fatalf("%d lines, %+v", len(lines), end)
			}
			_, table, _ := o.table("/traces/export?rows=spans&format=csv")
			for i, line := range lines {
				var members map[string]any
				if err := json.Unmarshal([]byte(line), &members); err != nil {
					t.Fatal(err)
				}
				for name, value := range members {
					text, isText := value.(string)
					if cell := table[i][name]; isText && csvsafe.Original(cell) != text {
						t.Errorf("%s is %q in a line and %q in a cell", name, text, cell)
					}
				}
			}
			want := map[string]string{
				"traceId": trace["id"].(string), "agentId": "codex", "sessionId": trace["sessionId"].(string),
				"kind": "generation", "model": "gpt-4o",
				"inputTokens": "10000", "cacheReadTokens": "6000", "costUsd": "0.0225", "policyId": "",
			}
			for name, value := range want {
				if table[0][name] != value {
					t.Errorf("%s is %q, want %q", name, table[0][name], value)
				}
			}
			if table[1]["decision"] != "deny" || table[1]["policyName"] != "Policy p1" {
				t.Errorf("the decision is %v", table[1])
			}
		})
		rule("An export has the filters of the list.", func(t *testing.T, o *observed) {
			session := database.NewID()
			o.store(
				batch(o.trace(m{"name": "a", "status": "error", "durationMs": 5000})),
				batch(o.trace(m{"name": "b", "agentId": "codex"})),
				batch(o.trace(m{"name": "c", "sessionId": session, "status": "denied"})),
				batch(o.trace(m{"name": "d", "startTime": o.Ago(20 * 24 * time.Hour)})),
			)
			for query, want := range map[string]string{
				"": "a b c", "days=30": "a b c d", "status=error": "a", "hasError=true": "a c", "hasError=false": "b",
				"name=b":        "b",
				"agentId=codex": "b", "sessionId=" + session: "c", "minDurationMs=4096": "a",
				"minDurationMs=1&days=30": "a", "name=none": "",
			} {
				_, table, _ := o.table("/traces/export?format=csv&" + query)
				var names []string
				for _, row := range table {
					names = append(names, row["name"])
				}
				slices.Sort(names)
				if got := strings.Join(names, " "); got != want {
					t.Errorf("%s: %q, want %q", query, got, want)
				}
			}
			for query, field := range map[string]string{
				"format=xml":      "format",
				"rows=models":     "rows",
				"days=0":          "days",
				"status=bad":      "status",
				"minDurationMs=x": "minDurationMs",
			} {
				o.refuse("/traces/export?"+query, field)
			}
			if answer := o.get("/traces/export?cursor=x"); answer.Status != http.StatusBadRequest {
				t.Errorf("a cursor that is none: %d", answer.Status)
			}
		})
		rule("Viewers see that something happened, not what was said.", func(t *testing.T, o *observed) {
			o.store(batch(o.trace(m{"attributes": m{"input": "private words"}}), o.span("tool", m{
				"attributes": m{"toolName": "read", "path": "private path"},
			})))
			viewer := o.Join(o.owner, o.org, "viewer")
			for _, path := range []string{
				"/traces/export", "/traces/export?rows=spans", "/traces/export?format=csv",
				"/traces/export?rows=spans&format=csv",
			} {
				answer := o.Request(t, http.MethodGet, o.path(path), "", testserver.Credentials(viewer.Client)...)
				if answer.Status != http.StatusOK || strings.Contains(string(answer.Body), "private") {
					t.Errorf("%s: %d: %s", path, answer.Status, answer.Body)
				}
			}
		})
		rule("HEAD says what there is, and nothing more.", func(t *testing.T, o *observed) {
			o.store(batch(o.trace(nil)))
			answer := o.Request(t, http.MethodHead, o.path("/traces/export?format=csv"), "",
				testserver.Credentials(o.owner.Client)...)
			if answer.Status != http.StatusOK ||
				answer.Header.Get("Content-Disposition") != `attachment; filename="traces.csv"` ||
				len(answer.Body) != 0 {
				t.Errorf("%d, %v, %q", answer.Status, answer.Header, answer.Body)
			}
		})
	})
}

// sameAsRead checks that a trace was exported as it is read, but for the figures,
// which are in lists.
func (o *observed) sameAsRead(got client.TraceDetail) {
	o.t.Helper()
	got.TotalInputTokens, got.TotalOutputTokens, got.TotalCostUSD, got.SpanCount, got.ErrorCount = 0, 0, 0, 0, 0
	if diff := cmp.Diff(o.read(got.ID), &got); diff != "" {
		o.t.Errorf("a trace as it is read, and as it is exported (-read +exported):\n%s", diff)
	}
}

// member is a member of a JSON object.
func member(t *testing.T, object, name string) json.RawMessage {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		t.Fatal(err)
	}
	return members[name]
}

func TestExportOfOne(t *testing.T) {
	t.Parallel()
	rules(t, func(_ *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("One trace is exported as JSON with all its spans.", func(t *testing.T, o *observed) {
			trace := o.trace(m{"attributes": m{"input": "words"}})
			o.store(batch(trace, o.span("tool", m{"attributes": m{"toolName": "read"}}),
				o.generation("gpt-4o", 1, 2, nil)))
			answer := o.get("/traces/" + trace["id"].(string) + "/export")
			var got client.TraceDetail
			if err := json.Unmarshal(answer.Body, &got); err != nil ||
				answer.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%v: %s", err, answer.Body)
			}
			o.sameAsRead(got)
			if got := answer.Header.Get("Content-Disposition"); got != `attachment; filename="trace-`+
				trace["id"].(string)+`.json"` {
				t.Errorf("the file is called %s", got)
			}
		})
		rule("One session is exported as JSON with all its traces and their spans, newest first.", func(
			t *testing.T, o *observed,
		) {
			session := database.NewID()
			var want []string
			for i := range 3 {
				trace := o.trace(m{"sessionId": session, "startTime": o.Ago(time.Duration(i+1) * time.Hour)})
				want = append(want, trace["id"].(string))
				o.store(batch(trace, o.span("tool", nil), o.generation("gpt-4o", 1000, 100, nil)))
			}
			o.store(batch(o.trace(nil))) // of no session
			var got struct {
				ID               string               `json:"id"`
				TraceCount       int                  `json:"traceCount"`
				TotalInputTokens int64                `json:"totalInputTokens"`
				Traces           []client.TraceDetail `json:"traces"`
			}
			if err := json.Unmarshal(o.get("/sessions/"+session+"/export").Body, &got); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, trace := range got.Traces {
				ids = append(ids, trace.ID)
				if len(trace.Spans) != 2 {
					t.Errorf("trace %s has %d spans", trace.ID, len(trace.Spans))
				}
			}
			if !slices.Equal(ids, want) || got.ID != session || got.TraceCount != 3 || got.TotalInputTokens != 3000 {
				t.Errorf("session %+v with traces %v, want %v", got, ids, want)
			}
		})
		rule("What is not there is not found.", func(t *testing.T, o *observed) {
			for _, path := range []string{
				"/traces/" + database.NewID() + "/export", "/traces/none/export",
				"/sessions/" + database.NewID() + "/export",
			} {
				o.get(path).ErrorFields(t, http.StatusNotFound)
			}
		})
	})
}

func TestExportOfSessions(t *testing.T) {
	t.Parallel()
	rules(t, func(_ *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("Every session that the filter chooses is exported once.", func(t *testing.T, o *observed) {
			user := database.NewID()
			active, ended, old := database.NewID(), database.NewID(), database.NewID()
			o.store(
				batch(o.trace(m{"sessionId": active, "agentId": "=agent", "userId": user})),
				batch(o.trace(m{"sessionId": ended}), o.span("event", m{"name": "session.end", "startTime": o.Ago(0)})),
				batch(o.trace(m{"sessionId": old, "startTime": o.Ago(20 * 24 * time.Hour)})),
			)
			for query, want := range map[string][]string{
				"": {active, ended}, "days=30": {active, ended, old}, "status=completed": {ended},
				"status=active":          {active},
				"status=expired&days=30": {old}, "userId=" + strings.ToUpper(user): {active},
				"agentId=%3Dagent": {active}, "agentId=none": nil,
			} {
				_, table, end := o.table("/sessions/export?format=csv&" + query)
				var ids []string
				for _, row := range table {
					ids = append(ids, row["id"])
				}
				slices.Sort(ids)
				slices.Sort(want)
				if !slices.Equal(ids, want) || end[0] != "# complete" {
					t.Errorf("%s: %v, want %v; %q", query, ids, want, end)
				}
			}
			lines, _ := o.exported("/sessions/export?status=active")
			if len(lines) != 1 || string(member(t, lines[0], "agentId")) != `"=agent"` {
				t.Errorf("lines %v", lines)
			}
		})
	})
}
