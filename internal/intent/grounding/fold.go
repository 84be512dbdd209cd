package grounding

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/node"
)

// fold is text as it is compared: in lower case, with single spaces, and without the
// scheme of URLs. A letter of another script that folds to an ASCII letter stays as it
// is, so that a look-alike never equals what it looks like.
func fold(text string) string {
	if isFolded(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	space := false
	for i, r := range text {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		if r == utf8.RuneError {
			// A broken byte equals only itself: keep it as it is.
			b.WriteByte(text[i])
			continue
		}
		b.WriteRune(lower(r))
	}
	return dropSchemes(b.String())
}

// isFolded reports whether a text is as it is compared already, and plain enough to see that at once.
func isFolded(text string) bool {
	before := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' || c == ' ' && before == ' ' ||
			c == '/' && before == '/' {
			return false
		}
		before = c
	}
	return before != ' '
}

// shown is a text without the characters that do not show: whoever reads it does not see them, and a model skips them.
func shown(text string) string {
	if !strings.ContainsFunc(text, isHidden) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isHidden(r) {
			return -1
		}
		return r
	}, text)
}

func isHidden(r rune) bool { return r > utf8.RuneSelf && node.Invisible(r) }

func lower(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			r |= 0x20
		}
		return r
	}
	if l := unicode.ToLower(r); l >= utf8.RuneSelf {
		return l
	}
	return r
}

var schemes = strings.NewReplacer("https://", "", "http://", "")

func dropSchemes(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return schemes.Replace(text)
}

// identity is a value as identities are compared: folded, and without a final slash.
func identity(value string) string {
	folded := fold(value)
	if trimmed := strings.TrimRight(folded, "/"); trimmed != "" {
		return trimmed
	}
	return folded
}

// countWords counts the words of a text, at most up to the limit. Only what has a
// letter or digit is a word. In scripts without spaces two characters count as a word.
func countWords(text string, limit int) int {
	count, inWord, wide := 0, false, 0
	for _, r := range text {
		switch {
		case isWide(r):
			if wide++; wide%2 == 0 {
				count++
			}
			inWord = false
		case unicode.IsSpace(r):
			inWord = false
		case !inWord && isWordRune(r):
			inWord = true
			count++
		}
		if count >= limit {
			return count
		}
	}
	return count
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isWide reports whether a character belongs to a script that is written without spaces.
func isWide(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}
