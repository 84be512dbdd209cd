package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"writ/internal/cli"
	"writ/internal/cli/writ"
)

// TestLoginSaysThatItWaits: at a terminal, for how long and how to end it: whom the page does not let approve would
// wait on unknowingly. Scripts get no such line.
func TestLoginSaysThatItWaits(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/auth/device/code" {
			fmt.Fprint(w, `{"device_code":"dc_1","user_code":"BCDF-GHJK","expires_in":600,"interval":1,`+
				`"verification_uri_complete":"http://localhost/auth/device?user_code=BCDF-GHJK"}`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"access_denied"}`)
	}))
	defer server.Close()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	login := []string{"login", "--no-browser", "--url", server.URL}
	const line = "writ: waiting for the answer, for 10m at most; refusing on the page ends this, and so does Ctrl-C"
	written, shown := terminal(t)
	err := writ.Run(t.Context(), login, cli.Streams{Out: written, Err: written})
	if err == nil || !strings.HasPrefix(err.Error(), "this terminal was refused on the page") {
		t.Errorf("refused: %v", err)
	}
	if got := read(t, shown, "Ctrl-C\r\n"); !strings.HasSuffix(got, line+"\r\n") {
		t.Errorf("the terminal shows %q", got)
	}
	var said strings.Builder
	_ = writ.Run(t.Context(), login, cli.Streams{Out: &said, Err: &said})
	if !strings.Contains(said.String(), "BCDF-GHJK") || strings.Contains(said.String(), "waiting") {
		t.Errorf("a script gets %q", said.String())
	}
}
