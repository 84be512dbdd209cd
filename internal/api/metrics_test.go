package api_test

import (
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

func TestMetricsAreNotServedWithoutAToken(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	for _, headers := range [][]string{nil, {"Authorization", "Bearer "}, {"Authorization", "Bearer x"}} {
		s.Request(t, "GET", "/metrics", "", headers...).ErrorFields(t, http.StatusNotFound)
	}
}

func TestMetricsAskForTheirToken(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t), "WRIT_METRICS_TOKEN", testserver.MetricsToken)
	me := testserver.Credentials(s.Person("owner").Client)
	for name, headers := range map[string][]string{
		"nothing":                 nil,
		"an empty token":          {"Authorization", "Bearer "},
		"a wrong token":           {"Authorization", "Bearer " + testserver.MetricsToken + "x"},
		"the start of the token":  {"Authorization", "Bearer " + testserver.MetricsToken[:16]},
		"another scheme":          {"Authorization", "Basic " + testserver.MetricsToken},
		"a person's access token": me,
		"the token as an API key": {"X-Api-Key", testserver.MetricsToken},
		"the token in two headers": {
			"Authorization", "Bearer " + testserver.MetricsToken + ", Bearer " + testserver.MetricsToken,
		},
	} {
		answer := s.Request(t, "GET", "/metrics", "", headers...)
		answer.ErrorFields(t, http.StatusUnauthorized)
		if strings.Contains(string(answer.Body), "writ_") {
			t.Errorf("%s: the answer shows metrics", name)
		}
	}
	answer := s.Request(t, "GET", "/metrics", "", "Authorization", "Bearer "+testserver.MetricsToken)
	if answer.Status != http.StatusOK || !strings.Contains(string(answer.Body), "writ_build_info{") {
		t.Errorf("with the token: status %d:\n%.300s", answer.Status, answer.Body)
	}
}

func TestMetricsOnAListenerOfTheirOwn(t *testing.T) {
	t.Parallel()
	address := quietAddress(t)
	s := testserver.Start(t, dbtest.SQLite(t), "WRIT_METRICS_LISTEN", address)
	s.Request(t, "GET", "/metrics", "").ErrorFields(t, http.StatusNotFound)
	s.Public.BaseURL = "http://" + address
	if answer := s.Request(t, "GET", "/metrics", ""); answer.Status != http.StatusOK ||
		!strings.Contains(string(answer.Body), "writ_build_info{") {
		t.Errorf("on its own listener: status %d:\n%.300s", answer.Status, answer.Body)
	}
	if answer := s.Request(t, "GET", "/health", ""); answer.Status != http.StatusNotFound {
		t.Errorf("/health on the listener for metrics: status %d", answer.Status)
	}
}

// quietAddress is a free address below the ports the system gives to whoever
// asks for any, which other tests do.
func quietAddress(t *testing.T) string {
	t.Helper()
	for port := 20_000; port < 30_000; port++ {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if listener, err := net.Listen("tcp", address); err == nil {
			listener.Close()
			return address
		}
	}
	t.Fatal("every port is taken")
	return ""
}

var routeLabel = regexp.MustCompile(`writ_http_request_duration_seconds_count\{route="([^"]*)",status="(\d+)"\} (\d+)`)

var projectionLag = regexp.MustCompile(`(?m)^writ_projection_lag_seconds \d`)

// TestMetricsNameRoutesNotPaths: an id or a guess in a label would make a new
// time series for every request, and leak who was asked about.
func TestMetricsNameRoutesNotPaths(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		orgID := s.Organization(owner, "Metrics")
		me := testserver.Credentials(owner.Client)
		stranger := database.NewID()
		for _, path := range []string{
			"/organization/" + orgID, "//organization//" + orgID, "/organization/" + stranger,
			"/organization/" + orgID + "/members",
			"/secret-guess", "/organization/" + orgID + "/secret-guess", "/ui/secret-guess", "/ui", "/",
		} {
			s.Request(t, "GET", path, "", me...)
		}
		s.Request(t, "SECRET-GUESS", "/health", "")
		s.Request(t, "GET", "/ready", "", "Host", "secret-guess.example")

		text := string(s.Request(t, "GET", "/metrics", "", "Authorization", "Bearer "+testserver.MetricsToken).Body)
		counts := countsByRoute(t, s, text)
		for series, want := range map[string]string{
			"GET /organization/{orgId} 200":         "2",
			"GET /organization/{orgId} 403":         "1",
			"GET /organization/{orgId}/members 200": "1",
			"unmatched 404":                         "2",
			"unmatched 405":                         "1",
			"unmatched 421":                         "1",
		} {
			if counts[series] != want {
				t.Errorf("%s was counted %q times, want %s", series, counts[series], want)
			}
		}
		for _, private := range []string{orgID, stranger, "secret-guess", "SECRET-GUESS", owner.Email} {
			if strings.Contains(text, private) {
				t.Errorf("the metrics show %s", private)
			}
		}
		if !strings.Contains(text, "go_goroutines") {
			t.Error("the process is not measured")
		}
		if !projectionLag.MatchString(text) {
			t.Error("how far telemetry is behind decisions is not measured")
		}
	}, "WRIT_METRICS_TOKEN", testserver.MetricsToken)
}

// TestMetricsTellHowItGoes: what an operator looks at first.
func TestMetricsTellHowItGoes(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		key := s.KeyFor(owner.ID, s.Organization(owner, "Metrics")).Secret.Reveal()
		s.Request(t, "POST", "/iap/enforce", `{"tool_name":"Bash","tool_input":{}}`, "X-Api-Key", key)
		s.Request(t, "POST", "/iap/enforce", `{"tool_name":"Read","tool_input":{}}`, "X-Api-Key", key)
		text := string(s.Request(t, "GET", "/metrics", "", "Authorization", "Bearer "+testserver.MetricsToken).Body)
		for _, line := range []string{
			`writ_database_queue_length{store="main"} \d+`, `writ_database_queue_length{store="telemetry"} \d+`,
			`writ_decisions_total{decision="deny"} 2`, `writ_decisions_total{decision="allow"} 0`,
			`writ_decisions_total{decision="hold"} 0`, `writ_decisions_total{decision="ask"} 0`,
			`writ_decisions_unrecorded_total 0`, `writ_forwarding_failing 0`, `writ_approvals_pending 0`,
		} {
			if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text) {
				t.Errorf("there is no line %s", line)
			}
		}
		logs := regexp.MustCompile(`(?m)^writ_database_log_bytes\{store="(main|telemetry)"\} [1-9]`).FindAllString(text,
			-1)
		if want := map[database.Engine]int{database.SQLite: 2}[s.Database.Engine()]; len(logs) != want {
			t.Errorf("%d logs are measured, want %d", len(logs), want)
		}
	}, "WRIT_METRICS_TOKEN", testserver.MetricsToken)
}

// countsByRoute is how often each route answered with each status. A label that
// is no route fails the test.
func countsByRoute(t *testing.T, s *testserver.Server, text string) map[string]string {
	t.Helper()
	// Of the document every test may be the first reader.
	known := []string{"unmatched", "GET /ui/", "/ui/", "GET /{$}", "GET /metrics", "GET /openapi.json"}
	for _, r := range s.API.Routes() {
		known = append(known, r.Method+" "+r.Path)
	}
	counts := map[string]string{}
	for _, match := range routeLabel.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(known, match[1]) {
			t.Errorf("the label %q is no route", match[1])
		}
		counts[match[1]+" "+match[2]] = match[3]
	}
	return counts
}
