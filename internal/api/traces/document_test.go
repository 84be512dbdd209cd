package traces_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// described is a schema with what it says to a reader.
type described struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Description          string
	ContentEncoding      string
	Items                *described
	Properties           map[string]*described
	Examples             []any
	OneOf                []*described
	AdditionalProperties any
}

// describedMedia is a body with its example.
type describedMedia struct {
	Schema  *described
	Example json.RawMessage
}

// describedOperation is an operation with all that is written about it.
type describedOperation struct {
	Parameters []struct {
		Name, Description string
		Schema            *described
	}
	RequestBody struct{ Content map[string]describedMedia }
	Responses   map[string]struct{ Content map[string]describedMedia }
}

func (op describedOperation) request() describedMedia {
	return op.RequestBody.Content["application/json"]
}

func (op describedOperation) answer() describedMedia {
	return op.Responses["200"].Content["application/json"]
}

// telemetryDocument is what the document says of the operations of observability.
type telemetryDocument struct {
	Paths      map[string]map[string]describedOperation
	Components struct{ Schemas map[string]*described }
}

func readTelemetryDocument(t *testing.T, s *testserver.Server) *telemetryDocument {
	t.Helper()
	d := &telemetryDocument{}
	if err := json.Unmarshal(s.Request(t, "GET", "/openapi.json", "").Body, d); err != nil {
		t.Fatal(err)
	}
	for path := range d.Paths {
		// which are files, not objects
		isRead := strings.Contains(path, "/observability/") && !strings.HasSuffix(path, "/export")
		if !isRead && path != "/dashboard/token-usage" {
			delete(d.Paths, path)
		}
	}
	delete(d.Paths, "/organization/{orgId}/observability/stream") // has no end, so no one answer
	if len(d.Paths) != 14 {
		t.Fatalf("%d operations of observability are documented, want fourteen", len(d.Paths))
	}
	return d
}

// check wants a type on everything and a description on every member.
func (d *telemetryDocument) check(t *testing.T, where string, s *described) (members int) {
	t.Helper()
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		if s = d.Components.Schemas[name]; s == nil {
			t.Fatalf("%s refers to %s, which is not there", where, name)
		}
	}
	for _, one := range s.OneOf {
		members += d.check(t, where, one)
	}
	if s.Type == nil && len(s.OneOf) == 0 {
		t.Errorf("%s has no type", where)
	}
	if s.ContentEncoding != "" {
		t.Errorf("%s is documented as %s", where, s.ContentEncoding)
	}
	if s.Items != nil {
		members += d.check(t, where+"[]", s.Items)
	}
	for name, member := range s.Properties {
		if member.Description == "" {
			t.Errorf("%s.%s has no description", where, name)
		}
		members += 1 + d.check(t, where+"."+name, member)
	}
	return members
}

func TestEveryFieldOfTelemetryIsDescribed(t *testing.T) {
	t.Parallel()
	d := readTelemetryDocument(t, testserver.Start(t, dbtest.SQLite(t)))
	members := 0
	for path, operations := range d.Paths {
		for method, op := range operations {
			where := strings.ToUpper(method) + " " + path
			for _, p := range op.Parameters {
				if p.Description == "" || p.Schema.Type == nil {
					t.Errorf("%s: the parameter %s has no type or no description", where, p.Name)
				}
			}
			if request := op.request(); request.Schema != nil {
				members += d.check(t, where, request.Schema)
			}
			members += d.check(t, where, op.answer().Schema)
		}
	}
	if members < 150 {
		t.Errorf("only %d members are documented", members)
	}
}

