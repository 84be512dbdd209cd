package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"writ/internal/api"
	"writ/internal/testserver"
)

// TestExamplesOfTheDocument sends every example of the document, in its order, and wants each to be answered with the
// status that the document promises.
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
		shown := map[string]bool{}
		for _, e := range examples.Examples {
			method, path, _ := strings.Cut(e.Request, " ")
			op := d.Paths[path][strings.ToLower(method)]
			status, said := teller.send(t, e)
			if _, promised := op.Responses[strconv.Itoa(status)]; !promised || status >= 300 {
				t.Fatalf("%s: %d %s\n%s", e.Request, status, said, e.Body)
			}
			teller.keep(t, e, said)
			shown[e.Request] = true
		}
		for path, methods := range d.Paths {
			for method := range methods {
				if request := strings.ToUpper(method) + " " + path; api.HasExample(path) && !shown[request] {
					t.Errorf("%s has no example", request)
				}
			}
		}
	})
}

// exampleTeller sends the examples, each with what earlier ones gave.
type exampleTeller struct {
	o      *testserver.Org
	values map[string]string
	by     map[string][]string
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
