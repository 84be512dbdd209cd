package scan

import (
	"cmp"
	"strings"

	"writ/internal/mcp/definition"
)

// role is what a text is for.
type role int

const (
	roleName role = iota
	roleDescription
	roleParameterName
	roleParameter // a description of a parameter
	roleValue     // a default, an example, one of the permitted values
	roleAddress
)

// text is one text of a definition.
type text struct {
	value  string
	role   role
	tagged bool // it has markup that calls for attention

	reported map[*Rule]Severity
}

// report reports whether a finding is news: the first of its rule about the text, or a more severe one.
func (t *text) report(rule *Rule, severity Severity) bool {
	severity = cmp.Or(severity, rule.Severity)
	if t.reported[rule] >= severity {
		return false
	}
	if t.reported == nil {
		t.reported = map[*Rule]Severity{}
	}
	t.reported[rule] = severity
	return true
}

// scanner scans the definition of one server.
type scanner struct {
	*collector
	server *definition.Server
	words  *lexicon
	place  path
	owner  string // the tool, prompt or resource that is read
	tool   *toolFacts

	inPrompt bool

	fragments []byte // short texts of the tool, which may be one text that was cut up
	alarms    int    // findings that a person should look at

	own     map[string]bool // names of the server's own tools
	buffer  []word          // of the text that is read
	readers *[readings]*matcher
}

// The ways in which the words of a text are read.
const (
	asWritten = iota
	rotated
	mirrored
	backwards
	readings
)

func scanServer(c *collector, server *definition.Server) {
	s := &scanner{collector: c, server: server, words: theLexicon(), own: make(map[string]bool, len(server.Tools))}
	s.readers = takeMatchers(s.words, &c.work)
	for _, t := range server.Tools {
		s.own[t.Name] = true
	}
	s.walk()
	s.connection()
	s.duplicates()
	matchers.Put(s.readers)
}

// at reads a text at a place.
func (s *scanner) at(role role, value string, place ...segment) {
	if value == "" {
		return
	}
	kept := len(s.place)
	s.place = append(s.place, place...)
	s.read(&text{value: value, role: role})
	s.place = s.place[:kept]
}

// read scans one text.
func (s *scanner) read(t *text) {
	s.work += len(t.value)
	l := look(t.value)
	s.hidden(t, &l)
	s.markup(t)
	s.match(t, t.value, 0)
}

// found adds a finding about a part of a text.
func (s *scanner) found(t *text, rule *Rule, severity Severity, from, to int) {
	if !t.report(rule, severity) {
		return
	}
	if cmp.Or(severity, rule.Severity) >= Medium {
		s.alarms++
	}
	s.add(newFinding(finding{
		rule:     rule,
		severity: severity,
		server:   s.server.Name,
		place:    s.place,
		text:     t.value,
		from:     from,
		to:       to,
	}, s.place.names()), s.owner)
}

// foundHere adds a finding about the place that is read, of which the text says what it is about.
func (s *scanner) foundHere(rule *Rule, severity Severity, about string) {
	s.found(&text{value: about}, rule, severity, 0, len(about))
}

// maxDecoded is how often a text may be encoded within itself.
const maxDecoded = 3

// match runs the patterns over a text that may have been decoded, and then over what it holds in encoded form.
func (s *scanner) match(t *text, value string, decoded int) {
	s.buffer = s.buffer[:0]
	tokenize(value, s.words, &s.work, func(w word) { s.buffer = append(s.buffer, w) })
	s.written(t, value, decoded)
	if decoded > 0 && s.speaks() {
		s.foundIn(t, value, hit{to: len(value)})
	}
	s.disguised(t, value, decoded)
	plain := s.deciphered()
	if decoded < maxDecoded {
		s.decode(t, value, decoded)
		if plain != "" {
			s.match(t, plain, decoded+1)
		}
	}
}

// minSigns is how many different signs together are a finding.
const minSigns = 3

// written runs the patterns over the words as they stand.
func (s *scanner) written(t *text, value string, decoded int) {
	m := s.readers[asWritten]
	m.reset(s.around(t))
	for _, w := range s.buffer {
		var also *node
		if w.address || isNumbered(w.text) {
			also = &node{means: s.words.address, says: s.words.host}
		}
		if t.role == roleDescription && s.namesForeign(value, w) {
			also = &node{means: s.words.foreign, says: s.words.other}
		}
		m.feed(w, also)
	}
	s.hits(t, value, decoded, m.finish())
}

// minNumbered are the fewest digits of an account or a telephone number.
const minNumbered = 8

// isNumbered reports whether a word is the number of an account or a telephone: somewhere that data or money can go.
func isNumbered(text string) bool { return len(text) >= minNumbered && hasDigits(text, minNumbered) }

