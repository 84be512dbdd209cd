// Package names checks names that clients choose: of servers, tools, agents, users and
// sessions. They are part of records that cannot be erased, and people decide by them.
package names

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes is the maximum length of a name.
const MaxBytes = 200

// Valid reports whether text can be stored as a name and looks like what it is. The empty name is valid.
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

// Hides reports whether a character can make a name look like another: a control character, a line separator, or an
// invisible one, such as a mark that changes the direction of text. Joiners of letters and emoji are allowed.
func Hides(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && r != joiner && r != nonJoiner
}

// Clean makes a valid name from any text.
func Clean(text string) string {
	return Cut(strings.Map(func(r rune) rune {
		if Hides(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")), MaxBytes)
}

// Cut is at most the first bytes of a text, as valid UTF-8.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// Quoted is a name, in quotes where it could pass for more than a name in a sentence: agents choose them.
func Quoted(name string) string {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("._-:/@", c)) {
			return strconv.Quote(name)
		}
	}
	return name
}
