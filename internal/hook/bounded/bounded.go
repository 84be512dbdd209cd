// Package bounded is the beginnings of texts that may be too long.
package bounded

import "unicode/utf8"

// Shown is how much of an input, an output or a prompt a trace shows.
const Shown = 1 << 10

// Head is the first bytes of a text, without half a character at the end.
func Head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Cut is the beginning of a text, with a mark where something is missing.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Head(text, limit) + " [truncated]"
}
