package toolname_test

import (
	"slices"
	"testing"

	"writ/internal/toolname"
)

// TestAliases: a tool that the host runs under two names is judged under both, and the other one only restricts.
func TestAliases(t *testing.T) {
	t.Parallel()
	for called, other := range map[string]string{
		"search_file_content": "grep_search",
		"grep_search":         "search_file_content",
	} {
		want := toolname.Candidate{
			Name: toolname.Name{Server: "gemini-cli", Tool: other}, Naming: toolname.Claimed,
		}
		if got := toolname.Candidates(called, "", "gemini-cli"); got[0].Tool != called || !slices.Contains(got, want) {
			t.Errorf("%s: %v", called, got)
		}
		for _, got := range [][]toolname.Candidate{
			toolname.Candidates(called, "docs", "gemini-cli"), toolname.Candidates(called, "", "claude-code"),
		} {
			if len(got) != 1 {
				t.Errorf("%s of another server: %v", called, got)
			}
		}
	}
}
