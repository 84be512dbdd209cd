package cli_test

import "testing"

// TestPeoplePage runs every command of the page on people.
func TestPeoplePage(t *testing.T) {
	t.Parallel()
	runPage(t, readBlocks(t, "../../docs/people.md"), 3)
}
