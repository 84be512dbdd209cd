package traces_test

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// block is the first block of code in a language on a page of the documentation.
func block(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```"+language+"\n")
	code, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return code
}

var anyKey = regexp.MustCompile(`ak_live_\w+`)

// sampleRequest is the body of the page's request, with the times that the shell of
// somebody who sends it now would put in.
func sampleRequest(t *testing.T, now time.Time) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/opentelemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), " -d '")
	body, _, ended := strings.Cut(rest, "\n}'\n")
	if !found || !ended {
		t.Fatal("opentelemetry.md has no request")
	}
	for shell, seconds := range map[string]int64{"'$((now - 2))": now.Unix() - 2, "'${now}": now.Unix()} {
		if !strings.Contains(body, shell) {
			t.Fatalf("the request has no %s", shell)
		}
		body = strings.ReplaceAll(body, shell+"000000000'", strconv.FormatInt(seconds, 10)+"000000000")
	}
	return body + "\n}"
}

// TestOpenTelemetryPage does what docs/opentelemetry.md says.
func TestOpenTelemetryPage(t *testing.T) {
	t.Parallel()
	program := exporter(t)
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("Its two variables are all that an SDK needs", func(t *testing.T, o *observed) {
			var settings []string
			for line := range strings.Lines(block(t, "opentelemetry.md", "sh")) {
				setting := strings.TrimPrefix(strings.TrimSpace(line), "export ")
				setting = strings.Replace(setting, "https://writ.example.org", o.Public.BaseURL, 1)
				settings = append(settings, anyKey.ReplaceAllString(setting, o.agent.APIKey))
			}
			if len(settings) != 2 {
				t.Fatalf("the page has %q", settings)
			}
			start := o.Now().Add(-time.Minute).Truncate(time.Second)
			for _, part := range []string{"agent", "tool"} {
				runExporter(t, program, part, 9, start, settings)
			}
			o.wantExported(t, 9, start)
		})
		rule("Its request is taken whole", func(t *testing.T, o *observed) {
			if got := o.exportJSON(t, sampleRequest(t, o.Now())); got.Status != http.StatusOK ||
				string(got.Body) != "{}" {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			got := o.read(uuidTrace)
			if got.Product != "planner" || len(got.Spans) != 1 || got.Spans[0].Kind != "generation" ||
				got.SessionID == nil {
				t.Errorf("stored is %+v", got)
			}
			if listed := o.listed(client.TraceFilter{}); !slices.Equal(listed, []string{uuidTrace}) {
				t.Errorf("the list has %v, and the page shows a request whose trace is seen", listed)
			}
		})
	})
}
