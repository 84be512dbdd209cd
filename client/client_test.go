package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
)

// server answers every request with the handler and remembers them.
func server(t *testing.T, handler http.HandlerFunc) (*client.Client, *[]*http.Request) {
	t.Helper()
	var seen []*http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r)
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return &client.Client{BaseURL: s.URL}, &seen
}

func answering(status int, header http.Header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	after := func(text string) http.Header { return http.Header{"Retry-After": {text}} }
	const ours = `{"statusCode":400,"message":"email: is wrong","error":"Bad Request","details":[{"field":"email","message":"is wrong"}],"requestId":"r1"}`
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   client.Error
		text   string
	}{
		{"ours", 400, nil, ours,
			client.Error{
				StatusCode: 400,
				Message:    "email: is wrong",
				Code:       "Bad Request",
				Details:    []client.Detail{{Field: "email", Message: "is wrong"}},
				RequestID:  "r1",
			},
			"email: is wrong (400)"},
		{
			"OAuth's", 400, nil, `{"message":"wait","error":"slow_down","error_description":"wait"}`,
			client.Error{StatusCode: 400, Message: "wait", Code: "slow_down"}, "wait (400)",
		},
		{
			"the status is that of the answer", 403, nil, `{"statusCode":200,"message":"no"}`,
			client.Error{StatusCode: 403, Message: "no"}, "no (403)",
		},
		{"a proxy's page", 502, nil, "<html>Bad Gateway</html>",
			client.Error{StatusCode: 502, Message: "the server answered 502 Bad Gateway"},
			"the server answered 502 Bad Gateway (502)"},
		{"nothing", 500, nil, "",
			client.Error{StatusCode: 500, Message: "the server answered 500 Internal Server Error"},
			"the server answered 500 Internal Server Error (500)"},
		{"JSON without a message", 500, nil, `{"detail":"x"}`,
			client.Error{StatusCode: 500, Message: "the server answered 500 Internal Server Error"},
			"the server answered 500 Internal Server Error (500)"},
		{"wait", 429, after("7"), `{"message":"slow down"}`,
			client.Error{StatusCode: 429, Message: "slow down", RetryAfter: 7 * time.Second}, "slow down (429)"},
		{
			"wait for less than nothing", 503, after("-7"), `{"message":"away"}`,
			client.Error{StatusCode: 503, Message: "away"}, "away (503)",
		},
		{
			"wait beyond time", 503, after("99999999999999"), `{"message":"away"}`,
			client.Error{StatusCode: 503, Message: "away"}, "away (503)",
		},
		{"wait as long as a header can say", 503, after("4294967295"), `{"message":"away"}`,
			client.Error{StatusCode: 503, Message: "away", RetryAfter: 4294967295 * time.Second}, "away (503)"},
		{
			"wait in words", 503, after("soon"), `{"message":"away"}`, client.Error{StatusCode: 503, Message: "away"},
			"away (503)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			caller, _ := server(t, answering(c.status, c.header, c.body))
			_, err := caller.Me(t.Context())
			got, ok := err.(*client.Error)
			if !ok {
				t.Fatalf("err = %v (%T), want *client.Error", err, err)
			}
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got.Error() != c.text || client.StatusOf(err) != c.status {
				t.Errorf("text %q, status %d, want %q, %d", got.Error(), client.StatusOf(err), c.text, c.status)
			}
		})
	}
}

func TestAnswersThatAreNotJSON(t *testing.T) {
	t.Parallel()
	caller, _ := server(t, answering(200, nil, "<html>Welcome to the hotel's network</html>"))
	if _, err := caller.Health(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "decode the answer of GET /health") || client.StatusOf(err) != 0 {
		t.Errorf("err = %v, want one about the answer", err)
	}
}

// endless is the body of a server that does not stop.
type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }
func (endless) Close() error               { return nil }

