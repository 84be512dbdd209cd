package scan

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"
)

// pattern is a sequence of concepts, each at most some words behind the one before it. A word that means several things
// can be any of them.
type pattern struct {
	rule *Rule // nil: a sign, which counts only beside others
	sign string

	severity Severity // 0: that of the rule
	later    bool     // it counts only behind the first word, where a description says what the tool does
	first    int      // its number among all stages
	stages   []stage
}

type stage struct {
	of     concept // one of these
	within int     // words from the stage before
}

// step is a stage of a pattern.
type step struct{ pattern, stage int }

// stages is how many stages all patterns have.
func (l *lexicon) stages() int {
	last := l.patterns[len(l.patterns)-1]
	return last.first + len(last.stages)
}

// readPatterns reads the patterns: a line has a rule or a sign, a colon, and concepts with how many words may stand
// between them at most: a|b ~4 c.
func (l *lexicon) readPatterns() {
	first := 0
	for line := range lines("patterns") {
		name, sequence, _ := strings.Cut(line, ":")
		p := pattern{first: first}
		name, p.later = strings.CutSuffix(name, " later")
		if sign, isSign := strings.CutPrefix(name, "sign "); isSign {
			p.sign = sign
		} else if p.rule = ruleNamed(name); p.rule == nil {
			panic(fmt.Sprintf("lexicon/patterns.txt: %q names no rule", line))
		}
		within := 0
		for field := range strings.FieldsSeq(sequence) {
			if distance, ok := strings.CutPrefix(field, "~"); ok {
				n, err := strconv.Atoi(distance)
				if err != nil {
					panic(fmt.Sprintf("lexicon/patterns.txt: %q", line))
				}
				within = n
				continue
			}
			if within+1 >= apart {
				panic(fmt.Sprintf("lexicon/patterns.txt: %q reaches too far", line))
			}
			p.stages = append(p.stages, stage{l.conceptsOf(field, line), within + 1})
			within = 0
		}
		l.index(p)
		first += len(p.stages)
	}
}

func (l *lexicon) conceptsOf(field, line string) (all concept) {
	for name := range strings.SplitSeq(field, "|") {
		bit, found := l.concepts[name]
		if !found {
			panic(fmt.Sprintf("lexicon/patterns.txt: %q has the unknown concept %s", line, name))
		}
		all |= bit
	}
	return all
}

func (l *lexicon) index(p pattern) {
	for i, s := range p.stages {
		for rest := s.of; rest != 0; rest &= rest - 1 {
			bit := bits.TrailingZeros64(uint64(rest))
			l.starts[bit] = append(l.starts[bit], step{len(l.patterns), i})
		}
	}
	l.patterns = append(l.patterns, p)
	for i, s := range p.stages {
		if s.of&l.concepts["neg"] != 0 {
			l.negations = append(l.negations, p.first+i)
		}
	}
}

