package grounding

import (
	"strings"
	"unicode/utf8"
)

// holds reports whether a folded text holds a folded value as whole words. It grounds
// values, so it is strict: b@x.org is not in a-b@x.org, and x.org is not in x.org/a.
func holds(text, value string) bool { return find(text, value, wholeWords) >= 0 }

// mentions reports whether a folded text holds a value in any way. It raises doubts, so
// it is lenient: only a letter or digit next to the value is another word.
func mentions(text, value string) bool { return find(text, value, ownLetters) >= 0 }

// find is where a text holds a value with such edges, or -1.
func find(text, value string, edges func(text string, from, to int) bool) int {
	if value == "" {
		return -1
	}
	for at := 0; ; {
		i := strings.Index(text[at:], value)
		if i < 0 {
			return -1
		}
		from := at + i
		if edges(text, from, from+len(value)) {
			return from
		}
		_, size := utf8.DecodeRuneInString(text[from:])
		at = from + size
	}
}

// ownLetters reports whether no letter or digit continues the value to either side.
func ownLetters(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	first, _ := utf8.DecodeRuneInString(text[from:to])
	last, _ := utf8.DecodeLastRuneInString(text[from:to])
	return !continues(before, first) && !continues(last, after)
}

// continues reports whether two neighbouring characters belong to one word.
func continues(a, b rune) bool {
	return isWordRune(a) && isWordRune(b) && !isWide(a) && !isWide(b)
}

// Characters that join parts of an address or path.
const (
	joinsBefore = "@._+/\\=&?%~$"
	joinsAfter  = "@._+/\\=&?%~#:"
)

// wholeWords reports whether the value is not a part of a longer name or address.
func wholeWords(text string, from, to int) bool {
	if !ownLetters(text, from, to) {
		return false
	}
	if cutsNumber(text, from, to) {
		return false
	}
	single := !strings.Contains(text[from:to], " ")
	before, size := utf8.DecodeLastRuneInString(text[:from])
	if joins(before, joinsBefore, single) {
		if outer, _ := utf8.DecodeLastRuneInString(text[:from-size]); partOfName(outer) {
			return false
		}
	}
	after, size := utf8.DecodeRuneInString(text[to:])
	if joins(after, joinsAfter, single) {
		if outer, _ := utf8.DecodeRuneInString(text[to+size:]); partOfName(outer) {
			return false
		}
	}
	return true
}

// cutsNumber reports whether the value is a part of a number with commas: 1,000.
func cutsNumber(text string, from, to int) bool {
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	comma := func(i int) bool { return i >= 0 && i < len(text) && text[i] == ',' }
	return digit(from) && comma(from-1) && digit(from-2) || digit(to-1) && comma(to) && digit(to+1)
}

func joins(r rune, set string, single bool) bool {
	return r != utf8.RuneError && (strings.ContainsRune(set, r) || single && r == '-')
}

func partOfName(r rune) bool { return isWordRune(r) || r == '_' || r == '-' || r == '@' }
