package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of words.
const (
	maxHost    = 253 // bytes
	minJoined  = 4   // single letters in a row that are one word
	minSegment = 12  // letters of a word that may be several without spaces
)

// word is a word of a text as it is compared, and where it stands in the text.
type word struct {
	text     string
	from, to int
	gap      int  // how far the word is from the one before it, in words
	address  bool // it is the host of an e-mail address or URL
	inside   bool // it is a part of one, and no word of the sentence
	clause   bool // a clause begins with it
	sentence bool // a sentence, a paragraph or an item of a list begins with it
}

// tokenizer cuts a text into folded words: whatever separates them, however they are written, and with a dot
// in front if they are the name of a hidden file.
type tokenizer struct {
	text   string
	words  *lexicon // nil: words are not looked up
	emit   func(word)
	buffer []byte
	from   int
	gap    int
	single []word // letters that stand alone, which may be one word
	work   *int

	dotted, address, digits, letters bool
	inAddress, clause, paragraph     bool
	semicolon                        bool // the last sentence ended with one, and goes on in another
	before                           rune // the folded character before
}

// tokenize emits the words of a text.
func tokenize(text string, words *lexicon, work *int, emit func(word)) {
	t := &tokenizer{
		text:   text,
		words:  words,
		emit:   emit,
		work:   work,
		gap:    1,
		before: ' ',
	}
	for i, r := range text {
		*work++
		if lower := r | 0x20; lower >= 'a' && lower <= 'z' { // most characters are
			t.letter(i, lower)
			t.before = lower
			continue
		}
		folded := fold(r)
		if folded == unspaced || isApostrophe(folded) && !t.elides() {
			continue // don't is dont, and what does not show parts nothing
		}
		t.rune(i, r, folded)
		t.before = folded
	}
	t.flush(len(text))
	t.joinSingles()
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' || r == '‘' }

// elides reports whether an apostrophe here parts words, as in l'ami.
func (t *tokenizer) elides() bool { return len(t.buffer) == 1 && t.letters }

func (t *tokenizer) rune(at int, r, folded rune) {
	switch {
	case isWide(folded):
		t.flush(at)
		if t.inAddress {
			t.inAddress, t.gap = false, 1
		}
		t.buffer = utf8.AppendRune(t.buffer, folded)
		t.from, t.letters = at, true
		t.flush(at + utf8.RuneLen(r))
	case folded < utf8.RuneSelf && isWordByte(byte(folded)), folded >= utf8.RuneSelf && unicode.IsLetter(folded):
		t.letter(at, folded)
	case folded == '@' && len(t.buffer) > 0 && t.startsHost(at+1):
		t.flush(at)
		t.address, t.inAddress, t.gap = true, true, 0
	case (folded == '@' || folded == '$') && len(t.buffer) > 0 && t.letterAt(at+1):
		t.letter(at, map[rune]rune{'@': 'a', '$': 's'}[folded])
	case folded == '-' && t.breaksLine(at+1):
	case (folded == '\n' || folded == '\r') && t.before == '-' && len(t.buffer) > 0:
	default:
		t.separator(at, folded)
	}
}

func (t *tokenizer) letter(at int, folded rune) {
	if len(t.buffer) == 0 {
		t.from = at
		t.dotted = t.before == '.' && t.dotStarts(at)
	}
	if folded >= '0' && folded <= '9' {
		t.digits = true
	} else {
		t.letters = true
	}
	t.buffer = utf8.AppendRune(t.buffer, folded)
}

// separator ends a word. The end of a sentence puts words further apart.
func (t *tokenizer) separator(at int, folded rune) {
	t.flush(at)
	next := byte(' ')
	if at+1 < len(t.text) {
		next = t.text[at+1]
	}
	if t.inAddress && !inHost(folded, t.before, next) {
		t.inAddress, t.gap = false, 1
	}
	switch folded {
	case '\n':
		t.paragraph = t.paragraph || endsLine(t.before) || startsItem(t.text[at+1:])
	case ':':
		if strings.HasPrefix(t.text[at:], "://") {
			t.address, t.inAddress, t.gap = true, true, 0
			return
		}
		t.clause = true
	case '.', '!', '?', ';', ',', '(':
		t.clause = !t.inAddress
		if (next == ' ' || next == '\n') && folded != ',' && folded != '(' && t.before != '.' && t.before != ' ' {
			t.gap += sentenceGap
			t.semicolon = folded == ';'
		}
	}
}

// endsLine reports whether a line that ends with a character is no line of running text.
func endsLine(last rune) bool {
	return last > ' ' && last != ',' && !unicode.IsLetter(last) && !unicode.IsDigit(last)
}

// startsItem reports whether the next line is empty, an item of a list, or no line of running text.
func startsItem(rest string) bool {
	rest = strings.TrimLeft(rest[:min(len(rest), maxIndent)], " \t\r")
	if rest == "" {
		return false
	}
	if c := rest[0]; c < utf8.RuneSelf && !isWordByte(c) && c != '~' && c != '/' && c != '.' && c != '<' {
		return true
	}
	return len(rest) > 1 && rest[0] >= '0' && rest[0] <= '9' && strings.ContainsAny(rest[1:2], ".)")
}

// maxIndent is how far an item of a list may be indented.
const maxIndent = 16

// inHost reports whether a separator stands within the host of an address. What follows the host are words again.
func inHost(r, before rune, next byte) bool {
	switch r {
	case '.', '-', '_':
		return isWordByte(next)
	case '/':
		return next == '/' || before == '/' || before == ':'
	case ':':
		return next == '/'
	}
	return false
}

// sentenceGap is how many words the end of a sentence counts as.
const sentenceGap = 2

// dotStarts reports whether the dot in front of an offset begins a name, as in ~/.ssh.
func (t *tokenizer) dotStarts(at int) bool {
	return at < 2 || !isWordByte(t.text[at-2]) && t.text[at-2] != '.' || at == 1
}

// startsHost reports whether a host with a dot begins at an offset.
func (t *tokenizer) startsHost(at int) bool {
	dots := 0
	for i := at; i < len(t.text) && i < at+maxHost; i++ {
		*t.work++
		switch c := t.text[i]; {
		case c == '.' && i > at && i+1 < len(t.text) && isWordByte(t.text[i+1]):
			dots++
		case isWordByte(c) || c == '-' || c == '_':
		default:
			return dots > 0
		}
	}
	return dots > 0
}

func (t *tokenizer) letterAt(at int) bool { return at < len(t.text) && isWordByte(t.text[at]) }

// breaksLine reports whether a line ends at an offset, so that the hyphen in front of it parts a word.
func (t *tokenizer) breaksLine(at int) bool {
	return at < len(t.text) && (t.text[at] == '\n' || t.text[at] == '\r') && len(t.buffer) > 0
}

// flush ends the word that is being read.
func (t *tokenizer) flush(at int) {
	if len(t.buffer) == 0 {
		return
	}
	w := word{
		text:    t.folded(at),
		from:    t.from,
		to:      at,
		gap:     t.gap,
		address: t.address,
		clause:  t.clause,

		inside:   t.inAddress,
		sentence: t.gap > 1 && !t.semicolon || t.paragraph,
	}
	if t.dotted {
		w.text = "." + w.text
	}
	mixed := t.digits && t.letters
	single := len(t.buffer) == 1 && t.letters
	t.buffer, t.gap = t.buffer[:0], 1
	if t.inAddress {
		t.gap = 0 // the parts of an address stand at one place
	}
	t.dotted, t.address, t.digits, t.letters, t.clause, t.paragraph = false, false, false, false, false, false
	switch {
	case single:
		t.single = append(t.single, w)
		return
	case mixed && t.words != nil:
		w.text = t.words.readDigits(w.text)
	}
	t.joinSingles()
	t.send(w)
}

// folded is the word that is being read. One that is written as it is compared needs no copy.
func (t *tokenizer) folded(end int) string {
	if as := t.text[t.from:end]; as == string(t.buffer) {
		return as
	}
	return string(t.buffer)
}

// joinSingles sends the letters that stood alone: as one word if there are several, else as they are.
func (t *tokenizer) joinSingles() {
	if len(t.single) == 0 {
		return
	}
	singles := t.single
	t.single = t.single[:0]
	if len(singles) < minJoined || t.words == nil {
		for _, w := range singles {
			t.emit(w)
		}
		return
	}
	letters := make([]byte, 0, len(singles))
	for _, w := range singles {
		letters = append(letters, w.text...)
	}
	joined := word{
		from: singles[0].from, to: singles[len(singles)-1].to, gap: singles[0].gap, sentence: singles[0].sentence,
	}
	t.segment(string(letters), joined, len(letters)/2)
}

// send emits a word. One that is long and unknown may be several.
func (t *tokenizer) send(w word) {
	if t.words != nil && len(w.text) >= minSegment && !t.words.words[w.text] {
		t.segment(w.text, w, len(w.text)*4/5)
		return
	}
	t.emit(w)
}

// segment emits the known words that a text without spaces is made of, or the text itself if they make up less of it
// than the least.
func (t *tokenizer) segment(text string, whole word, least int) {
	var parts []string
	covered := 0
	for i := 0; i < len(text); {
		length := t.words.longestKnown(text[i:])
		*t.work++
		if length == 0 {
			i++
			continue
		}
		parts = append(parts, text[i:i+length])
		i += length
		covered += length
	}
	if len(parts) < 2 || covered < least {
		whole.text = text
		t.emit(whole)
		return
	}
	for _, part := range parts {
		whole.text = part
		t.emit(whole)
		whole.gap, whole.clause, whole.sentence = 1, false, false
	}
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// readDigits is a word with digits that stand for letters, if the result is a known word.
func (l *lexicon) readDigits(text string) string {
	for _, one := range []byte{'i', 'l'} {
		letters := []byte(text)
		for i, c := range letters {
			switch c {
			case '0':
				letters[i] = 'o'
			case '1':
				letters[i] = one
			case '3':
				letters[i] = 'e'
			case '4':
				letters[i] = 'a'
			case '5':
				letters[i] = 's'
			case '7':
				letters[i] = 't'
			case '8':
				letters[i] = 'b'
			}
		}
		if l.words[string(letters)] {
			return string(letters)
		}
	}
	return text
}
