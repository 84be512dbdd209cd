package grounding

import (
	"hash/maphash"
	"unicode/utf8"
)

// sieve says quickly that a text does not hold a value: it remembers the words of the text and which words follow each
// other, in a few bits each. What passes must be looked for in the text itself.
type sieve struct {
	bits []uint64
	mask uint64
}

var sieveSeed = maphash.MakeSeed()

// sieveBits is how many bits a byte of text gets. A word and its successor set four of them.
const sieveBits = 4

func newSieve(size int) *sieve {
	words := 1
	for words*64 < size*sieveBits {
		words *= 2
	}
	return &sieve{bits: make([]uint64, words), mask: uint64(words)*64 - 1}
}

func (s *sieve) add(hash uint64) {
	for _, bit := range [...]uint64{hash & s.mask, hash >> 32 & s.mask} {
		s.bits[bit/64] |= 1 << (bit % 64)
	}
}

func (s *sieve) has(hash uint64) bool {
	for _, bit := range [...]uint64{hash & s.mask, hash >> 32 & s.mask} {
		if s.bits[bit/64]&(1<<(bit%64)) == 0 {
			return false
		}
	}
	return true
}

// addText adds a folded text.
func (s *sieve) addText(text string) {
	previous := uint64(0)
	for word := range plainWords(text) {
		hash := maphash.String(sieveSeed, word)
		s.add(hash)
		if previous != 0 {
			s.add(pair(previous, hash))
		}
		previous = hash
	}
}

// value is a text as sieves look for it.
type value struct {
	text  string
	words []uint64 // hashes of its words
	cut   bool     // the first and the last word may be parts of words
}

// whole is a value that begins and ends where a word does.
func whole(text string) value { return value{text: text, words: hashes(text)} }

// part is a text that may begin and end within a word.
func part(text string) value { return value{text: text, words: hashes(text), cut: true} }

func hashes(text string) (list []uint64) {
	for word := range plainWords(text) {
		list = append(list, maphash.String(sieveSeed, word))
	}
	return list
}

// mayHold reports whether the text may hold a value; false: it does not.
func (s *sieve) mayHold(v value) bool {
	words := v.words
	if v.cut {
		if len(words) < 3 {
			return true
		}
		words = words[1 : len(words)-1]
	}
	for i, hash := range words {
		if !s.has(hash) || i > 0 && !s.has(pair(words[i-1], hash)) {
			return false
		}
	}
	return true
}

func pair(a, b uint64) uint64 { return (a*31 + b) * 0x9E3779B97F4A7C15 }

// plainWords are the longest runs of letters and digits in a text, except those of scripts without spaces.
func plainWords(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := -1
		for i, r := range text {
			switch plain := isPlainRune(r); {
			case plain && start < 0:
				start = i
			case !plain && start >= 0:
				if !yield(text[start:i]) {
					return
				}
				start = -1
			}
		}
		if start >= 0 {
			yield(text[start:])
		}
	}
}

func isPlainRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
	}
	return isWordRune(r) && !isWide(r)
}
