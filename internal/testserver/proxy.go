package testserver

import (
	"log/slog"
	"os"
	"testing"

	"writ/internal/app"
	"writ/internal/config"
)

// ProxyToken is the token of the proxies of a test server that has AsProxied among its settings.
const ProxyToken = "c1f0b7a95d3e48268b0d6a7f92e4135c"

// AsProxied lets a proxy in a process of its own work for the server.
var AsProxied = []string{"WRIT_PROXY_TOKEN", ProxyToken}

// StartProxy serves the enforcement proxy of a server, as writd proxy does, until the test ends. Settings are as for
// Start.
func StartProxy(t *testing.T, url string, settings ...string) *app.Proxy {
	t.Helper()
	environ := []string{
		"PORT=0", "WRIT_SERVER_URL=" + url, "WRIT_PROXY_TOKEN=" + ProxyToken, "WRIT_OUTBOUND_ALLOW=127.0.0.0/8",
	}
	for i := 0; i < len(settings); i += 2 {
		environ = append(environ, settings[i]+"="+settings[i+1])
	}
	c, err := config.LoadProxy(environ, os.ReadFile)
	if err != nil {
		t.Fatalf("configuration of the proxy: %v", err)
	}
	p, err := app.StartProxy(app.Options{Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatalf("start the proxy: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Errorf("stop the proxy: %v", err)
		}
	})
	return p
}