// transport answers without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOversizedAnswer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 500} {
		caller := &client.Client{BaseURL: "http://writ.example",
			HTTP: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Body: endless{}}, nil
			})}}
		if _, err := caller.Health(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "has more than 67108864 bytes") {
			t.Errorf("status %d: err = %v, want one about the size", status, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	caller := &client.Client{BaseURL: "http://127.0.0.1:1"}
	if _, err := caller.Health(t.Context()); err == nil || client.StatusOf(err) != 0 ||
		!strings.Contains(err.Error(), "GET /health") {
		t.Errorf("err = %v (status %d), want a plain error", err, client.StatusOf(err))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := caller.Health(ended); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("err = %v, want the context's", err)
	}
}

// TestHostileIDs has every id arrive as one part of the path it was meant for.
func TestHostileIDs(t *testing.T) {
	t.Parallel()
	caller, seen := server(t, answering(200, nil, `{}`))
	for _, id := range []string{
		"a/b", "../../api-keys", "a?x=1", "a#b", "a%2fb", "a b", "ü", "a\r\nX-Evil: 1", "...", ".a", "a\x00b", "%2e%2e",
	} {
		*seen = nil
		if err := caller.RemoveMember(t.Context(), "org", id); err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		got := (*seen)[0]
		parts := strings.Split(got.URL.EscapedPath(), "/")
		if len(parts) != 5 || strings.Join(parts[:4], "/") != "/organization/org/members" || got.URL.RawQuery != "" ||
			got.Header.Get("X-Evil") != "" {
			t.Errorf("%q went to %s", id, got.URL)
			continue
		}
		if received, err := url.PathUnescape(parts[4]); err != nil || received != id {
			t.Errorf("%q arrived as %q (%v)", id, received, err)
		}
	}
}

// TestIDsThatAreNone are those that no escaping keeps from changing the path.
func TestIDsThatAreNone(t *testing.T) {
	t.Parallel()
	caller, seen := server(t, answering(200, nil, `{}`))
	ctx := t.Context()
	for _, id := range []string{"", ".", ".."} {
		for name, call := range map[string]func() error{
			"last":   func() error { return caller.CloseOrganization(ctx, id) },
			"middle": func() error { return caller.RevokeKey(ctx, id) },
			"second": func() error { return caller.RemoveMember(ctx, "org", id) },
		} {
			if err := call(); err == nil {
				t.Errorf("%s %q: sent to %s", name, id, (*seen)[len(*seen)-1].URL)
			}
		}
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	caller, seen := server(t, answering(200, nil, `{}`))
	base := caller.BaseURL
	for _, c := range []struct{ suffix, want string }{
		{"", "/health"}, {"/", "/health"}, {"///", "/health"}, {"/behind/proxy", "/behind/proxy/health"},
		{"/behind/proxy/", "/behind/proxy/health"},
	} {
		*seen = nil
		caller.BaseURL = base + c.suffix
		if _, err := caller.Health(t.Context()); err != nil {
			t.Errorf("%q: %v", c.suffix, err)
			continue
		}
		if got := (*seen)[0].URL.Path; got != c.want {
			t.Errorf("%q: path %s, want %s", c.suffix, got, c.want)
		}
	}
	for bad, want := range map[string]string{"": "no BaseURL", "localhost:8080": "begin with http://", "://x": ""} {
		caller.BaseURL = bad
		if _, err := caller.Health(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q as a URL: %v", bad, err)
		}
	}
}

// TestAnAddressWithAPath: what stands there takes no POST, and the error asks about the path, but not of a server's own
// address.
func TestAnAddressWithAPath(t *testing.T) {
	t.Parallel()
	const hint = "is BaseURL the address of the server, without a path?"
	caller, _ := server(t, answering(405, nil, `{"message": "this path does not take POST, but GET, HEAD"}`))
	base := caller.BaseURL
	for path, want := range map[string]bool{"/ui": true, "/ui/": true, "": false, "/": false} {
		caller.BaseURL = base + path
		if _, err := caller.Enforce(t.Context(), client.PlannedCall{}); err == nil ||
			strings.Contains(err.Error(), hint) != want {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	caller, seen := server(t, answering(200, nil, `{}`))
	for _, c := range []struct {
		name        string
		caller      *client.Client
		bearer, key string
	}{
		{"none", caller, "", ""},
		{"a person", caller.As("t1"), "Bearer t1", ""},
		{"a key", caller.WithKey("k1"), "", "k1"},
		{"a person after a key", caller.WithKey("k1").As("t1"), "Bearer t1", ""},
		{"a key after a person", caller.As("t1").WithKey("k1"), "", "k1"},
	} {
		*seen = nil
		if _, err := c.caller.Me(t.Context()); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		header := (*seen)[0].Header
		if header.Get("Authorization") != c.bearer || header.Get("X-API-Key") != c.key {
			t.Errorf("%s: sent %q and %q", c.name, header.Get("Authorization"), header.Get("X-API-Key"))
		}
	}
}

func TestUserAgent(t *testing.T) {
	t.Parallel()
	caller, seen := server(t, answering(200, nil, `{}`))
	caller.UserAgent = "program/1"
	for _, c := range []*client.Client{caller, caller.As("t1"), caller.WithKey("k1")} {
		if _, err := c.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range *seen {
		if got := r.Header.Get("User-Agent"); got != "program/1" {
			t.Errorf("request %d is of %q", i, got)
		}
	}
}

// TestRedirectsAreNotFollowed keeps credentials from a server that another one
// points to. net/http would drop the token on the way, but not the key.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	thief, stolen := server(t, answering(200, nil, `{}`))
	for _, status := range []int{301, 302, 307, 308} {
		caller, _ := server(t, answering(status, http.Header{"Location": {thief.BaseURL + "/auth/me"}}, ""))
		_, err := caller.WithKey("k1").Me(t.Context())
		if client.StatusOf(err) != status {
			t.Errorf("%d: err = %v, want the answer itself", status, err)
		}
	}
	if len(*stolen) != 0 {
		t.Errorf("the other server was sent %v", (*stolen)[0].Header)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	var bodies []string
	caller, seen := server(t, func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body) // an empty body fails the comparison
		bodies = append(bodies, r.Header.Get("Content-Type")+" "+string(content))
		w.WriteHeader(http.StatusNoContent)
	})
	if err := caller.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := caller.VerifyOTP(t.Context(), "a@example.org", "123456", "p4ssword"); err != nil {
		t.Fatal(err)
	}
	if _, err := caller.Keys(t.Context(), "o&1", client.List{Limit: 5, Cursor: "a=b"}); err != nil {
		t.Fatal(err)
	}
	want := []string{" ", `application/json {"code":"123456","email":"a@example.org","password":"p4ssword"}`, " "}
	if diff := cmp.Diff(want, bodies); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
	if got, want := (*seen)[2].URL.RawQuery, "cursor=a%3Db&limit=5&organizationId=o%261"; got != want {
		t.Errorf("query = %s, want %s", got, want)
	}
}
