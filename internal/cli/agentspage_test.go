package cli_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestAgentsPage runs the incident on the page about agents, from the alarm to the proof.
func TestAgentsPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/agents.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "\n## An incident\n")
	section, _, ends := strings.Cut(rest, "\n## ")
	if !found || !ends {
		t.Fatal("the page has no section about an incident, with another behind it")
	}
	first := strings.Count(before, "\n") + 1
	last := first + strings.Count(section, "\n") + 1
	blocks := slices.DeleteFunc(readBlocks(t, page), func(b block) bool { return b.line < first || b.line > last })
	runPage(t, blocks, 5)
}
