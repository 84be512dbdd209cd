package cli_test

import "testing"

// TestLiveTailPage runs every command of the page on watching agents, as
// TestEnforcementPage does.
func TestLiveTailPage(t *testing.T) {
	t.Parallel()
	runPage(t, readBlocks(t, "../../docs/live-tail.md"), 2)
}
