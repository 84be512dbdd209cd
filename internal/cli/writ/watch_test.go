package writ_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"writ/internal/cli"
	"writ/internal/cli/writ"
)

// TestWhoCountsWaitsForWhatComes: --watch --count 1 is for scripts that wait for the next one, so what was there before
// is neither printed nor counted. What others wrote does not steer the terminal.
func TestWhoCountsWaitsForWhatComes(t *testing.T) {
	t.Setenv("WRIT_ACCESS_TOKEN", "token")
	for words, item := range map[string]string{
		"decisions list": `{"index":§,"subject":{"type":"decision","id":"§"},"action":"call.decided","agent":"# §\u001b\nforged"}`,
		"plan list":      `{"id":"§","status":"active","goal":"# §\u001b\nforged"}`,
		"traces list":    `{"id":"§","name":"# §\u001b\nforged"}`,
		"sessions list":  `{"id":"§","agentId":"# §\u001b\nforged","lastActivityAt":"2030-01-02T03:04:05Z"}`,
		"mcp list":       `{"mcpId":"§","name":"# §\u001b\nforged"}`,
	} {
		for _, more := range []string{"", " --json"} {
			out := watched(t, strings.Fields(words+more+" --watch --count 1"), item)
			if strings.Count(out, "\n") != 1 || !strings.Contains(out, "# 2") || strings.Contains(out, "# 1") {
				t.Errorf("%s%s: %q, want what came, and nothing else", words, more, out)
			}
			if strings.ContainsFunc(out, steers) {
				t.Errorf("%s%s shows %q", words, more, out)
			}
		}
	}
}

// saying is where a command says that it watches.
type saying struct {
	bytes.Buffer
	said atomic.Bool
}

func (s *saying) Write(text []byte) (int, error) {
	defer s.said.Store(true)
	return s.Buffer.Write(text)
}

// watched is what a command prints that asks a server which has one thing first, and another one, too, once the command
// says that it watches.
func watched(t *testing.T, args []string, item string) string {
	t.Helper()
	var printed bytes.Buffer
	var told saying
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		all := strings.ReplaceAll(item, "§", "1")
		if told.said.Load() {
			all = strings.ReplaceAll(item, "§", "2") + "," + all
		}
		_, _ = io.WriteString(w, `{"items":[`+all+`],"data":[`+all+`],"servers":[`+all+`]}`)
	}))
	t.Cleanup(server.Close)
	args = append(args, "--every", "1s", "--organization", "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", "--url", server.URL)
	err := writ.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &printed, Err: &told})
	if err != nil || told.String() != "writ: watching for what comes; interrupt to end\n" {
		t.Errorf("%v: %q, %v", args, told.String(), err)
	}
	return printed.String()
}
