package scan

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// frame is what must come together in a sentence so that it asks for something that a definition has no reason to
// ask for: who is addressed, what is asked, and about what. The order of words matters only where the frame says so.
// See lexicon/frames.txt.
type frame struct {
	pattern *pattern // whose rule it finds
	slots   []slot
	within  int     // words in which all of it stands
	excuse  concept // what makes such a sentence an honest one
}

// slot is one part of a frame: one of some meanings.
type slot struct {
	of                       concept
	negated, affirmed, later bool // later: it comes behind the slot before
}

// defaultWithin is how many words a frame spans unless it says so.
const defaultWithin = 18

// The meanings that come from where and how a word stands, not from the word.
const (
	meansOrder     = "imperative" // a verb that tells the reader to do something
	meansAddress   = "host"       // the host of an address or URL
	meansForeign   = "foreigntool"
	meansParameter = "inparameter" // the text describes a parameter
	meansTalks     = "abouttalks"  // the tool is about conversations
	meansSecrets   = "aboutsecrets"
)

// readFrames reads what words mean in sentences, and the frames that are made of that.
func (l *lexicon) readFrames(entries map[string][]string) {
	l.meanings = map[string]concept{}
	for line := range lines("meanings") {
		name, list, ok := strings.Cut(line, ":")
		if !ok {
			panic(fmt.Sprintf("lexicon/meanings.txt: %q has no colon", line))
		}
		var bit concept
		if name != "verb" && name != "lead" {
			bit = l.meaning(name)
		}
		for entry := range strings.SplitSeq(list, ",") {
			entry = strings.TrimSpace(entry)
			if of, isList := strings.CutPrefix(entry, "@"); isList {
				if entries[of] == nil {
					panic(fmt.Sprintf("lexicon/meanings.txt: there is no concept %s", of))
				}
				for _, word := range entries[of] {
					l.addSaying(word, name, bit)
				}
			} else if entry != "" {
				l.addSaying(entry, name, bit)
			}
		}
	}
	for line := range lines("frames") {
		l.addFrame(line)
	}
	l.order, l.host, l.other = l.meanings[meansOrder], l.meanings[meansAddress], l.meanings[meansForeign]
	l.acts = l.meaningsOf("hand fetch waive dismiss telling conceal swap copyto inquire favour", "acts")
	l.readers = l.meaningsOf("order you user secret norms vault talk this others consent hoard host", "readers")
	l.limits = l.meanings["guarded"] | l.meanings["asks"]
}

func (l *lexicon) meaning(name string) concept {
	bit, found := l.meanings[name]
	if !found {
		if len(l.meanings) == 64 {
			panic("lexicon/meanings.txt has more than 64 meanings")
		}
		bit = 1 << len(l.meanings)
		l.meanings[name] = bit
	}
	return bit
}

// addSaying adds a phrase, with the other forms of a regular verb if a star follows it.
func (l *lexicon) addSaying(entry, name string, bit concept) {
	verb, isVerb := strings.CutSuffix(entry, "*")
	n := l.addNode(verb)
	n.says |= bit
	n.verb, n.lead = n.verb || name == "verb", n.lead || name == "lead"
	if isVerb {
		for _, form := range verbForms(verb) {
			l.addNode(form).says |= bit
		}
	}
}

// addFrame reads a line: a rule, perhaps with a severity and the words that it spans, a colon, slots, and behind a dash
// what excuses. "+" asks for a meaning that is not negated, "!" for one that is, ">" for one behind the slot before.
func (l *lexicon) addFrame(line string) {
	head, body, _ := strings.Cut(line, ":")
	parts := strings.Fields(head)
	f := frame{pattern: &pattern{rule: ruleNamed(parts[0])}, within: defaultWithin}
	if f.pattern.rule == nil {
		panic(fmt.Sprintf("lexicon/frames.txt: %q names no rule", line))
	}
	for _, part := range parts[1:] {
		if n, err := strconv.Atoi(part); err == nil {
			f.within = n
			continue
		}
		severity, err := ParseSeverity(part)
		if err != nil {
			panic(fmt.Sprintf("lexicon/frames.txt: %q: %v", line, err))
		}
		f.pattern.severity = severity
	}
	body, excuse, _ := strings.Cut(body, " - ")
	f.excuse = l.meaningsOf(excuse, line)
	for field := range strings.FieldsSeq(body) {
		var s slot
		field, s.later = strings.CutPrefix(field, ">")
		field, s.negated = strings.CutPrefix(field, "!")
		field, s.affirmed = strings.CutPrefix(field, "+")
		s.of = l.meaningsOf(field, line)
		f.slots = append(f.slots, s)
	}
	for _, s := range f.slots {
		for rest := s.of; rest != 0; rest &= rest - 1 {
			bit := bits.TrailingZeros64(uint64(rest))
			l.framesOf[bit] = append(l.framesOf[bit], len(l.frames))
		}
	}
	l.frames = append(l.frames, f)
}

