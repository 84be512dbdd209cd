package scan_test

import (
	"os"
	"strings"
	"testing"

	"writ/internal/mcp/scan"
)

// TestPage: the documentation lists every rule, and no others.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/mcp-scanner.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") && len(cells) > 3 {
			listed[strings.Trim(cells[1], " `")] = cells[2]
		}
	}
	for _, r := range scan.Rules() {
		if !strings.Contains(listed[r.ID], r.Severity.String()) {
			t.Errorf("%s is listed with the severity %q, want %s", r.ID, listed[r.ID], r.Severity)
		}
		delete(listed, r.ID)
	}
	for id := range listed {
		t.Errorf("%s is no rule", id)
	}
}
