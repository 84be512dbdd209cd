package writd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"writ/internal/cli"
	"writ/internal/config"
)

// TestLogsSayDurationsInWords: in each format the same.
func TestLogsSayDurationsInWords(t *testing.T) {
	t.Parallel()
	for format, want := range map[config.LogFormat]string{config.LogJSON: `"pause":"5s"`, config.LogText: "pause=5s"} {
		var said bytes.Buffer
		c := &command{streams: cli.Streams{Err: &said}}
		c.logger(config.Config{LogFormat: format}).Info("waits", "pause", 5*time.Second)
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s: %s, want %s", format, said.String(), want)
		}
	}
}
