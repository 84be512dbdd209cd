package testserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Reply is an answer to exactly the headers that were sent.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// Send sends exactly these headers, for what the client would not send.
func (s *Server) Send(method, path string, header http.Header, body string) Reply {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.T.Context(), method, s.Public.BaseURL+path, strings.NewReader(body))
	if err != nil {
		s.T.Fatalf("%s %s: %v", method, path, err)
	}
	request.Header = header.Clone()
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := (&http.Client{Transport: s.transport(http.DefaultTransport)}).Do(request)
	if err != nil {
		s.T.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	content, err := readAll(response)
	if err != nil {
		s.T.Fatalf("%s %s: %v", method, path, err)
	}
	return Reply{response.StatusCode, response.Header, string(content)}
}

// Members decodes a body that is an object.
func (a Reply) Members(t *testing.T) map[string]any {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(a.Body), &members); err != nil {
		t.Fatalf("decode %q: %v", a.Body, err)
	}
	return members
}

// WithoutRequestID is the answer without what differs from request to request.
func (a Reply) WithoutRequestID(t *testing.T) Reply {
	t.Helper()
	a.Header = a.Header.Clone()
	a.Header.Del("Date")
	a.Header.Del("X-Request-Id")
	members := a.Members(t)
	if members["requestId"] == nil {
		t.Errorf("no requestId in %s", a.Body)
	}
	delete(members, "requestId")
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	a.Body = string(text)
	return a
}

// DiffReplies shows how two replies differ.
func DiffReplies(a, b Reply) string {
	return cmp.Diff(a, b)
}

// WithXAPIKey is how published command lines send a key.
func WithXAPIKey(key string) http.Header { return http.Header{"X-Api-Key": {key}} }

// WithBearer is how people send an access token.
func WithBearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
