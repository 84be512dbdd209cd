// Package glob matches text against a pattern in which a star stands for any
// run of characters, also none. Nothing else in a pattern is special, so that a
// pattern means the same to whoever writes it for tools, paths or hosts.
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
		// Each part between two stars takes the first place where it fits: a
		// later one would only leave less text to those that follow.
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
