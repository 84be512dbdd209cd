//go:build linux

package hosttest_test

import (
	"strings"
	"testing"

	"writ/internal/hook/hosttest"
)

// TestAtATerminal: with a person at a terminal, set up by writ init, a planned call runs, one that is not planned does
// not, and the person sees the line that says so.
func TestAtATerminal(t *testing.T) {
	t.Parallel()
	eachHost(t, func(t *testing.T, host hosttest.Host) {
		t.Helper()
		o := newUnguarded(t, host, open)
		o.initGemini(t)
		acts := []act{
			{name: "a call before any plan", calls: []hosttest.Call{writeFile("a.txt")}, not: "a.txt", told: "plan"},
			{name: "a plan", calls: []hosttest.Call{wholePlan()}, told: "The plan is registered"},
			{name: "a planned call", calls: []hosttest.Call{writeFile("b.txt")}, ran: "b.txt"},
			{
				name:  "a tool off the plan",
				calls: []hosttest.Call{{Tool: "list_directory", Arguments: map[string]any{"dir_path": "."}}},
				told:  "Tool execution blocked: Writ denies this call",
			},
		}
		const lastWords = "everything-has-been-said"
		script, played := o.script(t, lastWords, acts)
		seen := o.RunInTerminal(t, "write", lastWords, script).Text()
		if *played != len(acts)+1 {
			t.Errorf("the session has %d replies, want %d", *played, len(acts)+1)
		}
		for _, want := range []string{
			"Writ guards this session", "Writ denied write_file", "Writ denied list_directory",
		} {
			if !strings.Contains(seen, want) {
				t.Errorf("the terminal does not show %q", want)
			}
		}
	})
}
