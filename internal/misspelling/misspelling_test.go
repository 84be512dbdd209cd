package misspelling_test

import (
	"strings"
	"testing"

	"writ/internal/misspelling"
)

func TestOf(t *testing.T) {
	t.Parallel()
	known := []string{"arguments", "agent_id", "tool", "intent_token", "mcp"}
	for word, want := range map[string]string{
		"argments":                  "arguments",
		"Arguemnts":                 "arguments",
		"agentId":                   "agent_id",
		"agent-id":                  "agent_id",
		"tools":                     "tool",
		"intent_tokn":               "intent_token",
		"mpc":                       "mcp",
		"to":                        "",
		"x":                         "",
		"":                          "",
		"description":               "",
		"policy_snapshot":           "",
		strings.Repeat("tool", 100): "",
	} {
		if got := misspelling.Of(word, known); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for words, want := range map[[2]string]int{
		{"", ""}: 0, {"", "abc"}: 3, {"kitten", "sitting"}: 3, {"tool", "tool"}: 0, {"tool", "tolo"}: 1, {"ab", "b"}: 1,
	} {
		if got := misspelling.Distance(words[0], words[1]); got != want {
			t.Errorf("%q: %d, want %d", words, got, want)
		}
		if got := misspelling.Distance(words[1], words[0]); got != want {
			t.Errorf("%q the other way: %d, want %d", words, got, want)
		}
	}
}
