package api_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"writ/internal/api"
	"writ/internal/api/route"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// checkHeaders wants what every answer carries.
func checkHeaders(a testserver.Answer, t *testing.T, what string) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff",
		"X-Frame-Options":        "DENY",
		"Referrer-Policy":        "no-referrer",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
	if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src") ||
		!strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("%s: Content-Security-Policy is %q", what, policy)
	}
	if a.Header.Get("Cache-Control") == "" {
		t.Errorf("%s: no Cache-Control", what)
	}
	if _, err := uuid.Parse(a.Header.Get("X-Request-Id")); err != nil {
		t.Errorf("%s: X-Request-Id is %q", what, a.Header.Get("X-Request-Id"))
	}
}

func TestSecurityHeadersOnEveryAnswer(t *testing.T) {
	t.Parallel()
	const origin = "https://console.example.org"
	s := testserver.Start(t, dbtest.SQLite(t), "WRIT_CORS_ORIGINS", origin)
	ids := map[string]bool{}
	check := func(method, path string, headers ...string) testserver.Answer {
		answer := s.Request(t, method, path, "", headers...)
		checkHeaders(answer, t, method+" "+path)
		id := answer.Header.Get("X-Request-Id")
		if ids[id] || id == "mine" {
			t.Errorf("%s %s: the request id %s is not new", method, path, id)
		}
		ids[id] = true
		return answer
	}
	for _, r := range s.API.Routes() {
		want := "no-store"
		if r.Path == "/blog" || r.Path == "/blog/feed.xml" { // published to everybody: kept, and asked about each time
			want = "no-cache"
		}
		if answer := check(r.Method, r.Path, "X-Request-Id", "mine"); answer.Header.Get("Cache-Control") != want {
			t.Errorf("%s %s may be cached: %q", r.Method, r.Path, answer.Header.Get("Cache-Control"))
		}
	}
	for _, path := range []string{
		"/", "/ui", "/ui/", "/ui/page.css", "/ui/sign-in.js", "/auth/device", "/api-docs", "/api-docs/swagger-ui.css",
		"/openapi.json", "/nothing", "/metrics",
	} {
		check("GET", path)
		check("PUT", path)
	}
	check("GET", "/auth/me", "Host", "evil.example")
	check("OPTIONS", "/auth/me", "Origin", origin, "Access-Control-Request-Method", "GET")
	if answer := check("GET", "/health"); answer.Header.Get("Strict-Transport-Security") != "" {
		t.Error("a server without TLS promises it to browsers")
	}
}

func TestStrictTransportWhereTLSIsInFront(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t), "WRIT_PUBLIC_URL", "https://writ.example.org")
	if got := s.Request(t, "GET", "/health",
		"").Header.Get("Strict-Transport-Security"); !strings.HasPrefix(got, "max-age=") {
		t.Errorf("Strict-Transport-Security is %q", got)
	}
}

// TestDoubledSlashes: published clients join a base URL that ends in a slash
// with a path that begins with one.
func TestDoubledSlashes(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		orgID := s.Organization(owner, "Slashes")
		me := testserver.Credentials(owner.Client)
		for _, test := range []struct {
			method, path, body string
			status             int
		}{
			{"GET", "//health", "", 200},
			{"GET", "///auth//me", "", 200},
			{"GET", "/./auth/../auth/me", "", 200},
			{"GET", "//organization//" + orgID + "//members?limit=1", "", 200},
			{"POST", "//organization", `{"name":"One"}`, 201},
			{"POST", "//api-keys//provision", `{"product":"p"}`, 201},
			{"PATCH", "//organization//" + orgID, `{"name":"Two"}`, 200},
			{"POST", "//nothing", `{}`, 404},
			{"GET", "//evil.example/", "", 404},
		} {
			answer := s.Request(t, test.method, test.path, test.body, me...)
			if answer.Status != test.status {
				t.Errorf("%s %s: status %d, want %d: %s", test.method, test.path, answer.Status, test.status,
					answer.Body)
			}
		}
		mine, err := owner.Organizations(t.Context())
		if err != nil || len(mine) != 2 {
			t.Errorf("organizations after the calls: %+v, %v; want the one that was renamed and a new one", mine, err)
		}
	})
}

