package writd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheTokenOfAWitness is refused as the server refuses it, and never printed.
func TestTheTokenOfAWitness(t *testing.T) {
	t.Parallel()
	file := func(content string) string {
		name := filepath.Join(t.TempDir(), "token.txt")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const token = "937bcd88937bcd88"
	if got, err := (&command{}).readWitnessToken(file(token + "\n")); err != nil || got.Reveal() != token {
		t.Errorf("a token: %v", err)
	}
	for name, want := range map[string]string{
		file("short"):                       "must be at least 16 characters",
		file(""):                            "the file is empty",
		token:                               "--token names a file",
		strings.Repeat(token, 100) + "\x00": "--token names a file",
	} {
		_, err := (&command{}).readWitnessToken(name)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token) ||
			strings.Contains(err.Error(), "short") {
			t.Errorf("%v, want %q and no secret", err, want)
		}
	}
}
