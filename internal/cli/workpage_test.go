package cli_test

import "testing"

// TestPolicyAtWorkPage goes the way from an incident to a policy in force, as the
// page does.
func TestPolicyAtWorkPage(t *testing.T) {
	t.Parallel()
	runPage(t, readBlocks(t, "../../docs/policy-at-work.md"), 8)
}