// TestNothingButPagesRedirects: a client follows a redirected POST with a GET.
func TestNothingButPagesRedirects(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	paths := []string{"/", "/ui", "/ui/", "/api-docs/"}
	for _, r := range s.API.Routes() {
		paths = append(paths, r.Path, r.Path+"/", "/"+r.Path, r.Path+"/.", r.Path+"//")
	}
	for _, path := range paths {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			answer := s.Request(t, method, path, `{}`)
			if strings.Trim(path, "/.") == "auth/device/code" && answer.Status == http.StatusOK {
				continue // anyone may ask, and need say nothing
			}
			if deny := answer.Status == http.StatusOK &&
				strings.Contains(string(answer.Body), `"allowed":false`); deny {
				continue // a decision about a body that says nothing
			}
			if answer.Status < 400 || answer.Status >= 500 {
				t.Errorf("%s %s: status %d, Location %q", method, path, answer.Status, answer.Header.Get("Location"))
			}
		}
		answer := s.Request(t, "GET", path, "")
		isPage := path == "/" || path == "/ui"
		if got := answer.Status >= 300 && answer.Status < 400; got != isPage {
			t.Errorf("GET %s: status %d, Location %q", path, answer.Status, answer.Header.Get("Location"))
		}
		if isPage && answer.Header.Get("Location") != "/ui/" {
			t.Errorf("GET %s leads to %q", path, answer.Header.Get("Location"))
		}
	}
}

func TestHostNames(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t), "WRIT_PUBLIC_URL", "https://Writ.example.org:8443",
		"WRIT_HOST_NAMES", "writ, Writ.Writ.svc")
	for _, test := range []struct {
		host, path string
		status     int
	}{
		{"127.0.0.1", "/ready", 200},
		{"10.9.8.7:1234", "/ready", 200},
		{"[::1]:8080", "/ready", 200},
		{"[::1]", "/ready", 200},
		{"localhost", "/ready", 200},
		{"LOCALHOST:99", "/ready", 200},
		{"writ.example.org", "/ready", 200},
		{"WRIT.example.org:443", "/ready", 200},
		{"writ:8080", "/ready", 200},
		{"writ.writ.svc", "/ready", 200},
		{"writ.svc", "/ready", 421},
		{"evil.example", "/ready", 421},
		{"evil.example:8080", "/openapi.json", 421},
		{"evil.example", "/nothing", 421},
		{"localhost.evil.example", "/ready", 421},
		{"writ.example.org.evil.example", "/ready", 421},
		{"xwrit.example.org", "/ready", 421},
		{"127.0.0.1.evil.example", "/ready", 421},
		{"evil.example", "/health", 200},
		{"evil.example", "//health", 200},
		{"evil.example", "/health/../ready", 421},
	} {
		answer := s.Request(t, "GET", test.path, "", "Host", test.host)
		if answer.Status != test.status {
			t.Errorf("%s as %s: status %d, want %d", test.path, test.host, answer.Status, test.status)
		}
	}
	s.Request(t, "POST", "/auth/login", `{"email":"a@example.org","password":"x"}`, "Host", "evil.example").
		ErrorFields(t, http.StatusMisdirectedRequest)
}

// sharing are the headers by which a browser lets another site's page read.
func sharing(a testserver.Answer) string {
	var found []string
	for name, values := range a.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			found = append(found, name+": "+strings.Join(values, ", "))
		}
	}
	return strings.Join(found, "; ")
}

const (
	friendlyOrigin = "https://console.example.org"
	hostileOrigin  = "https://evil.example"
)

