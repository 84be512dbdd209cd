package api_test

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
	"writ/internal/database"
)

// wireAnswer is an answer as it came, headers and all.
type wireAnswer struct {
	status int
	header http.Header
	body   []byte
}

// wireClient shows redirects instead of following them.
var wireClient = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// wire sends a request as it is written. Headers come in pairs; Host is one of
// them. A body is JSON unless they say otherwise.
func (s *server) wire(t *testing.T, method, path, body string, headers ...string) wireAnswer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.public.BaseURL+path, strings.NewReader(body))
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
	response, err := wireClient.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	content, err := readAll(response)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return wireAnswer{response.StatusCode, response.Header, content}
}

// readAll reads an answer to its end, which a stream of events does not have.
func readAll(response *http.Response) ([]byte, error) {
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return nil, nil
	}
	return io.ReadAll(response.Body)
}

// credentials are the headers that make a request the client's.
func credentials(c *client.Client) []string {
	if c.APIKey != "" {
		return []string{"X-Api-Key", c.APIKey}
	}
	return []string{"Authorization", "Bearer " + c.AccessToken}
}

// errorFields checks that an answer is an error in the one shape, and names the
// fields it complains of.
func (a wireAnswer) errorFields(t *testing.T, status int) []string {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %.300s", a.status, status, a.body)
	}
	if kind := a.header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type is %q", kind)
	}
	var members map[string]json.RawMessage
	var shape client.Error
	if err := json.Unmarshal(a.body, &members); err != nil {
		t.Fatalf("the body is no JSON object: %v: %.300s", err, a.body)
	}
	if err := json.Unmarshal(a.body, &shape); err != nil {
		t.Fatalf("the body has another shape: %v: %s", err, a.body)
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
	if _, err := uuid.Parse(shape.RequestID); err != nil || shape.RequestID != a.header.Get("X-Request-Id") {
		t.Errorf("requestId is %q, the header %q", shape.RequestID, a.header.Get("X-Request-Id"))
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

// errorCase is a request that is refused.
type errorCase struct {
	name, method, path, body string
	headers                  []string
	status                   int
	fields                   []string // only validation names any
}

func errorCases(s *server, owner *person, orgID string) []errorCase {
	outsider := credentials(s.person("outsider").Client)
	me := credentials(owner.Client)
	agent := credentials(s.public.WithKey(s.agentKey(owner, orgID).APIKey))
	nobody := database.NewID()
	return []errorCase{
		{"a missing member", "POST", "/organization", `{}`, me, 400, []string{"name"}},
		{"two missing members", "POST", "/auth/login", `{}`, nil, 400, []string{"email", "password"}},
		{"a member that is too short", "POST", "/organization", `{"name":""}`, me, 400, []string{"name"}},
		{"a value an area refuses", "POST", "/organization", `{"name":"a\u0007b"}`, me, 400, []string{"name"}},
		{"a query parameter", "GET", "/organization/" + orgID + "/members?limit=0", "", me, 400, []string{"limit"}},
		{
			"a query parameter of another type", "GET", "/organization/" + orgID + "/members?limit=many", "", me, 400,
			[]string{"limit"},
		},
		{"no JSON", "POST", "/organization", `{"name":`, me, 400, []string{"body"}},
		{"no body", "POST", "/organization", "", me, 400, nil},
		{"no credentials", "GET", "/auth/me", "", nil, 401, nil},
		{"a token that is none", "GET", "/auth/me", "", []string{"Authorization", "Bearer x.y.z"}, 401, nil},
		{"a credential of the wrong kind", "GET", "/auth/me", "", agent, 401, nil},
		{"a wrong password", "POST", "/auth/login", `{"email":"nobody@example.org","password":"wrong"}`, nil, 401, nil},
		{"another's organization", "GET", "/organization/" + orgID, "", outsider, 403, nil},
		{"a key without the scope", "GET", "/iap/sdk/orgs", "", agent, 403, nil},
		{"a path nobody declared", "GET", "/nothing/here", "", nil, 404, nil},
		{"a thing that is not there", "POST", "/api-keys/" + nobody + "/revoke", `{}`, me, 404, nil},
		{"a method nobody declared", "DELETE", "/auth/login", "", nil, 405, nil},
		{
			"an address that is taken", "POST", "/auth/register",
			`{"email":"` + owner.Email + `","password":"long enough"}`, nil, 409, nil,
		},
		{
			"a body beyond the limit", "POST", "/organization", `{"name":"` + strings.Repeat("x", 2<<20) + `"}`, me,
			413, nil,
		},
		{
			"a body that is no JSON by its own word", "POST", "/organization", `name=x`,
			append([]string{"Content-Type", "text/plain"}, me...), 415, nil,
		},
		{"a foreign host name", "GET", "/auth/me", "", []string{"Host", "evil.example"}, 421, nil},
	}
}

// TestErrorShape provokes every kind of refusal; each must have the one shape.
func TestErrorShape(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		for _, test := range errorCases(s, owner, s.organization(owner, "Shape")) {
			t.Run(test.name, func(t *testing.T) {
				answer := s.wire(t, test.method, test.path, test.body, test.headers...)
				if diff := cmp.Diff(test.fields, answer.errorFields(t, test.status)); diff != "" {
					t.Errorf("fields complained of (-want +got):\n%s", diff)
				}
				challenge := answer.header.Get("WWW-Authenticate")
				if wants := test.status == 401; wants != strings.HasPrefix(challenge, "Bearer ") {
					t.Errorf("WWW-Authenticate is %q", challenge)
				}
				if wait := answer.header.Get("Retry-After"); wait != "" {
					t.Errorf("Retry-After is %q on a %d", wait, test.status)
				}
			})
		}
	})
}

