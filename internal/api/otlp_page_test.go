package api_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// block is the first block of code in a language on a page of the documentation.
func block(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
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

// TestOpenTelemetryPage does what docs/opentelemetry.md says.
func TestOpenTelemetryPage(t *testing.T) {
	t.Parallel()
	program := exporter(t)
	rules(t, func(s *server, rule func(string, func(*testing.T, *observed))) {
		rule("Its two variables are all that an SDK needs", func(t *testing.T, o *observed) {
			var settings []string
			for line := range strings.Lines(block(t, "opentelemetry.md", "sh")) {
				setting := strings.TrimPrefix(strings.TrimSpace(line), "export ")
				setting = strings.Replace(setting, "https://writ.example.org", o.public.BaseURL, 1)
				settings = append(settings, anyKey.ReplaceAllString(setting, o.agent.APIKey))
			}
			if len(settings) != 2 {
				t.Fatalf("the page has %q", settings)
			}
			start := o.now().Add(-time.Minute).Truncate(time.Second)
			for _, part := range []string{"agent", "tool"} {
				runExporter(t, program, part, 9, start, settings)
			}
			o.wantExported(t, 9, start)
		})
		rule("Its request is taken whole", func(t *testing.T, o *observed) {
			if got := o.exportJSON(t, block(t, "opentelemetry.md", "json")); got.status != http.StatusOK || string(got.body) != "{}" {
				t.Fatalf("%d %s", got.status, got.body)
			}
			got := o.read(uuidTrace)
			if got.Product != "planner" || len(got.Spans) != 1 || got.Spans[0].Kind != "generation" || got.SessionID == nil {
				t.Errorf("stored is %+v", got)
			}
		})
	})
}