// around is what holds of a whole text.
func (s *scanner) around(t *text) (all concept) {
	if t.role == roleParameter || t.role == roleValue {
		all |= s.words.meanings[meansParameter]
	}
	if s.inPrompt {
		all |= s.words.meanings[meansTalks] // a prompt is a text for a model
	}
	if s.tool == nil {
		return all
	}
	if s.tool.aboutConversations {
		all |= s.words.meanings[meansTalks]
	}
	if s.tool.aboutCredentials {
		all |= s.words.meanings[meansSecrets]
	}
	return all
}

// namesForeign reports whether a word begins the name of a tool that is none of the server's, and of no parameter.
func (s *scanner) namesForeign(value string, w word) bool {
	if w.to >= len(value) || value[w.to] != '_' || w.from > 0 && value[w.from-1] == '_' {
		return false
	}
	end := w.to
	for end < len(value) && end-w.from < maxHost && (isWordByte(value[end]) || value[end] == '_') {
		end++
	}
	s.work += end - w.to
	name := value[w.from:end]
	return !s.own[name] && (s.tool == nil || !s.tool.names[name])
}

func (s *scanner) hits(t *text, value string, decoded int, hits []hit) {
	if len(hits) == 0 {
		return
	}
	signs := map[string]hit{}
	strong := false
	for _, h := range hits {
		if h.pattern.rule == nil {
			signs[h.pattern.sign] = h
			continue
		}
		severity, fits := s.fits(t, value, h)
		if !fits {
			continue
		}
		strong = strong || severity == 0 || severity >= Medium
		s.hit(t, value, decoded, h.pattern.rule, severity, h)
	}
	if t.tagged && len(hits) > 0 {
		signs["markup"] = hits[0]
	}
	if !strong && len(signs) >= minSigns && anyTelling(signs) {
		first := hit{from: len(value)}
		for _, h := range signs {
			if h.from < first.from {
				first = h
			}
		}
		s.hit(t, value, decoded, instructionSuspected, 0, first)
	}
}

// commonSigns are those that honest texts have together: they urge people to call tools in order, or calls fail.
var commonSigns = newPhrases("directive", "urgent", "sequence", "threat", "instead", "parameter", "markup")

// anyTelling reports whether one of the signs is more than a stern description.
func anyTelling(signs map[string]hit) bool {
	for sign := range signs {
		if !commonSigns[sign] {
			return true
		}
	}
	return false
}

// fits reports whether a rule about words is about such texts, and how severe a match is; 0: as severe as the rule.
func (s *scanner) fits(t *text, value string, h hit) (severity Severity, ok bool) {
	about := s.tool != nil && s.tool.aboutConversations
	switch h.pattern.rule {
	case requestContext:
		if about {
			return 0, false
		}
	case toolBroad:
		if t.role == roleValue || s.tool == nil {
			return 0, false
		}
		if s.readers[asWritten].reader.whole&s.words.limits != 0 {
			return Low, true // it says what limits it
		}
	case instructionOverride:
		if about && overrides(value[h.from:]) {
			return 0, false // that is a setting of such a tool
		}
		if !s.orders() && isExample(value[max(0, h.from-maxExampleWords):h.to]) {
			return Low, true
		}
	case instructionSecrecy:
		if s.mentionsSecret(h) {
			return Low, true // not to show a secret is good advice
		}
		return h.pattern.severity, true
	}
	if !h.affirmed() {
		return Low, true
	}
	return h.pattern.severity, true
}

// affirmed reports whether a text says what a pattern looks for, and not that it must not be done. Some patterns are
// about negations.
func (h hit) affirmed() bool {
	switch h.pattern.rule {
	case instructionSecrecy, instructionApproval, instructionSequence, toolShadowing:
		return true
	}
	return !h.negated
}

// overrides reports whether a text begins with a word of settings.
func overrides(text string) bool {
	start := strings.ToLower(text[:min(len(text), 8)])
	return strings.HasPrefix(start, "overrid") || strings.HasPrefix(start, "discard")
}

// mentionsSecret reports whether a secret is among the words of a match.
func (s *scanner) mentionsSecret(h hit) bool {
	n := s.words.roots[asWritten]
	for i, w := range s.buffer {
		if w.from < h.from || w.to > h.to {
			continue
		}
		s.work++
		one := n.next[w.text]
		if one == nil {
			continue
		}
		if one.means&s.words.secret != 0 {
			return true
		}
		if i+1 < len(s.buffer) {
			if two := one.next[s.buffer[i+1].text]; two != nil && two.means&s.words.secret != 0 {
				return true
			}
		}
	}
	return false
}

// hit reports what a pattern found. Found in what was decoded, it is about the encoding as well.
func (s *scanner) hit(t *text, value string, decoded int, r *Rule, severity Severity, h hit) {
	switch {
	case decoded == 0:
		s.found(t, r, severity, h.from, h.to)
	case severity == 0 || severity >= Medium:
		s.foundIn(t, value, h)
	}
}
