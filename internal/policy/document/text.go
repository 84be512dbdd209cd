package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/policy/document/node"
)

// readLabel reads text that is shown in one line of a list.
func readLabel(v *node.Value, most int) string {
	text, ok := v.Text()
	switch {
	case !ok:
	case text == "" || utf8.RuneCountInString(text) > most:
		v.Problem("must be 1 to %d characters", most)
	case strings.ContainsFunc(text, node.Invisible):
		v.Problem("must not hold control characters or others that do not show")
	case strings.TrimFunc(text, unicode.IsSpace) != text:
		v.Problem("must not begin or end with a space")
	}
	return text
}

// readProse reads text of several lines that may be absent.
func readProse(v *node.Value) string {
	if v == nil {
		return ""
	}
	text, ok := v.Text()
	switch {
	case !ok:
	case utf8.RuneCountInString(text) > MaxDescription:
		v.Problem("must be at most %d characters", MaxDescription)
	case hides(text):
		v.Problem("must not hold control characters other than line breaks and tabs")
	}
	return text
}

// hides reports whether text of several lines holds characters that do not show.
func hides(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && node.Hidden(r) })
}
