package app

import (
	"log/slog"
	"net/http"
	"testing"
	"time"
)

// TestSlowClientsAreCut checks the limits rather than wait for them.
func TestSlowClientsAreCut(t *testing.T) {
	t.Parallel()
	server := newHTTPServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	for name, limit := range map[string]struct{ got, most time.Duration }{
		"to send the header": {server.ReadHeaderTimeout, 10 * time.Second},
		"to send a request":  {server.ReadTimeout, time.Minute},
		"to take the answer": {server.WriteTimeout, time.Minute},
		"between requests":   {server.IdleTimeout, 2 * time.Minute},
	} {
		if limit.got <= 0 || limit.got > limit.most {
			t.Errorf("a client has %s %s, want at most %s", limit.got, name, limit.most)
		}
	}
	if server.MaxHeaderBytes <= 0 || server.MaxHeaderBytes > 1<<20 {
		t.Errorf("a header may have %d bytes", server.MaxHeaderBytes)
	}
	if server.ErrorLog == nil {
		t.Error("connection errors bypass the log")
	}
}
