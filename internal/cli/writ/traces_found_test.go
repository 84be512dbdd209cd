package writ_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"writ/internal/cli"
	"writ/internal/cli/writ"
)

// TestAnExportOfNothingSaysWhereItLooked, so that nobody takes old traces for lost.
func TestAnExportOfNothingSaysWhereItLooked(t *testing.T) {
	t.Parallel()
	url := exporter(t, map[string]string{"": "{\"end\":{\"complete\":true,\"lines\":0}}\n"})
	for want, args := range map[string][]string{
		"writ: 0 traces of the last 7 days; --days reaches further\n":  nil,
		"writ: 0 sessions of the last 1 day; --days reaches further\n": {"--rows", "sessions", "--days", "1"},
		"writ: 0 traces of the last 90 days\n":                         {"--days", "90"},
	} {
		var printed, told bytes.Buffer
		args = append([]string{
			"traces", "export", "--url", url, "--token", withToken(t), "--organization",
			"0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30",
		}, args...)
		if err := writ.Run(t.Context(), args, cli.Streams{Out: &printed, Err: &told}); err != nil ||
			told.String() != want {
			t.Errorf("%q, %v; want %q", told.String(), err, want)
		}
	}
}

// TestATraceByItsOpenTelemetryID: 32 digits are the same id as our 36 characters.
func TestATraceByItsOpenTelemetryID(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	for given, want := range map[string]string{
		"5B8EFFF798038103D269b633813fc60c":     "/traces/5b8efff7-9803-8103-d269-b633813fc60c/export",
		"5b8efff7-9803-8103-d269-b633813fc60c": "/traces/5b8efff7-9803-8103-d269-b633813fc60c/export",
		"5b8efff798038103d269b633813fc60x":     "/traces/5b8efff798038103d269b633813fc60x/export",
	} {
		if _, err := export(t, server.URL, given); err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		if got := <-asked; !strings.HasSuffix(got, want) {
			t.Errorf("%s: asked for %s, want %s", given, got, want)
		}
	}
}

// TestATailDoesNotWaitForWhatCannotCome: no trace has a session that is no UUID.
func TestATailDoesNotWaitForWhatCannotCome(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--only", "traces"}, {"--name", "deploy"}, {"--status", "ok"}} {
		args = append([]string{
			"traces", "tail", "--url", "http://localhost:1", "--token", withToken(t), "--session", "chat-17",
		}, args...)
		var told bytes.Buffer
		err := writ.Run(t.Context(), args, cli.Streams{Out: &told, Err: &told})
		if !errors.Is(err, cli.ErrUsage) || !strings.Contains(err.Error(), "--rows sessions lists the ids") {
			t.Errorf("%v: %v", args, err)
		}
	}
	e := newTeller(t, "") // it answers, and tells nothing
	_, said, err := e.tail(t.Context(), "--organization", "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", "--token",
		withToken(t), "--session", "chat-17")
	if err == nil || !strings.Contains(said, "it chooses decisions only") {
		t.Errorf("%v after %q", err, said)
	}
}
