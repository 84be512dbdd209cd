// Package wordindex finds rows by the words of their texts: FTS5 on SQLite, tsvector on PostgreSQL, behind one
// surface.
//
// Words are cut here and not by the databases, which would cut them differently: runs of letters and digits, in lower
// case. The databases store and find them as they are. A query finds what has all of its words. The last of them may be
// the beginning of a word, because somebody is still typing it.
//
// What is indexed has a number that rises with time, and results come by falling numbers. No index of words returns
// its matches in that order without reading all of them, so the numbers of an organization are cut into segments of
// some thousands, and every stored word begins with the number of its segment. A query reads the newest segments
// first and stops when it has enough: a frequent word costs one segment, and a rare one is rare in all of them.
// Because a segment belongs to one organization, a query cannot even meet the words of another.
//
// After the segment comes the class of the word: plain, or of a payload. A person who may not read payloads asks for
// plain words alone, so that no query of theirs matches one. Tags are words that a query may require whole, for rights
// that depend on the row.
package wordindex

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxWord is how many characters of a word count.
	maxWord = 40
	// MaxWords is how many different words of each class are stored of one thing.
	MaxWords = 64
	// maxQueryWords is how many words of a query count.
	maxQueryWords = 8
)

// Words are the different words of texts in their order, at most limit.
func Words(limit int, texts ...string) []string {
	var words []string
	seen := map[string]bool{}
	for _, text := range texts {
		for begin, end := range spans(text) {
			word := fold(text[begin:end])
			if seen[word] {
				continue
			}
			if len(words) == limit {
				return words
			}
			seen[word] = true
			words = append(words, word)
		}
	}
	return words
}

// fold is a word as it is compared: in lower case, and not too long.
func fold(word string) string {
	word = strings.ToLower(word)
	for i, n := 0, 0; i < len(word); n++ {
		if n == maxWord {
			return word[:i]
		}
		_, size := utf8.DecodeRuneInString(word[i:])
		i += size
	}
	return word
}

// spans are the places of the words of a text.
func spans(text string) func(yield func(begin, end int) bool) {
	return func(yield func(begin, end int) bool) {
		begin := -1
		for i, r := range text {
			inWord := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && begin >= 0
			switch {
			case inWord && begin < 0:
				begin = i
			case !inWord && begin >= 0:
				if !yield(begin, i) {
					return
				}
				begin = -1
			}
		}
		if begin >= 0 {
			yield(begin, len(text))
		}
	}
}

// Query is what somebody looks for.
type Query struct {
	Words    []string // all of which must be there
	Open     bool     // the last word may be the beginning of one
	Payloads bool     // whether words of payloads may match
	Tag      string   // that must be there; empty: none must
}

// Parse reads the words of a query. Without any, it finds nothing. A word that ends before the text does is complete.
func Parse(text string) Query {
	q := Query{Words: Words(maxQueryWords, text)}
	for begin, end := range spans(text) {
		q.Open = end == len(text) && len(q.Words) > 0 && fold(text[begin:end]) == q.Words[len(q.Words)-1]
	}
	return q
}

// Matches reports whether texts have all words of the query, as the index would find them.
func (q Query) Matches(texts ...string) bool {
	have := Words(MaxWords, texts...)
	for i := range q.Words {
		if !slices.ContainsFunc(have, func(word string) bool { return q.matches(i, word) }) {
			return false
		}
	}
	return len(q.Words) > 0
}

// matches reports whether a word is one of the query's.
func (q Query) matches(i int, word string) bool {
	if q.Open && i == len(q.Words)-1 {
		return strings.HasPrefix(word, q.Words[i])
	}
	return word == q.Words[i]
}

// Piece is a part of a text; Hit: it is what a query matched.
type Piece struct {
	Text string
	Hit  bool
}

const (
	excerptBefore = 40  // bytes shown before the first hit
	excerptBytes  = 160 // bytes shown in all
)

// Excerpt is the part of a text around its first hit, in pieces; nil: nothing of it was hit.
func (q Query) Excerpt(text string) []Piece {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var pieces []Piece
	at, end := -1, len(text)
	for begin, to := range spans(text) {
		n := q.hit(text[begin:to])
		if n == 0 || begin >= end {
			continue
		}
		if at < 0 {
			at = boundary(text, max(begin-excerptBefore, 0))
			end = boundary(text, min(at+excerptBytes, len(text)))
		}
		if begin+n > end {
			break
		}
		pieces = add(add(pieces, text[at:begin], false), text[begin:begin+n], true)
		at = begin + n
	}
	if at < 0 {
		return nil
	}
	return add(pieces, text[at:end], false)
}

func add(pieces []Piece, text string, hit bool) []Piece {
	if text == "" {
		return pieces
	}
	return append(pieces, Piece{text, hit})
}

// hit is how many bytes of a word the query names; 0: none.
func (q Query) hit(word string) (n int) {
	for i, wanted := range q.Words {
		if q.matches(i, fold(word)) {
			n = max(n, prefixBytes(word, utf8.RuneCountInString(wanted)))
		}
	}
	return n
}

// prefixBytes is how many bytes the first characters of a text have.
func prefixBytes(text string, characters int) int {
	for i := range text {
		if characters == 0 {
			return i
		}
		characters--
	}
	return len(text)
}

// boundary is the last beginning of a character at or before a place.
func boundary(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
