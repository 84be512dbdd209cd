package writ_test

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"writ/internal/cli"
	"writ/internal/cli/writ"
)

// run runs writ against a server that answers each path with a text; one
// that begins with 503 is an error.
func run(t *testing.T, answers map[string]string, args ...string) (out string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := answers[r.URL.Path]
		if after, failed := strings.CutPrefix(text, "503 "); failed {
			w.WriteHeader(http.StatusServiceUnavailable)
			text = after
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	var stdout, stderr bytes.Buffer
	err = writ.Run(t.Context(), append(args, "--url", server.URL), cli.Streams{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr,
	})
	if stderr.Len() != 0 {
		t.Errorf("stderr = %q, want the error to be returned", stderr.String())
	}
	return strings.ReplaceAll(stdout.String(), server.URL, "URL"), err
}

// A script that waits for the server reads the exit code.
func TestStatusNotReady(t *testing.T) {
	t.Setenv("WRIT_API_KEY", "any") // a server that is not ready cannot check it
	answers := map[string]string{"/health": `{"version":"1.2"}`, "/ready": `503 {"message":"the database is away"}`}
	out, err := run(t, answers, "status")
	if want := "server   URL\nversion  1.2\nstate    not ready: the database is away (503)\n"; out != want {
		t.Errorf("out = %q, want %q", out, want)
	}
	if err == nil || err.Error() != "the server is not ready" {
		t.Errorf("err = %v, want that it is not ready", err)
	}
	out, err = run(t, answers, "status", "--json")
	if want := `{"url":"URL","version":"1.2","ready":false,"problem":"the database is away (503)"}` +
		"\n"; out != want || err == nil {
		t.Errorf("out = %q, %v, want %q and an error", out, err, want)
	}
}

// A server with TLS whose authority is not known here, or that is called without TLS, is told from one that is away.
func TestStatusOfTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that we end
	t.Cleanup(server.Close)
	for address, want := range map[string]string{
		server.URL: "is not trusted here (",
		"http" + strings.TrimPrefix(server.URL, "https"): "does it speak TLS? then its address begins with https://",
	} {
		err := writ.Run(t.Context(), []string{"status", "--url", address}, cli.Streams{
			In: strings.NewReader(""), Out: io.Discard, Err: io.Discard,
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one that says %q", address, err, want)
		}
	}
}

// Where a server sends no mail, an invitation is refused with who adds people there.
func TestInviteWithoutMail(t *testing.T) {
	t.Setenv("WRIT_ACCESS_TOKEN", "any")
	const org = "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30"
	_, err := run(t, map[string]string{
		"/organization/" + org + "/members/invite": `503 {"message":"mail is not configured: set WRIT_SMTP_URL",
			"code":"mail_not_configured"}`,
	}, "members", "invite", "ada@example.org", "--organization", org)
	if err == nil || !strings.Contains(err.Error(), "set WRIT_SMTP_URL (503); or have its operator add people: writd user ") {
		t.Errorf("err = %v", err)
	}
}

func TestStatusShowsNoControlCharacters(t *testing.T) {
	t.Setenv("WRIT_API_KEY", "any")
	out, err := run(t, map[string]string{
		"/health":           `{"version":"1\u001b[2J\nstate    on fire"}`,
		"/ready":            `{}`,
		"/api-keys/current": `{"id":"k\u0007\n","environment":"live\r","scopes":["a\nkey      forged","b\u001b"]}`,
	}, "status")
	if err != nil {
		t.Fatal(err)
	}
	want := "server   URL\nversion  1\uFFFD[2J\uFFFDstate    on fire\nstate    ready\n" +
		"key      k\uFFFD\uFFFD (live\uFFFD), scopes a\uFFFDkey      forged b\uFFFD\n"
	if out != want {
		t.Errorf("out = %q, want %q", out, want)
	}
}
