package node

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lines knows where the lines of a text begin.
type lines struct {
	text   []byte
	starts []int

	// The last place asked for: the next one is mostly a little behind it, and
	// columns are not counted anew from the start of a line that may be long.
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

// clean is the text without a byte order mark and with \n between lines, or what
// in it no reader could be sure of.
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

// Hidden reports whether a character steers how text is shown instead of being
// shown: control characters, line separators, marks that turn the direction of
// writing around, and byte order marks.
func Hidden(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' ||
		r == '\uFEFF'
}

// Invisible reports whether a character leaves no mark of its own: one that is
// Hidden, or joins, separates, colours or fills without being seen. Texts with
// and without it look the same and are not. Prose needs some of them (emoji, and
// scripts that join letters); what is compared with calls does not.
func Invisible(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return Hidden(r) ||
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r == '\u2800'
}

// Shown is text from elsewhere for one of our sentences: in one line, and no
// longer than one wants to read.
func Shown(text string) string {
	const most = 80
	var b strings.Builder
	count := 0
	for _, r := range text {
		if count++; count > most {
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

// Words is a list as one says it: a, b or c.
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
