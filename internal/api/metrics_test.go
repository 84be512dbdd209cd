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
)

const metricsToken = "0123456789abcdef-metrics"

func TestMetricsAreNotServedWithoutAToken(t *testing.T) {
	t.Parallel()
	s := start(t, dbtest.SQLite(t))
	for _, headers := range [][]string{nil, {"Authorization", "Bearer "}, {"Authorization", "Bearer x"}} {
		s.wire(t, "GET", "/metrics", "", headers...).errorFields(t, http.StatusNotFound)
	}
}

func TestMetricsAskForTheirToken(t *testing.T) {
	t.Parallel()
	s := start(t, dbtest.SQLite(t), "WRIT_METRICS_TOKEN", metricsToken)
	me := credentials(s.person("owner").Client)
	for name, headers := range map[string][]string{
		"nothing":                  nil,
		"an empty token":           {"Authorization", "Bearer "},
		"a wrong token":            {"Authorization", "Bearer " + metricsToken + "x"},
		"the start of the token":   {"Authorization", "Bearer " + metricsToken[:16]},
		"another scheme":           {"Authorization", "Basic " + metricsToken},
		"a person's access token":  me,
		"the token as an API key":  {"X-Api-Key", metricsToken},
		"the token in two headers": {"Authorization", "Bearer " + metricsToken + ", Bearer " + metricsToken},
	} {
		answer := s.wire(t, "GET", "/metrics", "", headers...)
		answer.errorFields(t, http.StatusUnauthorized)
		if strings.Contains(string(answer.body), "writ_") {
			t.Errorf("%s: the answer shows metrics", name)
		}
	}
	answer := s.wire(t, "GET", "/metrics", "", "Authorization", "Bearer "+metricsToken)
	if answer.status != http.StatusOK || !strings.Contains(string(answer.body), "writ_build_info{") {
		t.Errorf("with the token: status %d:\n%.300s", answer.status, answer.body)
	}
}

func TestMetricsOnAListenerOfTheirOwn(t *testing.T) {
	t.Parallel()
	address := quietAddress(t)
	s := start(t, dbtest.SQLite(t), "WRIT_METRICS_LISTEN", address)
	s.wire(t, "GET", "/metrics", "").errorFields(t, http.StatusNotFound)
	s.public.BaseURL = "http://" + address
	if answer := s.wire(t, "GET", "/metrics", ""); answer.status != http.StatusOK ||
		!strings.Contains(string(answer.body), "writ_build_info{") {
		t.Errorf("on its own listener: status %d:\n%.300s", answer.status, answer.body)
	}
	if answer := s.wire(t, "GET", "/health", ""); answer.status != http.StatusNotFound {
		t.Errorf("/health on the listener for metrics: status %d", answer.status)
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
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		orgID := s.organization(owner, "Metrics")
		me := credentials(owner.Client)
		stranger := database.NewID()
		for _, path := range []string{
			"/organization/" + orgID, "//organization//" + orgID, "/organization/" + stranger,
			"/organization/" + orgID + "/members",
			"/secret-guess", "/organization/" + orgID + "/secret-guess", "/ui/secret-guess", "/ui", "/",
		} {
			s.wire(t, "GET", path, "", me...)
		}
		s.wire(t, "SECRET-GUESS", "/health", "")
		s.wire(t, "GET", "/ready", "", "Host", "secret-guess.example")

		text := string(s.wire(t, "GET", "/metrics", "", "Authorization", "Bearer "+metricsToken).body)
		counts := s.countsByRoute(t, text)
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
	}, "WRIT_METRICS_TOKEN", metricsToken)
}

// TestMetricsTellHowItGoes: what an operator looks at first.
func TestMetricsTellHowItGoes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		key := s.keyFor(owner.ID, s.organization(owner, "Metrics")).Secret.Reveal()
		s.wire(t, "POST", "/iap/enforce", `{"tool_name":"Bash","tool_input":{}}`, "X-Api-Key", key)
		s.wire(t, "POST", "/iap/enforce", `{"tool_name":"Read","tool_input":{}}`, "X-Api-Key", key)
		text := string(s.wire(t, "GET", "/metrics", "", "Authorization", "Bearer "+metricsToken).body)
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
	}, "WRIT_METRICS_TOKEN", metricsToken)
}

// countsByRoute is how often each route answered with each status. A label that
// is no route fails the test.
func (s *server) countsByRoute(t *testing.T, text string) map[string]string {
	t.Helper()
	known := []string{"unmatched", "GET /ui/", "/ui/", "GET /{$}", "GET /metrics"}
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
