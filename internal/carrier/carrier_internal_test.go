package carrier

import (
	"testing"

	"writ/internal/enforcement"
)

// TestANameAloneIsNoReasonToSkipTheRegistry: an agent chooses the name of a tool, and only the gateway says that there
// is none.
func TestANameAloneIsNoReasonToSkipTheRegistry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool   string
		noTool bool
		want   string
		ok     bool
	}{
		{"pay", false, "pay", true},
		{"mcp:sampling", true, "", true},
		{"mcp:sampling", false, "", false},
		{"mcp:wipe", false, "", false},
		{"pay", true, "", false},
		{"", false, "", false},
	} {
		got, err := toolOf(Call{Request: enforcement.Request{Tool: c.tool}, NoTool: c.noTool})
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%q, no tool %v: %q, %v", c.tool, c.noTool, got, err)
		}
	}
}
