// Package glob matches text against a pattern in which a star stands for any run of
// characters, including none. Nothing else in a pattern is special, so that patterns
// for tools, paths and hosts mean the same.
//
// Matching takes time linear in the text, whatever the pattern.
package glob

import "strings"

// Match reports whether the pattern covers the whole text.
func Match(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	for {
		// Each part between two stars takes its first match: a later one would only
		// leave less text for the parts that follow.
		part, tail, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(part):], tail
	}
}
