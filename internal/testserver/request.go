package testserver

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"writ/client"
)

// m is a JSON object.
type m = map[string]any

// Answer is an answer as it came, headers and all.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// RequestClient shows redirects instead of following them.
var RequestClient = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// withoutRedirects is RequestClient with answers that are checked.
func (s *Server) withoutRedirects() *http.Client {
	return &http.Client{
		CheckRedirect: RequestClient.CheckRedirect, Transport: s.transport(http.DefaultTransport),
	}
}

// Request sends a request as it is written. Headers come in pairs; Host is one of
// them. A body is JSON unless they say otherwise.
func (s *Server) Request(t *testing.T, method, path, body string, headers ...string) Answer {
	t.Helper()
	return requestBy(t, s.withoutRedirects(), method, s.Public.BaseURL+path, body, headers)
}

// RequestAt is Request to something else than the server, such as a proxy apart from it.
func RequestAt(t *testing.T, method, url, body string, headers ...string) Answer {
	t.Helper()
	return requestBy(t, RequestClient, method, url, body, headers)
}

func requestBy(t *testing.T, by *http.Client, method, url, body string, headers []string) Answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
			continue
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := by.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer response.Body.Close()
	content, err := readAll(response)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return Answer{response.StatusCode, response.Header, content}
}

// readAll reads an answer to its end, which a stream of events does not have.
func readAll(response *http.Response) ([]byte, error) {
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return nil, nil
	}
	return io.ReadAll(response.Body)
}

// Credentials are the headers that make a request the client's.
func Credentials(c *client.Client) []string {
	if c.APIKey != "" {
		return []string{"X-Api-Key", c.APIKey}
	}
	return []string{"Authorization", "Bearer " + c.AccessToken}
}

// ErrorFields checks that an answer is an error in the one shape, and returns the
// fields that it names.
func (a Answer) ErrorFields(t *testing.T, status int) []string {
	t.Helper()
	if a.Status != status {
		t.Fatalf("status %d, want %d: %.300s", a.Status, status, a.Body)
	}
	if kind := a.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type is %q", kind)
	}
	var members map[string]json.RawMessage
	var shape client.Error
	if err := json.Unmarshal(a.Body, &members); err != nil {
		t.Fatalf("the body is no JSON object: %v: %.300s", err, a.Body)
	}
	if err := json.Unmarshal(a.Body, &shape); err != nil {
		t.Fatalf("the body has another shape: %v: %s", err, a.Body)
	}
	want := []string{"error", "message", "requestId", "statusCode"}
	if len(shape.Details) > 0 {
		want = append(want, "details")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(members))); diff != "" {
		t.Errorf("members of the body (-want +got):\n%s", diff)
	}
	if text := fmt.Sprintf("%q", http.StatusText(status)); string(members["error"]) != text {
		t.Errorf("error is %s, want %s", members["error"], text)
	}
	if shape.StatusCode != status || shape.Message == "" {
		t.Errorf("statusCode %d and message %q, want %d and some words", shape.StatusCode, shape.Message, status)
	}
	if _, err := uuid.Parse(shape.RequestID); err != nil || shape.RequestID != a.Header.Get("X-Request-Id") {
		t.Errorf("requestId is %q, the header %q", shape.RequestID, a.Header.Get("X-Request-Id"))
	}
	var fields []string
	for _, d := range shape.Details {
		if d.Message == "" {
			t.Errorf("the detail about %q says nothing", d.Field)
		}
		fields = append(fields, d.Field)
	}
	return fields
}

// RetryAfter is how many seconds an answer asks to wait.
func (a Answer) RetryAfter(t *testing.T) int {
	t.Helper()
	seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil {
		t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
	}
	return seconds
}

// TypedSecret is in every value that is refused; no answer may show it.
const TypedSecret = "hunter2-never-shown"

// JSON is a value as JSON.
func JSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// OTLPJSON is a request of spans in OTLP's JSON.
func OTLPJSON(spans ...string) string {
	return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]},"scopeSpans":[{"spans":[` + strings.Join(spans, ",") + `]}]}]}`
}