func (l *lexicon) meaningsOf(field, line string) (all concept) {
	for name := range strings.FieldsFuncSeq(field, func(r rune) bool { return r == '|' || r == ' ' }) {
		bit, found := l.meanings[name]
		if !found {
			panic(fmt.Sprintf("lexicon/frames.txt: %q has the unknown meaning %s", line, name))
		}
		all |= bit
	}
	return all
}

// spots are where meanings stand in a sentence.
type spots struct {
	present     concept
	first, last [64]int
}

func (s *spots) see(bit, place int) {
	if s.present&(1<<bit) == 0 {
		s.first[bit] = place
	}
	s.present |= 1 << bit
	s.last[bit] = place
}

// reader runs all frames over the sentences of a text.
type reader struct {
	words     *lexicon
	around    concept // what holds of the whole text
	whole     concept // what the text has said
	said      spots   // whether negated or not
	plain     spots   // not negated
	negated   spots
	from      int  // where the sentence begins
	led       bool // the word before leads to an order
	sentences int
	found     []int // by frame: the text in which it was found
	round     int
	waiting   []hit // until the end of the sentence shows no excuse
	frames    []int // of these
	work      *int
}

func newReader(words *lexicon, work *int) *reader {
	return &reader{words: words, found: make([]int, len(words.frames)), work: work}
}

// begin begins a text.
func (r *reader) begin(around concept) {
	r.around, r.sentences, r.led, r.whole = around, 0, false, 0
	r.round++
	r.clear()
}

func (r *reader) clear() {
	r.said.present, r.plain.present, r.negated.present = 0, 0, 0
	r.waiting, r.frames = r.waiting[:0], r.frames[:0]
}

// end ends a sentence, and gives what it asks for.
func (r *reader) end(hits []hit) []hit {
	for i, h := range r.waiting {
		f := &r.words.frames[r.frames[i]]
		if f.excuse&(r.said.present|r.around) == 0 {
			hits = append(hits, h)
			r.found[r.frames[i]] = r.round
		}
	}
	r.clear()
	r.sentences++
	return hits
}

// see takes a phrase and what it means.
func (r *reader) see(all concept, place, from, to int, negated bool) {
	for rest := all; rest != 0; rest &= rest - 1 {
		bit := bits.TrailingZeros64(uint64(rest))
		r.said.see(bit, place)
		if negated {
			r.negated.see(bit, place)
		} else {
			r.plain.see(bit, place)
		}
	}
	r.whole |= all
	if r.said.present == all {
		r.from = from
	}
	for rest := all; rest != 0; rest &= rest - 1 {
		for _, number := range r.words.framesOf[bits.TrailingZeros64(uint64(rest))] {
			*r.work++
			r.try(number, place, to)
		}
	}
}

// try notes a frame if all of it has come.
func (r *reader) try(number, place, to int) {
	f := &r.words.frames[number]
	if r.found[number] == r.round {
		return
	}
	before := 0
	for _, s := range f.slots {
		if s.of&r.around != 0 {
			continue
		}
		of := &r.said
		if s.negated {
			of = &r.negated
		} else if s.affirmed {
			of = &r.plain
		}
		first, last := of.of(s.of, place-f.within)
		if last == 0 || s.later && last <= before {
			return
		}
		before = first
	}
	for _, waits := range r.frames {
		if waits == number {
			return
		}
	}
	r.waiting = append(r.waiting, hit{pattern: f.pattern, from: r.from, to: to})
	r.frames = append(r.frames, number)
}

// of is where one of some meanings stands first and last, not before a place; 0: nowhere.
func (s *spots) of(any concept, since int) (first, last int) {
	for rest := any & s.present; rest != 0; rest &= rest - 1 {
		bit := bits.TrailingZeros64(uint64(rest))
		if s.last[bit] < since {
			continue
		}
		last = max(last, s.last[bit])
		if first == 0 || s.first[bit] < first {
			first = s.first[bit]
		}
	}
	return first, last
}
