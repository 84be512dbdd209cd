package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// receiver NAME takes every event, at the host and port that the variable then has.
func receiver(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "receiver NAME")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], strings.TrimPrefix(server.URL, "http://"))
}
