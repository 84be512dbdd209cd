// Package printable shows text from elsewhere without characters that could steer a terminal.
package printable

import (
	"strings"
	"unicode"
)

// Text replaces the characters of a text that could steer a terminal. Line breaks stay.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || !Steers(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

// Line is Text for what must stay one line.
func Line(text string) string { return strings.ReplaceAll(Text(text), "\n", "\uFFFD") }

// Steers reports whether a character could steer a terminal, or show text in another order.
func Steers(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
