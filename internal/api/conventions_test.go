package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/testserver"
)

// errorCase is a request that is refused.
type errorCase struct {
	name, method, path, body string
	headers                  []string
	status                   int
	fields                   []string // only validation names any
}

func errorCases(s *testserver.Server, owner *testserver.Person, orgID string) []errorCase {
	outsider := testserver.Credentials(s.Person("outsider").Client)
	me := testserver.Credentials(owner.Client)
	agent := testserver.Credentials(s.Public.WithKey(s.AgentKey(owner, orgID).APIKey))
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
			"leaving as the last owner", "DELETE", "/organization/" + orgID + "/members/" + owner.ID, "", me, 409, nil,
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		for _, test := range errorCases(s, owner, s.Organization(owner, "Shape")) {
			t.Run(test.name, func(t *testing.T) {
				answer := s.Request(t, test.method, test.path, test.body, test.headers...)
				if diff := cmp.Diff(test.fields, answer.ErrorFields(t, test.status)); diff != "" {
					t.Errorf("fields complained of (-want +got):\n%s", diff)
				}
				challenge := answer.Header.Get("WWW-Authenticate")
				if wants := test.status == 401; wants != strings.HasPrefix(challenge, "Bearer ") {
					t.Errorf("WWW-Authenticate is %q", challenge)
				}
				if wait := answer.Header.Get("Retry-After"); wait != "" {
					t.Errorf("Retry-After is %q on a %d", wait, test.status)
				}
			})
		}
	})
}

func TestTooManyRequestsSayWhenToComeBack(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		const body = `{"email":"nobody@example.org"}`
		var answer testserver.Answer
		for range 11 { // five a minute, and the minute may end in between
			if answer = s.Request(t, "POST", "/auth/resend-otp", body); answer.Status != http.StatusAccepted {
				break
			}
		}
		answer.ErrorFields(t, http.StatusTooManyRequests)
		wait := answer.RetryAfter(t)
		if wait < 1 || wait > 60 {
			t.Errorf("Retry-After is %d s, want the rest of a minute", wait)
		}
	})
}

func TestUnreadyIs503(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		if answer := s.Request(t, "GET", "/ready", ""); answer.Status != http.StatusOK {
			t.Fatalf("/ready: %d %s", answer.Status, answer.Body)
		}
		s.API.Stopping()
		answer := s.Request(t, "GET", "/ready", "")
		answer.ErrorFields(t, http.StatusServiceUnavailable)
		if answer.RetryAfter(t) < 1 {
			t.Error("Retry-After asks for no wait at all")
		}
		if answer := s.Request(t, "GET", "/health", ""); answer.Status != http.StatusOK {
			t.Errorf("/health of a server that stops: %d", answer.Status)
		}
	})
}

// TestOtherMethods covers what HTTP itself knows besides the declared methods.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
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
				answer := s.Request(t, test.method, test.path, "")
				if test.method == "HEAD" {
					if len(answer.Body) > 0 {
						t.Errorf("a HEAD has a body: %s", answer.Body)
					}
				} else {
					answer.ErrorFields(t, test.status)
				}
				if answer.Status != test.status || answer.Header.Get("Allow") != test.allow {
					t.Errorf("status %d, Allow %q, want %d and %q", answer.Status, answer.Header.Get("Allow"),
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		for _, accept := range []string{
			"application/json", "*/*", "text/html", "json", "a;q,b", ";,", "a;", ",;q=9,", "application/json;q",
			"\xff;q,\xff",
		} {
			answer := s.Request(t, "GET", "/health", "", "Accept", accept)
			if kind := answer.Header.Get("Content-Type"); answer.Status != http.StatusOK || kind != "application/json" {
				t.Errorf("Accept %q: status %d, Content-Type %q", accept, answer.Status, kind)
			}
		}
	})
}

// TestHealthNeverRefuses: published clients exit when it does.
func TestHealthNeverRefuses(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		for name, headers := range map[string][]string{
			"no credentials":               nil,
			"a bad key":                    {"X-Api-Key", "ak_test_nope"},
			"a bad token":                  {"Authorization", "Bearer nope"},
			"two keys that do not agree":   {"X-Api-Key", "ak_a", "Authorization", "Bearer ak_b"},
			"no scheme anyone knows":       {"Authorization", "Basic eDp5"},
			"a host name that is not ours": {"Host", "evil.example"},
		} {
			if answer := s.Request(t, "GET", "/health", "", headers...); answer.Status != http.StatusOK {
				t.Errorf("%s: status %d", name, answer.Status)
			}
		}
	})
}
