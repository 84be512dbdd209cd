package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"writ/internal/api"
	"writ/internal/decision"
	"writ/internal/projection"
	"writ/internal/testserver"
)

// TestExamplesOfTheDocument sends every example of the document, in its order, and wants each to be answered with the
// status and the body that the document shows.
func TestExamplesOfTheDocument(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		d := document(t, o.Server)
		teller := exampleTeller{
			o: o, values: map[string]string{}, by: map[string][]string{
				"person":   testserver.Credentials(o.Owner.Client),
				"approver": testserver.Credentials(o.Join(o.Owner, o.ID, "approver").Client),
				"agent":    testserver.Credentials(o.Agent),
				"plugin":   {"X-API-Key", o.PluginKey(o.Owner, o.ID)},
				"terminal": testserver.Credentials(o.TerminalKey(o.Owner, o.ID)),
				"public":   nil,
			},
		}
		examples, err := api.ReadExamples()
		if err != nil {
			t.Error(err)
		}
		maps.Copy(teller.values, examples.Values)
		key := o.AgentKey(o.Owner, o.ID)
		maps.Copy(teller.values, map[string]string{
			"org": o.ID, "member": o.Owner.ID, "email": o.Owner.Email, "key": key.ID, "organization": "Bank",
		})
		shown, answers := map[string]bool{}, map[string]api.ExampleAnswer{}
		for _, e := range examples.Examples {
			method, path, _ := strings.Cut(e.Request, " ")
			op := d.Paths[path][strings.ToLower(method)]
			teller.project(t, e)
			status, said := teller.send(t, e)
			if _, promised := op.Responses[strconv.Itoa(status)]; !promised || status >= 300 {
				t.Fatalf("%s: %d %s\n%s", e.Request, status, said, e.Body)
			}
			teller.keep(t, e, said)
			shown[e.Request] = true
			_, isJSON := op.Responses[strconv.Itoa(status)].Content["application/json"]
			if body := steadied(t, said, teller.values, examples.Values); isJSON && body != nil && !e.Again {
				answers[e.Request] = api.ExampleAnswer{Status: status, Body: body}
			}
		}
		wantAnswers(t, answers)
		for path, methods := range d.Paths {
			for method := range methods {
				if request := strings.ToUpper(method) + " " + path; api.HasExample(path) && !shown[request] {
					t.Errorf("%s has no example", request)
				}
			}
		}
	})
}

// maxAnswer is how many bytes an answer has that the document shows. Templates are longer, and read where they are.
const maxAnswer = 8 << 10

// wantAnswers wants the answers that the document shows. With -update it writes those of SQLite.
func wantAnswers(t *testing.T, got map[string]api.ExampleAnswer) {
	t.Helper()
	maps.DeleteFunc(got, func(_ string, a api.ExampleAnswer) bool { return len(a.Body) > maxAnswer })
	if *update {
		if !strings.Contains(t.Name(), "sqlite") {
			return
		}
		var lines []string
		for _, request := range slices.Sorted(maps.Keys(got)) {
			line := fmt.Sprintf("%q: {\"status\": %d, \"body\": %s}", request, got[request].Status, got[request].Body)
			lines = append(lines, line)
		}
		text := "{\n" + strings.Join(lines, ",\n") + "\n}\n"
		if err := os.WriteFile(api.AnswersFile, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := api.ReadAnswers()
	if err != nil {
		t.Error(err)
	}
	for _, request := range slices.Sorted(maps.Keys(got)) {
		shown, sent := want[request], got[request]
		if shown.Status != sent.Status || string(shown.Body) != string(sent.Body) {
			t.Errorf("%s is answered with\n%d %s\nand the document shows\n%d %s\nrun with -update if that is meant", request,
				sent.Status, sent.Body, shown.Status, shown.Body)
		}
		delete(want, request)
	}
	for request := range want {
		t.Errorf("the document shows an answer to %s, which has none", request)
	}
}

// exampleTeller sends the examples, each with what earlier ones gave.
type exampleTeller struct {
	o      *testserver.Org
	values map[string]string
	by     map[string][]string
}

// project has decisions be spans before an example reads those: else what it is answered depends on when it asks.
func (x exampleTeller) project(t *testing.T, e api.ExampleRequest) {
	t.Helper()
	if !strings.HasPrefix(e.Request, "GET /organization/{orgId}/observability/") {
		return
	}
	if err := projection.New(x.o.Database, x.o.Telemetry, decision.NewRecent()).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (x exampleTeller) send(t *testing.T, e api.ExampleRequest) (int, []byte) {
	t.Helper()
	headers, ok := x.by[e.By]
	if !ok {
		t.Fatalf("%s: nobody is called %s", e.Request, e.By)
	}
	method, _, _ := strings.Cut(e.Request, " ")
	body, target := e.Sent(x.values)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, x.o.Public.BaseURL+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s: %v", e.Request, err)
	}
	defer answer.Body.Close()
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return answer.StatusCode, nil // it does not end
	}
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s: %v", e.Request, err)
	}
	return answer.StatusCode, said
}

// keep keeps what later examples need of an answer.
func (x exampleTeller) keep(t *testing.T, e api.ExampleRequest, said []byte) {
	t.Helper()
	for name, place := range e.Saves {
		var value any
		if err := json.Unmarshal(said, &value); err != nil {
			t.Fatalf("%s: %v", e.Request, err)
		}
		for part := range strings.SplitSeq(place, ".") {
			if list, ok := value.([]any); ok && len(list) > 0 {
				value = list[0]
				continue
			}
			object, _ := value.(map[string]any)
			value = object[part]
		}
		if value == nil {
			t.Fatalf("%s: the answer has no %s: %s", e.Request, place, said)
		}
		x.values[name] = fmt.Sprint(value)
	}
}
