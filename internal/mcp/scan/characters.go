package scan

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The first and last of the invisible characters that mirror ASCII.
const (
	firstTag = '\U000e0000'
	lastTag  = '\U000e007f'
)

// isTag reports whether a character is an invisible twin of an ASCII character.
func isTag(r rune) bool { return r >= firstTag && r <= lastTag }

// isZeroWidth reports whether a character shows nothing and takes no room.
func isZeroWidth(r rune) bool {
	switch r {
	case '\u00ad', '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u180e', '\u200b', '\u200c', '\u200d', '\u2060',
		'\u2061', '\u2062', '\u2063', '\u2064', '\u2065', '\u206a', '\u206b', '\u206c', '\u206d', '\u206e', '\u206f',
		'\u2800', '\u3164', '\ufeff', '\uffa0', '\ufff9', '\ufffa', '\ufffb':
		return true
	}
	return r >= '\U0001d173' && r <= '\U0001d17a'
}

// isBidi reports whether a character turns the direction of text.
func isBidi(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u200e' || r == '\u200f' ||
		r == '\u061c'
}

// isSelector reports whether a character chooses the form of the one before it.
func isSelector(r rune) bool {
	return r >= '\ufe00' && r <= '\ufe0f' || r >= '\U000e0100' && r <= '\U000e01ef' || r >= '\u180b' && r <= '\u180d'
}

// isControl reports whether a character steers a terminal. Line breaks and tabs do not.
func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r >= 0x7f && r < 0xa0
}

// isInvisible reports whether a reader does not see a character that a model reads.
func isInvisible(r rune) bool {
	return isZeroWidth(r) || isBidi(r) || isSelector(r) || isControl(r)
}

// isJoining reports whether letters of a character's script are joined and parted by zero-width characters.
func isJoining(r rune) bool {
	return r >= 0x0600 && r <= 0x0dff || r >= 0x1780 && r <= 0x18af || r >= 0xfb50 && r <= 0xfdff ||
		r >= 0x0e00 && r <= 0x109f
}

// isRightToLeft reports whether a letter is written from right to left.
func isRightToLeft(r rune) bool { return r >= 0x0590 && r <= 0x08ff || r >= 0xfb1d && r <= 0xfefc }

// isEmoji reports roughly whether a character is a picture that others may be joined to.
func isEmoji(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff || r == 0x00a9 || r == 0x00ae || r == 0x203c ||
		r == 0x2049 || r == 0x2122 || r == 0x2139 || r == 0x3030 || r == 0x303d || r >= '0' && r <= '9' || r == '#' ||
		r == '*'
}

// isWide reports whether a character belongs to a script that is written without spaces.
func isWide(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// isStyled reports whether a character is a symbol that looks like a Latin letter.
func isStyled(r rune) bool {
	return r >= 0x1d400 && r <= 0x1d7ff || r >= 0x24b6 && r <= 0x24e9 || r >= 0x1f110 && r <= 0x1f189 ||
		r >= 0xff21 && r <= 0xff5a
}

// lookalikes are letters of other scripts, and what they look like.
var lookalikes = map[rune]rune{
	// Cyrillic
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ё': 'e', 'һ': 'h', 'і': 'i', 'ї': 'i', 'ј': 'j', 'к': 'k',
	'ӏ': 'l', 'м': 'm', 'п': 'n', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'г': 'r', 'ѕ': 's', 'т': 't', 'ц': 'u', 'ѵ': 'v',
	'ԝ': 'w', 'х': 'x', 'у': 'y', 'ү': 'y', 'н': 'h', 'ь': 'b', 'є': 'e',
	// Greek
	'α': 'a', 'β': 'b', 'ϲ': 'c', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'σ': 'o',
	'τ': 't', 'υ': 'u', 'χ': 'x', 'γ': 'y', 'ω': 'w', 'μ': 'u', 'ϳ': 'j', 'ζ': 'z',
	// Armenian, Cherokee, Lisu and phonetic letters
	'օ': 'o', 'ո': 'n', 'ս': 'u', 'հ': 'h', 'ց': 'g', 'զ': 'q', 'ԍ': 'g', 'ɡ': 'g', 'ɑ': 'a', 'ı': 'i', 'ɩ': 'i',
	'ʟ': 'l', 'ɴ': 'n', 'ʀ': 'r', 'ꜱ': 's', 'ᴛ': 't', 'ᴜ': 'u', 'ᴠ': 'v', 'ᴡ': 'w', 'ʏ': 'y', 'ᴢ': 'z', 'ᴀ': 'a',
	'ʙ': 'b', 'ᴄ': 'c', 'ᴅ': 'd', 'ᴇ': 'e', 'ꜰ': 'f', 'ɢ': 'g', 'ʜ': 'h', 'ɪ': 'i', 'ᴊ': 'j', 'ᴋ': 'k', 'ᴍ': 'm',
	'ᴏ': 'o', 'ᴘ': 'p', 'ǫ': 'q', 'ℓ': 'l', 'ø': 'o', 'ł': 'l', 'đ': 'd', 'ħ': 'h', 'ꓐ': 'b', 'ꓑ': 'p', 'ꓓ': 'd',
	'ꓖ': 'g', 'ꓗ': 'k', 'ꓙ': 'j', 'ꓚ': 'c', 'ꓜ': 'z', 'ꓝ': 'f', 'ꓟ': 'm', 'ꓠ': 'n', 'ꓡ': 'l', 'ꓢ': 's', 'ꓣ': 'r',
	'ꓔ': 't', 'ꓦ': 'v', 'ꓧ': 'h', 'ꓪ': 'w', 'ꓫ': 'x', 'ꓬ': 'y', 'ꓮ': 'a', 'ꓰ': 'e', 'ꓲ': 'i', 'ꓳ': 'o', 'ꓴ': 'u',
}

// foreignLookalike reports whether a letter is one of Cyrillic, Greek, Armenian, Cherokee or Lisu that looks Latin.
func foreignLookalike(r rune) bool {
	if r < 0x370 || !unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Lisu) {
		return false
	}
	_, found := lookalikes[unicode.ToLower(r)]
	return found || unicode.Is(unicode.Cherokee, r)
}

// unspaced are the characters that fold to nothing.
const unspaced = rune(-1)

// fold is a character as words are compared: the ASCII letter that it looks like if there is one, in lower
// case. Marks on letters and characters that do not show are unspaced.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			r |= 0x20
		}
		return r
	}
	switch {
	case isTag(r):
		return fold(r - firstTag)
	case isInvisible(r) || unicode.Is(unicode.Mn, r):
		return unspaced
	}
	if r >= 0x1f1e6 && r <= 0x1f1ff { // the letters that flags are made of
		return 'a' + r - 0x1f1e6
	}
	lower := unicode.ToLower(r)
	if latin, found := lookalikes[lower]; found {
		return latin
	}
	if plain := decomposed(r); plain != r {
		return fold(plain)
	}
	return lower
}

// decomposed is the first character of what a character is made of: the letter below an accent, the plain form of a
// symbol.
func decomposed(r rune) rune {
	var buffer [utf8.UTFMax]byte
	n := utf8.EncodeRune(buffer[:], r)
	if parts := norm.NFKD.Properties(buffer[:n]).Decomposition(); len(parts) > 0 {
		first, _ := utf8.DecodeRune(parts)
		if first != r {
			return first
		}
	}
	return r
}
