package glob_test

import (
	"testing"

	"pgregory.net/rapid"

	"writ/internal/glob"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "anything/at all", true},
		{"a", "a", true},
		{"a", "A", false},
		{"a*", "a", true},
		{"*a", "ba", true},
		{"*a", "ab", false},
		{"a*b", "ab", true},
		{"a*b", "a", false},
		{"a*a", "a", false},
		{"*.txt", "notes.txt", true},
		{"*.txt", "notes.txt.exe", false},
		{"a**b", "axb", true},
		{"*ab*ab*", "ab", false},
		{"*ab*ab*", "abab", true},
		{"?", "a", false},
		{"[a]", "a", false},
		{`\*`, "*", false},
	} {
		if got := glob.Match(c.pattern, c.text); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

// TestMatchIsWhatAStarMeans tries every length of what each star may stand for.
func TestMatchIsWhatAStarMeans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,10}`).Draw(t, "text")
		if got, want := glob.Match(pattern, text), fits(pattern, text); got != want {
			t.Fatalf("Match(%q, %q) = %v", pattern, text, got)
		}
	})
}

func fits(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return fits(pattern[1:], text) || text != "" && fits(pattern, text[1:])
	}
	return text != "" && pattern[0] == text[0] && fits(pattern[1:], text[1:])
}
