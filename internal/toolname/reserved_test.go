package toolname_test

import (
	"testing"

	"writ/internal/toolname"
)

func TestIsReserved(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]bool{
		"gemini-cli": true, " Gemini-CLI ": true, "claude-code": true, "codex": true, "copilot": true,
		"local": true, "unknown": true, "docs": false, "gemini": false, "": false,
	} {
		if got := toolname.IsReserved(server); got != want {
			t.Errorf("%q: %v", server, got)
		}
	}
}
