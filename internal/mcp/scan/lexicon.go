package scan

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed lexicon/*.txt
var lexiconFiles embed.FS

// concept is what words mean, as one bit.
type concept uint64

// node is a word of the lexicon, and the words that can follow it in a phrase.
type node struct {
	means concept // of the phrase that ends here
	says  concept // what it means in a frame
	verb  bool    // it can tell somebody to do something
	lead  bool    // a verb behind it does
	next  map[string]*node
}

// lexicon is what the rules know of words. It is read when the first text is scanned: most runs of the client
// scan none.
type lexicon struct {
	roots    [readings]*node    // by how words are read
	concepts map[string]concept // by name
	words    map[string]bool
	longest  [letters * letters * letters]uint8 // words by their first three letters
	patterns []pattern

	cancel, negverb, secret, address, foreign concept
	negations                                 []int // the stages that negate
	// by the bit of a concept: the steps of patterns that it can be
	starts [64][]step

	meanings                   map[string]concept // of frames, by name
	frames                     []frame
	framesOf                   [64][]int // by the bit of a meaning
	order, host, other, limits concept
	acts, readers              concept // what is asked, and of whom or about what
}

// letters are those of ASCII in lower case.
const letters = 26

var theLexicon = sync.OnceValue(readLexicon)

// readLexicon reads the words of every concept: a line has the concept, a colon, and words or phrases with
// commas between them. A star adds the other forms of a regular verb.
func readLexicon() *lexicon {
	l := &lexicon{concepts: map[string]concept{}, words: map[string]bool{}}
	l.roots[asWritten] = &node{}
	entries := map[string][]string{}
	for line := range lines("words") {
		name, list, ok := strings.Cut(line, ":")
		if !ok {
			panic(fmt.Sprintf("lexicon/words.txt: %q has no colon", line))
		}
		bit := l.concept(name)
		for entry := range strings.SplitSeq(list, ",") {
			entry = strings.TrimSpace(entry)
			if entry == "" {
				continue // a concept that no word has
			}
			entries[name] = append(entries[name], entry)
			verb, isVerb := strings.CutSuffix(entry, "*")
			l.add(verb, bit)
			if isVerb {
				for _, form := range verbForms(verb) {
					l.add(form, bit)
				}
			}
		}
	}
	l.readFrames(entries)
	l.roots[rotated] = l.roots[asWritten].spelled(rotate)
	l.roots[mirrored] = l.roots[asWritten].spelled(mirror)
	l.roots[backwards] = l.roots[mirrored]
	l.cancel, l.negverb, l.secret = l.concepts["cancel"], l.concepts["negverb"], l.concepts["secret"]
	l.address, l.foreign = l.concepts["address"], l.concepts["foreign"]
	l.readPatterns()
	return l
}

func (l *lexicon) concept(name string) concept {
	bit, found := l.concepts[name]
	if !found {
		if len(l.concepts) == 64 {
			panic("lexicon/words.txt has more than 64 concepts")
		}
		bit = 1 << len(l.concepts)
		l.concepts[name] = bit
	}
	return bit
}

// add adds a phrase that means a concept.
func (l *lexicon) add(phrase string, bit concept) { l.addNode(phrase).means |= bit }

// addNode adds a phrase, cut into words as texts are.
func (l *lexicon) addNode(phrase string) *node {
	n, work := l.roots[asWritten], 0
	tokenize(phrase, nil, &work, func(w word) {
		next := n.next[w.text]
		if next == nil {
			next = &node{}
			if n.next == nil {
				n.next = map[string]*node{}
			}
			n.next[w.text] = next
		}
		l.know(w.text)
		n = next
	})
	return n
}

func (l *lexicon) know(text string) {
	l.words[text] = true
	if start, ok := prefix(text); ok {
		l.longest[start] = max(l.longest[start], uint8(min(len(text), 255)))
	}
}

// prefix is the number of the first three letters of a text.
func prefix(text string) (number int, ok bool) {
	if len(text) < 3 {
		return 0, false
	}
	for i := range 3 {
		c := text[i]
		if c < 'a' || c > 'z' {
			return 0, false
		}
		number = number*letters + int(c-'a')
	}
	return number, true
}

// spelled is a node with every word spelled in another way.
func (n *node) spelled(spell func(string) string) *node {
	other := &node{means: n.means, says: n.says, verb: n.verb, lead: n.lead}
	if n.next != nil {
		other.next = make(map[string]*node, len(n.next))
	}
	for text, next := range n.next {
		other.next[spell(text)] = next.spelled(spell)
	}
	return other
}

// rotate moves every letter by 13.
func rotate(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return 'a' + (r-'a'+13)%letters
		}
		return r
	}, text)
}

// mirror is a word with its letters in reverse.
func mirror(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}

// verbForms are the forms of a regular verb besides its base.
func verbForms(verb string) []string {
	stem := strings.TrimSuffix(verb, "e")
	switch {
	case strings.HasSuffix(verb, "e"):
		return []string{verb + "s", verb + "d", stem + "ing"}
	case strings.HasSuffix(verb, "y") && !strings.ContainsAny(verb[len(verb)-2:len(verb)-1], "aeiou"):
		return []string{verb[:len(verb)-1] + "ies", verb[:len(verb)-1] + "ied", verb + "ing"}
	case strings.HasSuffix(verb, "s") || strings.HasSuffix(verb, "sh") || strings.HasSuffix(verb, "ch"):
		return []string{verb + "es", verb + "ed", verb + "ing"}
	}
	return []string{verb + "s", verb + "ed", verb + "ing"}
}

// lines are the lines of a file of the lexicon, without comments.
func lines(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		text, err := lexiconFiles.ReadFile("lexicon/" + name + ".txt")
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "#") && !yield(line) {
				return
			}
		}
	}
}

// longestKnown is the length of the longest word at the start of a text that has at least three letters; 0:
// there is none.
func (l *lexicon) longestKnown(text string) int {
	start, ok := prefix(text)
	if !ok {
		return 0
	}
	for length := min(len(text), int(l.longest[start])); length >= 3; length-- {
		if l.words[text[:length]] {
			return length
		}
	}
	return 0
}
