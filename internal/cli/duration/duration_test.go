package duration_test

import (
	"testing"
	"time"

	"writ/internal/cli/duration"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "250ms": 250 * time.Millisecond,
		"30d": 30 * day, "2w": 14 * day, "1w1d1h": 8*day + time.Hour, "1.5d": 36 * time.Hour, "0.5w": 84 * time.Hour,
		"106751d": 106751 * day,
	} {
		if got, err := duration.Parse(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "d", "30", "30 d", "30D", "-1h", "-2d", "+1d", "1d-1h", "1y", "1mo", "soon", "1..5d", ".d", "1dd", "d1",
		"106752d", "99999999999w", "106751d48h", "1e3d", "Infd", "30d!", "३d",
	} {
		if got, err := duration.Parse(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 2 * time.Second: "2s", time.Minute: "1m", time.Hour: "1h",
		90 * time.Minute:        "1h30m",
		time.Hour + time.Second: "1h0m1s", 24 * time.Hour: "24h", 168 * time.Hour: "7d", 49 * time.Hour: "49h",
		10 * time.Minute: "10m", 10 * time.Hour: "10h",
	} {
		got := duration.Format(length)
		if again, err := duration.Parse(got); got != want || err != nil || again != length {
			t.Errorf("%v: %s, want %s; read again: %v, %v", length, got, want, again, err)
		}
	}
}
