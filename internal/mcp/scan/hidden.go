package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shortest gaps that push text out of sight.
const (
	gapSpaces = 60
	gapLines  = 9
)

// mark is the first of some characters in a text, and how many there are.
type mark struct{ first, count int }

func (m *mark) see(at int) {
	if m.count == 0 {
		m.first = at
	}
	m.count++
}

// looks is what one pass over the characters of a text shows.
type looks struct {
	zeroWidth, bidi, overrides, tags, selectors, controls, styled, invalid, gap mark

	rightToLeft, wide, plain bool // plain: printable ASCII alone
	mixed                    mark // words of several scripts that look alike
	mixedEnd                 int
}

// look reads the characters of a text.
func look(text string) looks {
	l := looks{plain: true}
	w := wordLook{}
	var before, beforeThat rune
	spaces, lines := 0, 0
	for i, r := range text {
		if r < utf8.RuneSelf && r >= ' ' && r != 0x7f {
			if r == ' ' {
				spaces++
			} else {
				l.seeGap(i, spaces, lines)
				spaces, lines = 0, 0
			}
			w.ascii(&l, i, r)
			beforeThat, before = before, r
			continue
		}
		switch {
		case r == '\n':
			lines++
		case r == '\t' || r == '\r' || unicode.IsSpace(r):
			spaces++
		default:
			l.seeGap(i, spaces, lines)
			spaces, lines = 0, 0
		}
		l.see(text, i, r, before, beforeThat)
		w.other(&l, i, r)
		beforeThat, before = before, r
	}
	w.end(&l, len(text))
	return l
}

func (l *looks) seeGap(at, spaces, lines int) {
	if spaces >= gapSpaces || lines >= gapLines {
		l.gap.see(at)
	}
}

// see looks at a character that is not printable ASCII.
func (l *looks) see(text string, at int, r, before, beforeThat rune) {
	l.plain = false
	switch {
	case r == utf8.RuneError && !strings.HasPrefix(text[at:], "\ufffd"):
		l.invalid.see(at)
	case isTag(r):
		l.tags.see(at)
	case isBidi(r):
		l.bidi.see(at)
		if r == '\u202d' || r == '\u202e' {
			l.overrides.see(at)
		}
	case isZeroWidth(r):
		if !joins(text[at:], r, before, beforeThat) {
			l.zeroWidth.see(at)
		}
	case isSelector(r):
		if r != '\ufe0f' && r != '\ufe0e' && !isWide(before) || isSelector(before) {
			l.selectors.see(at)
		}
	case isControl(r) || r == '\r' && !strings.HasPrefix(text[at:], "\r\n"):
		l.controls.see(at)
	case isStyled(r):
		l.styled.see(at)
	}
	l.rightToLeft = l.rightToLeft || isRightToLeft(r)
	l.wide = l.wide || isWide(r)
}

// joins reports whether a zero-width character joins or parts what must be joined or parted: pictures, letters of some
// scripts. At the very start of a text it marks the order of bytes.
func joins(rest string, r, before, beforeThat rune) bool {
	next, _ := utf8.DecodeRuneInString(rest[utf8.RuneLen(r):])
	switch r {
	case '\u200d':
		picture := before
		if isSelector(before) || before >= 0x1f3fb && before <= 0x1f3ff {
			picture = beforeThat
		}
		return isEmoji(picture) && picture > 0xff && isEmoji(next) || isJoining(before)
	case '\u200c':
		return isJoining(before)
	case '\u200b':
		return isJoining(before) || isWide(before) && isWide(next)
	case '\ufeff':
		return before == 0
	}
	return false
}

// wordLook looks for words that mix Latin letters with letters of other scripts that look like them.
type wordLook struct {
	start, latin, alike, foreign int
}

func (w *wordLook) ascii(l *looks, at int, r rune) {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		if w.latin+w.alike+w.foreign == 0 {
			w.start = at
		}
		w.latin++
		return
	}
	w.end(l, at)
}

func (w *wordLook) other(l *looks, at int, r rune) {
	switch {
	case isInvisible(r) || unicode.Is(unicode.Mn, r):
		return
	case !unicode.IsLetter(r):
		w.end(l, at)
		return
	case w.latin+w.alike+w.foreign == 0:
		w.start = at
	}
	switch {
	case foreignLookalike(r):
		w.alike++
	case unicode.Is(unicode.Latin, r):
		w.latin++
	default:
		w.foreign++
	}
}

// end judges a word: some of its letters are Latin, and all others only look so. Units such as kΩ and µs have one of
// each.
func (w *wordLook) end(l *looks, at int) {
	if w.latin > 0 && w.alike > 0 && w.foreign == 0 && w.latin+w.alike > 3 {
		l.mixed.see(w.start)
		if l.mixed.count == 1 {
			l.mixedEnd = at
		}
	}
	*w = wordLook{}
}

// flags are the sequences of invisible characters that make flags of pictures.
var flags = strings.NewReplacer(
	"\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "",
	"\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "",
	"\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f", "",
)

// hasTags reports whether a text has invisible characters that are no flag.
func hasTags(text string) bool { return strings.ContainsFunc(flags.Replace(text), isTag) }

// minStyled are the fewest symbols that make words.
const minStyled = 5

// hidden reports what a person does not see in the text.
func (s *scanner) hidden(t *text, l *looks) {
	if l.plain && l.gap.count == 0 {
		return
	}
	report := func(found mark, rule *Rule, severity Severity) {
		if found.count > 0 {
			s.found(t, rule, severity, found.first, found.first)
		}
	}
	if l.tags.count > 0 && hasTags(t.value) {
		report(l.tags, hiddenTags, 0)
	}
	zeroWidth := Severity(0)
	if l.zeroWidth.count == 1 && strings.Contains(t.value, "\u00ad") {
		zeroWidth = Low // a soft hyphen that came with a copied text
	}
	report(l.zeroWidth, hiddenZeroWidth, zeroWidth)
	report(l.selectors, hiddenZeroWidth, 0)
	switch {
	case l.overrides.count > 0 || !l.rightToLeft:
		report(l.bidi, hiddenBidi, 0)
	default:
		report(l.bidi, hiddenBidi, Info)
	}
	report(l.controls, hiddenControl, 0)
	report(l.invalid, hiddenBytes, 0)
	report(l.gap, hiddenPadding, 0)
	if l.mixed.count > 0 {
		s.found(t, hiddenHomoglyph, 0, l.mixed.first, l.mixedEnd)
	}
	if l.styled.count >= minStyled && !l.wide {
		report(l.styled, hiddenFont, 0)
	}
}
