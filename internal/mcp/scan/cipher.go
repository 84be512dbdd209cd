package scan

import (
	"strings"
	"unicode/utf8"

	"writ/internal/toolclass"
)

// speaks reports whether the words that were read last ask somebody for something: what nobody hides for good.
func (s *scanner) speaks() bool {
	if len(s.buffer) < minSpoken {
		return false
	}
	said := s.readers[asWritten].reader.whole
	return said&s.words.acts != 0 && said&s.words.readers != 0
}

// minSpoken are the fewest words that ask for something.
const minSpoken = 4

// speaksOf reports the same of a part of a text.
func (s *scanner) speaksOf(part string) bool {
	said, words := concept(0), 0
	root := s.words.roots[asWritten]
	tokenize(part, s.words, &s.work, func(w word) {
		words++
		if n := root.next[w.text]; n != nil {
			said |= n.says
		}
	})
	return words >= minSpoken && said&s.words.acts != 0 && said&s.words.readers != 0
}

// stopWords are words that nearly every sentence has.
var stopWords = toolclass.NewSet("the and to of a in is for with this that you it be not all are on as your user any from")

// The words of a sentence that is deciphered.
const (
	minCipher   = 5
	triedCipher = 12
)

// deciphered is what sentences say in which no word is known, with every letter moved by the same number, or
// mirrored in the alphabet; empty: there are none.
func (s *scanner) deciphered() string {
	var plain []string
	root, from := s.words.roots[asWritten], 0
	for i := 0; i <= len(s.buffer); i++ {
		s.work++
		if i < len(s.buffer) {
			w := &s.buffer[i]
			if !stopWords[w.text] && root.next[w.text] == nil && w.text[0] < utf8.RuneSelf {
				continue
			}
		}
		if i-from >= minCipher {
			if found := s.decipher(s.buffer[from:i]); found != "" {
				plain = append(plain, found)
			}
		}
		from = i + 1
	}
	return strings.Join(plain, ". ")
}

// decipher tries every shift on the first words, and reads all with the one that gives most words that every
// text has.
func (s *scanner) decipher(words []word) string {
	tried := words[:min(len(words), triedCipher)]
	best, most := 0, 1
	for shift := 1; shift <= letters; shift++ {
		known := 0
		for _, w := range tried {
			s.work++
			if stopWords[shifted(w.text, shift)] {
				known++
			}
		}
		if known > most {
			best, most = shift, known
		}
	}
	if best == 0 {
		return ""
	}
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = shifted(w.text, best)
	}
	return strings.Join(parts, " ")
}

// shifted is a word with its letters moved; by 26: mirrored in the alphabet.
func shifted(text string, by int) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 'a' || r > 'z':
			return r
		case by == letters:
			return 'a' + 'z' - r
		}
		return 'a' + (r-'a'+rune(by))%letters
	}, text)
}

// morse are the letters of Morse code.
var morse = func() map[string]byte {
	codes := map[string]byte{}
	for i, code := range strings.Fields(".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..") {
		codes[code] = byte('a' + i)
	}
	return codes
}()

// minMorse are the fewest letters of Morse code that are read.
const minMorse = 10

// unmorse is what a text says in Morse code; empty: nothing.
func unmorse(text string) string {
	if strings.Count(text, "-")+strings.Count(text, ".") < 2*minMorse {
		return ""
	}
	var b strings.Builder
	read := 0
	for field := range strings.FieldsSeq(strings.NewReplacer("·", ".", "−", "-", "–", "-", "/", " / ").Replace(text)) {
		if letter, found := morse[field]; found {
			b.WriteByte(letter)
			read++
			continue
		}
		b.WriteByte(' ')
	}
	if read < minMorse {
		return ""
	}
	return b.String()
}

// The letters of braille, from a on, and of text upside down.
const (
	braille    = "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵"
	upsideDown = "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz"
)

var (
	fromBraille    = alphabetOf(braille)
	fromUpsideDown = alphabetOf(upsideDown)
)

func alphabetOf(list string) map[rune]rune {
	alphabet, i := map[rune]rune{}, rune(0)
	for _, r := range list {
		alphabet[r] = 'a' + i
		i++
	}
	return alphabet
}

// minSymbols are the fewest symbols in place of letters that are read.
const minSymbols = 6

// unsymbol is a text with the symbols of an alphabet read as letters; empty: it has few.
func unsymbol(text string, alphabet map[rune]rune) string {
	count := 0
	plain := strings.Map(func(r rune) rune {
		letter, found := alphabet[r]
		switch {
		case found:
			if r >= utf8.RuneSelf {
				count++
			}
			return letter
		case r == '\u2800':
			return ' '
		}
		return r
	}, text)
	if count < minSymbols {
		return ""
	}
	return plain
}

// Limits of texts that may be one text which was cut up.
const (
	maxFragment  = 80
	maxFragments = 4 << 10
)

// fragment notes a short text of a tool.
func (s *scanner) fragment(value string) {
	if len(value) <= maxFragment && len(s.fragments)+len(value) < maxFragments {
		s.fragments = append(append(s.fragments, value...), ' ')
	}
}

// joined reads the short texts of a tool as one. Only orders count that nobody writes by chance.
func (s *scanner) joined() {
	if len(s.fragments) == 0 {
		return
	}
	value := string(s.fragments)
	s.buffer = s.buffer[:0]
	tokenize(value, s.words, &s.work, func(w word) {
		w.sentence = false
		s.buffer = append(s.buffer, w)
	})
	m := s.readers[asWritten]
	m.reset(0)
	for _, w := range s.buffer {
		m.feed(w, nil)
	}
	t := &text{value: value}
	for _, h := range m.hits { // without frames, which are about sentences
		if r := h.pattern.rule; (r == instructionOverride || r == instructionSecrecy) && h.affirmed() {
			s.found(t, r, 0, h.from, h.to)
		}
	}
}
