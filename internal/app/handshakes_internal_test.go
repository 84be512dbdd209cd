package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestRefusedHandshakesDoNotFloodTheLog: and probes of the port say nothing at all.
func TestRefusedHandshakesDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	now := time.Unix(1000, 0)
	h := &handshakeLog{logger: slog.New(slog.NewTextHandler(&said, nil)), now: func() time.Time { return now }}
	say := func(reason string) {
		_, _ = h.Write([]byte("http: TLS handshake error from [::1]:4711: " + reason + "\n"))
	}
	say("EOF")
	for range 100 {
		say("tls: bad: really")
	}
	now = now.Add(time.Second)
	say("tls: bad: really")
	const want = `address=[::1]:4711 error="tls: bad: really"`
	if got := strings.Count(said.String(), "\n"); got != 2 || strings.Count(said.String(), want) != 2 {
		t.Errorf("%d lines, want 2 with %s:\n%s", got, want, said.String())
	}
}
