package hook

import (
	"bytes"
	"strings"
	"unicode"
)

// Assigned is the name of a variable that a text sets somewhere, by any reader's idea of where a line begins; empty: it
// sets none of this name. A name that ends with an underscore stands for all that begin so.
func Assigned(text []byte, name string) string {
	for {
		at := bytes.Index(text, []byte(name))
		if at < 0 {
			return ""
		}
		before, after := text[:at], text[at+len(name):]
		if strings.HasSuffix(name, "_") {
			after = bytes.TrimLeftFunc(after, isWord)
		}
		whole := len(before) == 0 || !isWord(rune(before[len(before)-1]))
		found := text[at : len(text)-len(after)]
		after = bytes.TrimLeftFunc(after, isSpace)
		if whole && len(after) > 0 && (after[0] == '=' || after[0] == ':') {
			return string(found)
		}
		text = text[at+len(name):]
	}
}

func isWord(r rune) bool {
	return r == '_' || r == '.' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// isSpace also knows what JavaScript alone takes for a space: the mark of the byte order. The host is written in it.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }
