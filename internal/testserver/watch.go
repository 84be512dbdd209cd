package testserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"writ/client"
)

// Watched is the transport of a client that adds headers to requests and keeps
// the last answer, for what the client itself does not show. It serves one
// request at a time.
type Watched struct {
	headers map[string]string
	next    http.RoundTripper

	Status int
	Header http.Header
	Body   []byte
}

// RoundTrip sends a request and keeps its answer.
func (w *Watched) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range w.headers {
		r.Header.Set(name, value)
	}
	response, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if w.Body, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	w.Status, w.Header = response.StatusCode, response.Header
	response.Body = io.NopCloser(bytes.NewReader(w.Body))
	return response, nil
}

// Answer is the last one without what differs from request to request.
func (w *Watched) Answer(t *testing.T) map[string]any {
	t.Helper()
	answer := map[string]any{"status": w.Status}
	for name, values := range w.Header {
		answer[name] = strings.Join(values, "\n")
	}
	delete(answer, "X-Request-Id")
	delete(answer, "Date")
	var body map[string]any
	if err := json.Unmarshal(w.Body, &body); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	if body["requestId"] == "" || body["requestId"] != w.Header.Get("X-Request-Id") {
		t.Errorf("request id %v in the body, %q in the header", body["requestId"], w.Header.Get("X-Request-Id"))
	}
	delete(body, "requestId")
	answer["body"] = body
	return answer
}

// Watch is c with a transport that keeps the last answer. Headers come in pairs.
func Watch(c *client.Client, headers ...string) (*client.Client, *Watched) {
	w := &Watched{headers: map[string]string{}, next: http.DefaultTransport}
	if c.HTTP != nil && c.HTTP.Transport != nil {
		w.next = c.HTTP.Transport
	}
	for i := 0; i < len(headers); i += 2 {
		w.headers[headers[i]] = headers[i+1]
	}
	return &client.Client{
		BaseURL: c.BaseURL, AccessToken: c.AccessToken, APIKey: c.APIKey, HTTP: &http.Client{Transport: w},
	}, w
}