func TestNoOtherSiteByDefault(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	for _, origin := range []string{friendlyOrigin, "null", "http://" + s.Address} {
		if got := sharing(s.Request(t, "GET", "/health", "", "Origin", origin)); got != "" {
			t.Errorf("%s may read: %s", origin, got)
		}
		preflight := s.Request(t, "OPTIONS", "/auth/login", "", "Origin", origin, "Access-Control-Request-Method",
			"POST")
		preflight.ErrorFields(t, http.StatusMethodNotAllowed)
		if got := sharing(preflight); got != "" {
			t.Errorf("%s may call: %s", origin, got)
		}
	}
}

func TestConfiguredSitesMayCall(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t), "WRIT_CORS_ORIGINS", "https://other.example.org,"+friendlyOrigin)
	preflight := func(origin string) testserver.Answer {
		return s.Request(t, "OPTIONS", "/auth/login", "", "Origin", origin,
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
	}
	answer := preflight(friendlyOrigin)
	if answer.Status != http.StatusNoContent || len(answer.Body) > 0 {
		t.Errorf("preflight: status %d, body %q", answer.Status, answer.Body)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":  friendlyOrigin,
		"Access-Control-Allow-Methods": "POST",
		"Access-Control-Allow-Headers": "Authorization",
		"Access-Control-Max-Age":       "600",
		"Vary":                         "Origin",
	} {
		if got := answer.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("preflight: %s is %q, want %q in it", name, got, want)
		}
	}
	for _, path := range []string{"/health", "/auth/me", "/nothing"} { // errors must be readable too
		answer := s.Request(t, "GET", path, "", "Origin", friendlyOrigin)
		if got := answer.Header.Get("Access-Control-Allow-Origin"); got != friendlyOrigin {
			t.Errorf("%s: Access-Control-Allow-Origin is %q", path, got)
		}
		if got := answer.Header.Get("Access-Control-Allow-Credentials"); got != "" {
			t.Errorf("%s: browsers may send credentials of their own: %q", path, got)
		}
	}
	for _, origin := range []string{
		hostileOrigin, "null", friendlyOrigin + ".evil.example", "http://console.example.org",
	} {
		for what, answer := range map[string]testserver.Answer{
			"call": s.Request(t, "GET", "/health", "", "Origin", origin), "preflight": preflight(origin),
		} {
			if got := sharing(answer); got != "" || answer.Header.Get("Vary") != "Origin" {
				t.Errorf("%s of %s: %q, Vary %q", what, origin, got, answer.Header.Get("Vary"))
			}
		}
	}
}

func TestBodyLimitIsSettable(t *testing.T) {
	t.Parallel()
	const limit = 2048
	s := testserver.Start(t, dbtest.SQLite(t), "WRIT_MAX_BODY_BYTES", "2048")
	me := testserver.Credentials(s.Person("owner").Client)
	body := func(size int) string {
		const head, tail = `{"name":"Limit"`, `}`
		return head + strings.Repeat(" ", size-len(head)-len(tail)) + tail
	}
	if answer := s.Request(t, "POST", "/organization", body(limit), me...); answer.Status != http.StatusCreated {
		t.Errorf("a body of the limit: status %d: %s", answer.Status, answer.Body)
	}
	s.Request(t, "POST", "/organization", body(limit+1), me...).ErrorFields(t, http.StatusRequestEntityTooLarge)

	// Without a Content-Length, too.
	request, err := http.NewRequestWithContext(t.Context(), "POST", s.Public.BaseURL+"/organization",
		struct{ *strings.Reader }{strings.NewReader(body(limit + 1))})
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(me[0], me[1])
	response, err := testserver.RequestClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of unknown length beyond the limit: status %d", response.StatusCode)
	}
}

