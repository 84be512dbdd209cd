package writd

import (
	"strings"
	"testing"

	"writ/internal/config"
	"writ/internal/secret"
)

// TestACopyOfTelemetrySaysWhatElseItHolds: a PostgreSQL that holds both is copied whole, accounts and keys included.
func TestACopyOfTelemetrySaysWhatElseItHolds(t *testing.T) {
	t.Parallel()
	main, other := secret.NewText("postgres://writ@db1/writ"), secret.NewText("postgres://writ@db2/writ")
	for name, c := range map[string]struct {
		settings config.Config
		alone    bool
	}{
		"SQLite":                  {config.Config{}, true},
		"one PostgreSQL":          {config.Config{DatabaseURL: main}, false},
		"PostgreSQL of telemetry": {config.Config{DatabaseURL: main, TelemetryURL: other}, true},
	} {
		said := telemetryCopied(c.settings, "copy")
		if whole := strings.Contains(said, "was copied whole"); whole == c.alone {
			t.Errorf("%s: %q", name, said)
		}
	}
}