// TestDocumentedTypesOfTelemetry spot-checks what Go's types alone do not say.
func TestDocumentedTypesOfTelemetry(t *testing.T) {
	t.Parallel()
	d := readTelemetryDocument(t, testserver.Start(t, dbtest.SQLite(t)))
	typeOf := func(schema, member string) string {
		t.Helper()
		s := d.Components.Schemas[schema]
		if s == nil || s.Properties[member] == nil {
			t.Fatalf("%s.%s is not there", schema, member)
		}
		return fmt.Sprint(s.Properties[member].Type)
	}
	for member, want := range map[string]string{
		"TraceDetailBody attributes": "object", "TraceItemBody tags": "array", "SpanBody attributes": "object",
		"TraceDetailBody sessionId": "[string null]",
		"TraceInput sessionId":      "[string null]", "TraceInput endTime": "[string null]",
		"TraceInput durationMs": "[integer null]", "TraceInput userId": "[string null]",
		"SpanInput parentSpanId": "[string null]", "SpanInput durationMs": "[integer null]",
		"IngestBody sessionId": "[string null]",
	} {
		schema, name, _ := strings.Cut(member, " ")
		if got := typeOf(schema, name); got != want {
			t.Errorf("%s is documented as %s, want %s", member, got, want)
		}
	}
	for _, path := range []string{"/sessions/{id}", "/traces/{id}"} {
		answer := d.Paths["/organization/{orgId}/observability"+path]["get"].answer().Schema
		if len(answer.OneOf) != 2 || answer.OneOf[1].Type != "null" {
			t.Errorf("the document does not say that %s may answer null: %+v", path, answer)
		}
	}
}

// TestExamplesOfTelemetryWork sends the examples of the document.
func TestExamplesOfTelemetryWork(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		d := readTelemetryDocument(s.T, s)
		rule("The example of POST /observability/spans is answered as its example says", func(
			t *testing.T, o *observed,
		) {
			op := d.Paths["/observability/spans"]["post"]
			answer := o.post(string(op.request().Example))
			var got, want any
			if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Status != http.StatusOK {
				t.Fatalf("%d %v: %s", answer.Status, err, answer.Body)
			}
			if err := json.Unmarshal(op.answer().Example, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-documented +got):\n%s", diff)
			}
			var sent struct {
				SessionID string
				Batches   []struct {
					Trace struct{ ID, Name string }
					Spans []client.Span
				}
			}
			if err := json.Unmarshal(op.request().Example, &sent); err != nil || len(sent.Batches) != 1 ||
				len(sent.Batches[0].Spans) < 3 {
				t.Fatalf("the example is not what a client sends: %v, %+v", err, sent)
			}
			detail := o.read(sent.Batches[0].Trace.ID)
			if detail.Name != sent.Batches[0].Trace.Name || len(detail.Spans) != len(sent.Batches[0].Spans) {
				t.Errorf("stored is %+v", detail)
			}
			if x := o.session(sent.SessionID); x.TotalInputTokens == 0 || x.TotalCostUSD == 0 {
				t.Errorf("its session is %+v", x)
			}
		})
		rule("The examples of POST /dashboard/token-usage make a report", func(t *testing.T, o *observed) {
			body := d.example(t, d.Paths["/dashboard/token-usage"]["post"].request().Schema)
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			answer := o.Request(t, "POST", "/dashboard/token-usage", string(text), testserver.Credentials(o.agent)...)
			if answer.Status != http.StatusOK || string(answer.Body) != `{"recorded":1}` {
				t.Errorf("%s: %d %s", text, answer.Status, answer.Body)
			}
			if items := o.tokens("model"); len(items) != 1 || items[0].CacheReadTokens == 0 || items[0].CostUSD == 0 {
				t.Errorf("it counts as %+v", items)
			}
		})
	})
}

// example is a value made of the examples of its members.
func (d *telemetryDocument) example(t *testing.T, s *described) any {
	t.Helper()
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s = d.Components.Schemas[name]
	}
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Items != nil:
		return []any{d.example(t, s.Items)}
	case len(s.Properties) > 0:
		object := m{}
		for name, member := range s.Properties {
			object[name] = d.example(t, member)
		}
		return object
	}
	t.Fatalf("%+v has no example", s)
	return nil
}
