package scan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"writ/internal/mcp/definition"
)

// Bytes of a text around what was found that are evidence.
const (
	evidenceBefore = 60
	evidenceAfter  = 180
	maxPlace       = 400
)

// finding is a finding before it is written out.
type finding struct {
	rule     *Rule
	severity Severity // 0: that of the rule
	server   string
	place    path
	text     string // the whole text at the place
	from, to int    // the part of the text that is evidence
	evidence string // in place of that part
	fixed    string // in place of the text: what the fingerprint is about
}

// newFinding writes a finding out. names is its place by names alone, so that the order of tools does not matter.
func newFinding(f finding, names string) Finding {
	evidence := f.evidence
	if evidence == "" {
		evidence = excerpt(f.text, f.from, f.to)
	}
	about := f.fixed
	if about == "" {
		about = f.text
	}
	return Finding{
		ID:          f.rule.ID,
		Severity:    cmp.Or(f.severity, f.rule.Severity),
		Server:      shownName(f.server),
		Place:       f.place.String(),
		Title:       f.rule.Title,
		Evidence:    definition.Visible(evidence),
		Advice:      f.rule.Advice,
		OWASP:       f.rule.OWASP,
		SAFEMCP:     f.rule.SAFEMCP,
		Fingerprint: fingerprint(f.rule.ID, f.server, names, about),
	}
}

// fingerprint names a finding: the rule, the place by names, and the whole text there.
func fingerprint(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part))))
		h.Write([]byte{':'})
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// excerpt is a part of a text with a little around it.
func excerpt(text string, from, to int) string {
	from, to = max(0, from-evidenceBefore), min(len(text), max(to, from)+evidenceAfter)
	if to-from > 2*evidenceAfter {
		to = from + 2*evidenceAfter
	}
	for from < to && !utf8.RuneStart(text[from]) {
		from++
	}
	for to > from && to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	part := text[from:to]
	if from > 0 {
		part = "…" + part
	}
	if to < len(text) {
		part += "…"
	}
	return part
}

// path is a place in a definition: members by name, items of lists by number.
type path []segment

type segment struct {
	name  string
	index int // -1: a member
}

func member(name string) segment { return segment{name, -1} }

// item is an item of a list, with the name that it has, which stays when the list's order changes.
func item(i int, name string) segment { return segment{name, i} }

// String writes a path as in tools[0].inputSchema.properties["a b"].description.
func (p path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case isIdentifier(s.name):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		default:
			b.WriteString(`["` + shownName(s.name) + `"]`)
		}
		if b.Len() > maxPlace {
			return strings.ToValidUTF8(b.String()[:maxPlace], "") + "…"
		}
	}
	return b.String()
}

// names is the place without numbers of what has a name.
func (p path) names() string {
	var b strings.Builder
	for _, s := range p {
		name := s.name
		if s.index >= 0 && name == "" {
			name = "#" + strconv.Itoa(s.index)
		}
		b.WriteString(strconv.Itoa(len(name)) + ":" + name)
	}
	return b.String()
}

func isIdentifier(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}

// shownName is a name that somebody else chose: short, with hidden characters as escapes.
func shownName(name string) string {
	const most = 80
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return definition.Visible(name)
}
