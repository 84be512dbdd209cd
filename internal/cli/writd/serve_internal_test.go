package writd

import (
	"strings"
	"testing"

	"writ/internal/app"
	"writ/internal/cli"
	"writ/internal/config"
	"writ/internal/secret"
)

// TestAnnouncedSettings: an operator sees how the server runs, and nobody a secret.
func TestAnnouncedSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings config.Config
		want     []string
	}{
		"SQLite": {config.Config{DataDir: "/var/lib/writ"}, []string{
			"  listens on  192.0.2.1:443\n", "  TLS         none here",
			"  database    SQLite in /var/lib/writ\n", "  version     dev\n",
		}},
		"PostgreSQL": {config.Config{
			DatabaseURL:    secret.NewText("postgres://writ:hunter2@db.internal/writ"),
			TLSCertificate: "PEM", TLSKey: secret.NewText("hunter2"), MetricsListen: "127.0.0.1:9090",
		}, []string{"  TLS         by this server\n", "  database    PostgreSQL\n", "  metrics on  127.0.0.1:9090\n"}},
	} {
		var out strings.Builder
		c.settings.Environment = config.Production
		command := &command{streams: cli.Streams{Out: &out}}
		command.announceSettings(c.settings, &app.Server{Address: "192.0.2.1:443", URL: "https://writ.example.org"})
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q lacks %q", name, out.String(), want)
			}
		}
		for _, secret := range []string{"hunter2", "db.internal", "PEM"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("%s: %q shows %s", name, out.String(), secret)
			}
		}
	}
}
