package node

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/misspelling"
)

// lines knows where the lines of a text begin.
type lines struct {
	text   []byte
	starts []int

	// The last position asked for. The next one usually follows soon, so that
	// columns of a long line need not be counted from its start.
	offset, line, column int
}

func newLines(text []byte) *lines {
	l := &lines{text: text, starts: []int{0}, line: 1, column: 1}
	for i, b := range text {
		if b == '\n' {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// at is the position of the byte at an offset.
func (l *lines) at(offset int) Position {
	offset = min(offset, len(l.text))
	after, _ := slices.BinarySearch(l.starts, offset+1)
	line, from, column := after, l.starts[after-1], 1
	if line == l.line && offset >= l.offset {
		from, column = l.offset, l.column
	}
	column += utf8.RuneCount(l.text[from:offset])
	l.offset, l.line, l.column = offset, line, column
	return Position{line, column}
}

// clean is the text without a byte order mark and with \n between lines, or the
// problems with its characters.
func clean(text []byte) (*lines, []Problem) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	l := newLines(text)
	var found problems
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			found.add(l.at(i), "must be UTF-8 text")
			return l, found
		case r != '\n' && r != '\t' && Hidden(r):
			found.add(l.at(i), fmt.Sprintf("must not hold the character U+%04X as it is: it does not show", r))
		}
		i += size
	}
	return l, found
}

// Hidden reports whether a character controls how text is shown instead of being
// shown itself: control characters, line separators, marks that change the
// direction of writing, and byte order marks.
func Hidden(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' ||
		r == '\uFEFF'
}

// HasHidden reports whether text of several lines has hidden characters.
func HasHidden(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && Hidden(r) })
}

// Invisible reports whether a character leaves no mark of its own: it is Hidden, or
// joins, separates, colours or fills. Two texts that differ only in such characters
// look the same. Prose needs some of them (for emoji, and in scripts that join
// letters); text that is compared with calls does not.
func Invisible(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return Hidden(r) ||
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r == '\u2800'
}

// Shown is foreign text for use in a message: on one line and not too long.
func Shown(text string) string {
	const max = 80
	var b strings.Builder
	count := 0
	for _, r := range text {
		if count++; count > max {
			b.WriteString("…")
			break
		}
		if Hidden(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Words writes a list as people say it: a, b or c.
func Words(words []string) string {
	switch len(words) {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// expected says what could stand in place of an unknown word: the known one that was
// probably meant, else all of them.
func expected(word string, known []string) string {
	if meant := misspelling.Of(word, known); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "expected " + Words(known)
}
