package app_test

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"writ/internal/app"
	"writ/internal/config"
	"writ/internal/testserver"
)

// TestAProxyWithoutTLSWarns: agents send their keys to it.
func TestAProxyWithoutTLSWarns(t *testing.T) {
	t.Parallel()
	for listen, warns := range map[string]bool{"0.0.0.0": true, "127.0.0.1": false} {
		c, err := config.LoadProxy([]string{
			"PORT=0", "WRIT_LISTEN=" + listen, "WRIT_SERVER_URL=http://127.0.0.1:1",
			"WRIT_PROXY_TOKEN=" + testserver.ProxyToken,
		}, os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		var said testserver.Buffer
		logger := slog.New(slog.NewTextHandler(&said, nil))
		p, err := app.StartProxy(app.Options{Config: c, Logger: logger, Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(said.String(), "travel in clear"); got != warns {
			t.Errorf("%s: warns %v: %s", listen, got, said.String())
		}
	}
}