func ruleNamed(id string) *Rule {
	for _, r := range rules {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// hit is a pattern that a text matches.
type hit struct {
	pattern  *pattern
	from, to int
	negated  bool
}

// matcher runs all patterns over a sequence of words at once. Of every stage it keeps the last place where
// the pattern got that far, so a word costs the same wherever it stands.
type matcher struct {
	words *lexicon
	root  *node
	at    []reached // by stage
	open  []phrase  // phrases of the lexicon that have begun
	hits  []hit
	seen  []int // by pattern: the round in which it was found
	round int
	place int // of the word, counted in words
	neg   int // the place of the last word that negates the clause; 0: there is none
	work  *int

	reader *reader
}

// reached is where a stage was reached last, and the time before: a word that begins a pattern again may also continue
// it. where 0: it was not.
type reached struct {
	last, older arrival
}

// arrival is where a stage was reached, where its pattern began, and whether a word negated it.
type arrival struct {
	where, from int
	negated     bool
}

// set notes that a stage was reached.
func (r *reached) set(a arrival) {
	if r.last.where != a.where {
		r.older = r.last
	}
	r.last = a
}

// before is how a pattern got to this stage at most some words before a place.
func (r *reached) before(place, within int) (a arrival, ok bool) {
	for _, a := range []arrival{r.last, r.older} {
		if a.where != 0 && a.where < place && place-a.where <= within {
			return a, true
		}
	}
	return arrival{}, false
}

// phrase is a phrase of the lexicon that has begun.
type phrase struct {
	at          *node
	where, from int
}

func newMatcher(words *lexicon, reading int, work *int) *matcher {
	return &matcher{
		words: words,
		root:  words.roots[reading],
		at:    make([]reached, words.stages()),
		seen:  make([]int, len(words.patterns)),
		work:  work,

		reader: newReader(words, work),
	}
}

// matchers are those that no scan uses. They are large, and results of tools are scanned with every call.
var matchers sync.Pool

// takeMatchers are matchers as if they were new, one for each way to read a text.
func takeMatchers(words *lexicon, work *int) *[readings]*matcher {
	all, ok := matchers.Get().(*[readings]*matcher)
	if !ok {
		all = new([readings]*matcher)
		for i := range all {
			all[i] = newMatcher(words, i, work)
		}
		return all
	}
	for _, m := range all {
		m.renew(work)
	}
	return all
}

// renew forgets all that was read.
func (m *matcher) renew(work *int) {
	r := m.reader
	clear(m.at)
	clear(m.seen)
	clear(r.found)
	m.open, m.hits = m.open[:0], m.hits[:0]
	m.round, m.place, m.neg, m.work = 0, 0, 0, work
	*r = reader{
		words: r.words, found: r.found, waiting: r.waiting[:0], frames: r.frames[:0],
		work: work,
	}
}

// apart is further than any pattern reaches.
const apart = 100

// reset begins another text: what was reached before is too far away to count.
func (m *matcher) reset(around concept) {
	m.reader.begin(around)
	m.open, m.hits = m.open[:0], m.hits[:0]
	m.place += apart
	m.round++
}

// maxOpen bounds the phrases that have begun at once; the longest has fewer words.
const maxOpen = 8

// feed takes the next word.
func (m *matcher) feed(w word, also *node) {
	text, from, to := w.text, w.from, w.to
	m.place += w.gap
	if w.clause {
		m.neg = 0
	}
	if w.sentence {
		m.hits = m.reader.end(m.hits)
	}
	*m.work += 1 + len(m.open)
	open := m.open[:0]
	for _, p := range m.open {
		if next := p.at.next[text]; next != nil {
			m.means(next, p.where, p.from, to)
			if next.next != nil {
				open = append(open, phrase{next, p.where, p.from})
			}
		}
	}
	m.open = open
	start := m.root.next[text]
	if w.inside && start != nil {
		start = &node{means: start.means, next: start.next}
	}
	if start != nil {
		m.means(start, m.place, from, to)
		if start.next != nil && len(m.open) < maxOpen {
			m.open = append(m.open, phrase{start, m.place, from})
		}
	}
	if also != nil {
		m.means(also, m.place, from, to)
	}
	m.orders(w, start)
}

// orders sees whether a word is a verb that tells the reader to do something: one that begins a sentence or a part of
// it, but not the first sentence, which says what the tool does, or one behind "please", "always", "then".
func (m *matcher) orders(w word, n *node) {
	begins := (w.sentence || w.clause) && m.reader.sentences > 0
	if n != nil && n.verb && (begins || m.reader.led) {
		m.reader.see(m.words.order, m.place, w.from, w.to, m.isNegated(m.place))
	}
	m.reader.led = n != nil && n.lead
}

// isNegated reports whether a word negates what stands at a place.
func (m *matcher) isNegated(place int) bool {
	return m.neg != 0 && m.neg < place && place-m.neg <= negates
}

// finish ends a text.
func (m *matcher) finish() []hit {
	m.hits = m.reader.end(m.hits)
	return m.hits
}

// means advances the patterns that wait for a concept, of a phrase that began at a place.
func (m *matcher) means(n *node, start, from, to int) {
	all := n.means
	if n.says != 0 {
		m.reader.see(n.says, m.place, from, to, m.isNegated(start))
	}
	switch {
	case all&m.words.cancel != 0:
		m.cancelNegation()
	case all&m.words.negverb != 0:
		m.neg = m.place
	case m.neg >= start && m.neg < m.place:
		m.neg = 0 // it belongs to this phrase
	}
	for ; all != 0; all &= all - 1 {
		for _, s := range m.words.starts[bits.TrailingZeros64(uint64(all))] {
			*m.work++
			m.advance(s, start, from, to)
		}
	}
}

// How far a word negates, and how near the word is that turns that around, as in "do not forget to".
const (
	negates = 5
	cancels = 2
)

// cancelNegation forgets that a pattern got to a stage that negates.
func (m *matcher) cancelNegation() {
	m.neg = 0
	for _, stage := range m.words.negations {
		*m.work++
		if m.place-m.at[stage].last.where <= cancels {
			m.at[stage] = reached{}
		}
	}
}

func (m *matcher) advance(s step, start, from, to int) {
	p := &m.words.patterns[s.pattern]
	here := p.first + s.stage
	arrived := arrival{where: m.place, from: from, negated: m.isNegated(start)}
	if s.stage > 0 {
		before, ok := m.at[here-1].before(start, p.stages[s.stage].within)
		if !ok {
			return
		}
		arrived.from, arrived.negated = before.from, arrived.negated || before.negated
	}
	m.at[here].set(arrived)
	if s.stage == len(p.stages)-1 && (!p.later || arrived.from > 0) {
		m.reach(s.pattern, hit{p, arrived.from, to, arrived.negated})
	}
}

// reach notes that a text matches a pattern. One that is not negated counts more.
func (m *matcher) reach(number int, h hit) {
	if m.seen[number] != m.round {
		m.seen[number] = m.round
		m.hits = append(m.hits, h)
		return
	}
	if h.negated {
		return
	}
	for i := range m.hits {
		if m.hits[i].pattern == h.pattern && m.hits[i].negated {
			m.hits[i] = h
		}
	}
}