// TestStrangersBodiesAreNotRead: who may not call is told so whatever they sent.
func TestStrangersBodiesAreNotRead(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	for _, r := range s.API.Routes() {
		if r.Mode == route.Public || r.Mode == route.PlanToken || r.Method == http.MethodGet {
			continue
		}
		path := pathParameter.ReplaceAllString(r.Path, "x")
		for what, body := range map[string]string{"bad": `{"`, "large": strings.Repeat(" ", 1<<20+1)} {
			if answer := s.Request(t, r.Method, path, body); answer.Status != http.StatusUnauthorized {
				t.Errorf("%s %s with a %s body: status %d, want 401", r.Method, r.Path, what, answer.Status)
			}
		}
	}
}

// TestPanicIsA500 has an edge without the area that signs in, so that signing in
// panics.
func TestPanicIsA500(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	log := &testserver.Buffer{}
	broken := httptest.NewServer(api.New(api.Config{
		Database:     s.Database,
		Federation:   s.Federation,
		Limiter:      s.Limiter,
		PublicURL:    &url.URL{Scheme: "http", Host: "localhost"},
		MaxBodyBytes: 1 << 20,
		Logger:       slog.New(slog.NewJSONHandler(log, nil)),
	}))
	defer broken.Close()
	s.Public.BaseURL = broken.URL
	answer := s.Request(t, "POST", "/auth/login", `{"email":"a@example.org","password":"`+testserver.TypedSecret+`"}`)
	answer.ErrorFields(t, http.StatusInternalServerError)
	checkHeaders(answer, t, "a panic")
	if strings.Contains(string(answer.Body), "nil pointer") {
		t.Errorf("the caller learns about the inside: %s", answer.Body)
	}
	found := false
	for line := range strings.Lines(log.String()) {
		var entry struct{ Level, Msg, RequestID, Stack, Panic string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("log line %s: %v", line, err)
		}
		if entry.RequestID == answer.Header.Get("X-Request-Id") &&
			strings.Contains(entry.Stack, "writ/internal/auth.(*Service).Login") {
			found = entry.Level == "ERROR" && entry.Panic != ""
		}
	}
	if !found {
		t.Errorf("the log has no error with the request's id, the panic and its stack:\n%s", log.String())
	}
	if strings.Contains(log.String(), testserver.TypedSecret) {
		t.Errorf("the log has the body:\n%s", log.String())
	}
	if after := s.Request(t, "GET", "/health", ""); after.Status != http.StatusOK {
		t.Errorf("the server after a panic: status %d", after.Status)
	}
}

// TestEscapedSlashesStayInTheirSegment: an id that a caller has escaped must not
// lead to another route, however it is spelt.
func TestEscapedSlashesStayInTheirSegment(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Acme")
		for _, id := range []string{
			"../../" + org, "..%2F..%2F" + org, "x/../../../" + org, "%2e%2e/%2e%2e/" + org, "./" + org,
		} {
			err := owner.RemoveMember(t.Context(), org, id)
			if err == nil {
				t.Errorf("removing %q succeeded", id)
			}
		}
		for _, path := range []string{
			"/organization/" + org + "/members/..%2F..%2F" + org,
			"/organization/" + org + "/members/..%2f..%2f" + org,
			"/organization/" + org + "/members/x%2F..%2F..%2F..%2F" + org,
			"/organization/" + org + "/members/%2e%2e/%2e%2e/" + org,
		} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, owner.BaseURL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+owner.AccessToken)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusNotFound {
				t.Errorf("DELETE %s: %d, want 404", path, response.StatusCode)
			}
		}
		if _, err := owner.Organization(t.Context(), org); err != nil {
			t.Errorf("the organization after all that: %v", err)
		}
	})
}

// TestASlashTooMany: people put one at the end of an address, and are told.
func TestASlashTooMany(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		for path, want := range map[string]bool{"/proxy/mcp/bank/": true, "/nowhere/": true, "/nowhere": false} {
			answer := s.Request(t, "POST", path, "{}")
			answer.ErrorFields(t, http.StatusNotFound)
			if got := strings.Contains(string(answer.Body), "leave out the slash"); got != want {
				t.Errorf("%s: %s", path, answer.Body)
			}
		}
	})
}
