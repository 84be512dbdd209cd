// Package names is the one rule for names that clients choose: of servers and tools,
// of agents, users and sessions. They stand in records that nobody can erase, and
// people decide by them.
package names

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes is the length of a name. Longer ones are mistakes or attacks.
const MaxBytes = 200

// Valid reports whether text can be stored as a name, and is what it looks like. No
// name at all is valid.
func Valid(text string) bool {
	if len(text) > MaxBytes {
		return false
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return utf8.ValidString(text) && !strings.ContainsFunc(text, Hides)
		}
	}
	return true
}

// Hides reports whether a character has no place in a name that people read: it
// controls, turns the direction of what is around it, ends a line, or is not to be
// seen, so that the name shows as another than it is. What joins letters and
// pictures is not meant.
func Hides(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && r != joiner && r != nonJoiner
}

// Clean is what is kept of a text that is no valid name.
func Clean(text string) string {
	return Cut(strings.Map(func(r rune) rune {
		if Hides(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")), MaxBytes)
}

// Cut is the first bytes of a text, as valid text.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