// retryAfter is how many seconds an answer asks to wait.
func (a wireAnswer) retryAfter(t *testing.T) int {
	t.Helper()
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil {
		t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
	}
	return seconds
}

func TestTooManyRequestsSayWhenToComeBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		const body = `{"email":"nobody@example.org"}`
		var answer wireAnswer
		for range 11 { // five a minute, and the minute may end in between
			if answer = s.wire(t, "POST", "/auth/resend-otp", body); answer.status != http.StatusAccepted {
				break
			}
		}
		answer.errorFields(t, http.StatusTooManyRequests)
		wait := answer.retryAfter(t)
		if wait < 1 || wait > 60 {
			t.Errorf("Retry-After is %d s, want the rest of a minute", wait)
		}
	})
}

func TestUnreadyIs503(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		if answer := s.wire(t, "GET", "/ready", ""); answer.status != http.StatusOK {
			t.Fatalf("/ready: %d %s", answer.status, answer.body)
		}
		s.API.Stopping()
		answer := s.wire(t, "GET", "/ready", "")
		answer.errorFields(t, http.StatusServiceUnavailable)
		if answer.retryAfter(t) < 1 {
			t.Error("Retry-After asks for no wait at all")
		}
		if answer := s.wire(t, "GET", "/health", ""); answer.status != http.StatusOK {
			t.Errorf("/health of a server that stops: %d", answer.status)
		}
	})
}

// TestOtherMethods covers what HTTP itself knows besides the declared methods.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		for _, test := range []struct {
			method, path string
			status       int
			allow        string
		}{
			{"HEAD", "/health", 200, ""},
			{"HEAD", "/auth/me", 401, ""},
			{"HEAD", "/nothing", 404, ""},
			{"HEAD", "/auth/login", 405, "POST"},
			{"GET", "/auth/login", 405, "POST"},
			{"POST", "/health", 405, "GET, HEAD"},
			{"PUT", "/organization", 405, "GET, HEAD, POST"},
			{"OPTIONS", "/organization", 405, "GET, HEAD, POST"},
			{"TRACE", "/health", 405, "GET, HEAD"},
			{"OPTIONS", "/nothing", 404, ""},
			{"BREW", "/nothing", 404, ""},
		} {
			t.Run(test.method+test.path, func(t *testing.T) {
				answer := s.wire(t, test.method, test.path, "")
				if test.method == "HEAD" {
					if len(answer.body) > 0 {
						t.Errorf("a HEAD has a body: %s", answer.body)
					}
				} else {
					answer.errorFields(t, test.status)
				}
				if answer.status != test.status || answer.header.Get("Allow") != test.allow {
					t.Errorf("status %d, Allow %q, want %d and %q", answer.status, answer.header.Get("Allow"),
						test.status, test.allow)
				}
			})
		}
	})
}

// TestAnswersAreJSONWhateverIsAsked includes texts on which a reader of Accept
// has failed.
func TestAnswersAreJSONWhateverIsAsked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		for _, accept := range []string{
			"application/json", "*/*", "text/html", "json", "a;q,b", ";,", "a;", ",;q=9,", "application/json;q",
			"\xff;q,\xff",
		} {
			answer := s.wire(t, "GET", "/health", "", "Accept", accept)
			if kind := answer.header.Get("Content-Type"); answer.status != http.StatusOK || kind != "application/json" {
				t.Errorf("Accept %q: status %d, Content-Type %q", accept, answer.status, kind)
			}
		}
	})
}

// TestHealthNeverRefuses: published clients exit when it does.
func TestHealthNeverRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		for name, headers := range map[string][]string{
			"no credentials":               nil,
			"a bad key":                    {"X-Api-Key", "ak_test_nope"},
			"a bad token":                  {"Authorization", "Bearer nope"},
			"two keys that do not agree":   {"X-Api-Key", "ak_a", "Authorization", "Bearer ak_b"},
			"no scheme anyone knows":       {"Authorization", "Basic eDp5"},
			"a host name that is not ours": {"Host", "evil.example"},
		} {
			if answer := s.wire(t, "GET", "/health", "", headers...); answer.status != http.StatusOK {
				t.Errorf("%s: status %d", name, answer.status)
			}
		}
	})
}
