package node

import (
	"regexp"
	"strings"
	"sync"
)

// marks may not begin plain text, because YAML gives them a meaning.
const marks = ",[]{}#&*!|>'\"%@`"

var hints = map[byte]string{
	'&': "anchors are not supported: write the value where it is used, or put text that begins with & in quotes",
	'*': "aliases are not supported: put text that begins with * in quotes",
	'!': "tags are not supported: put text that begins with ! in quotes",
	'%': "directives are not supported: put text that begins with % in quotes",
	'?': "keys after ? are not supported: write key: value",
}

// isKey reports whether a key begins here: text on this line, a colon, and a space
// or the end of the line.
func (r *yamlReader) isKey() bool {
	start := r.pos
	defer func() { r.pos = start }()
	switch c := r.src[r.pos]; {
	case c == '"' || c == '\'':
		end := r.quoteEnd(strings.IndexByte(r.src[r.pos:], '\n'))
		if end < 0 {
			return false
		}
		r.pos = end
		r.spaces()
	case strings.IndexByte(marks, c) >= 0:
		return false
	default:
		r.pos += r.plainLength(false)
	}
	return r.src[r.pos] == ':' && (r.src[r.pos+1] == ' ' || r.src[r.pos+1] == '\n')
}

// key reads a key, up to its colon.
func (r *yamlReader) key(inFlow bool) string {
	start, at := r.pos, r.at()
	if r.src[start] == '"' || r.src[start] == '\'' {
		text := r.quoted(-1)
		if strings.Contains(r.src[start:r.pos], "\n") {
			r.fail(start, "a key must be on one line")
		}
		r.spaces()
		return text
	}
	text := r.plainLine(inFlow)
	switch {
	case text == "<<":
		r.found.add(at, "merge keys are not supported: write the members themselves")
	case r.resolve(&Node{At: at}, text).Kind != String:
		r.found.add(at, "a key must be text; put it in quotes")
	}
	return text
}

// inline reads a value that is not a block list or map and belongs to something that
// began in column outer.
func (r *yamlReader) inline(outer, depth int) *Node {
	switch r.src[r.pos] {
	case '[', '{':
		return r.flow(depth)
	case '|', '>':
		return r.blockText(outer)
	case '"', '\'':
		n := &Node{Kind: String, At: r.at()}
		n.Text = r.quoted(outer)
		return n
	default:
		return r.plain(outer)
	}
}

// plain reads text without quotes, which may continue on lines indented further.
func (r *yamlReader) plain(outer int) *Node {
	start, n := r.pos, &Node{At: r.at()}
	line := start // where the text of the last line begins
	var text strings.Builder
	text.WriteString(r.plainLine(false))
	for r.src[r.pos] == '\n' {
		end := r.pos
		breaks, column := r.breaks()
		if r.pos >= len(r.src) || column <= outer || r.src[r.pos] == '#' {
			r.pos = end
			break
		}
		if r.isDash() {
			r.fail(r.pos, "must be indented like the other items of its list")
		}
		line = r.pos
		length := r.plainLength(false)
		text.WriteString(folded(breaks) + strings.TrimRight(r.src[r.pos:r.pos+length], " "))
		r.pos += length
	}
	switch {
	case r.src[r.pos] != ':':
	case line > start:
		r.fail(line, "must be indented like what it belongs to: indented more, it continues the text above it, "+
			"which must then be in quotes")
	default:
		r.fail(start, "must be in quotes, or after |: it holds a colon and a space")
	}
	return r.resolve(n, text.String())
}

func (r *yamlReader) plainLine(inFlow bool) string {
	first, next := r.src[r.pos], r.src[r.pos+1]
	hint, hinted := hints[first]
	lonely := next == ' ' || next == '\n' || inFlow && strings.IndexByte(",[]{}", next) >= 0
	switch {
	case hinted && (first != '?' || lonely):
		r.fail(r.pos, "%s", hint)
	case strings.IndexByte(marks, first) >= 0, lonely && first == '-', (lonely || inFlow) && first == ':':
		r.fail(r.pos, "must be in quotes: it begins with %q, which means something in YAML", first)
	}
	length := r.plainLength(inFlow)
	text := strings.TrimRight(r.src[r.pos:r.pos+length], " ")
	r.pos += length
	return text
}

// plainLength is the length of the plain text on this line with the spaces after
// it. It ends at the end of the line, a comment, a colon and a space, or in brackets
// at one of their marks.
func (r *yamlReader) plainLength(inFlow bool) int {
	for i := r.pos; ; i++ {
		switch c := r.src[i]; {
		case c == '\n',
			c == '#' && i > r.pos && r.src[i-1] == ' ',
			c == ':' && (r.src[i+1] == ' ' || r.src[i+1] == '\n'),
			inFlow && strings.IndexByte(",[]{}", c) >= 0:
			return i - r.pos
		case inFlow && c == ':' && strings.IndexByte(",[]{}", r.src[i+1]) >= 0:
			r.fail(i, "must have a space after it")
		}
	}
}

// breaks skips line breaks and empty lines up to the next text. It returns the
// number of breaks and the column of that text.
func (r *yamlReader) breaks() (count, column int) {
	for r.pos < len(r.src) && r.src[r.pos] == '\n' {
		count++
		r.pos++
		start := r.pos
		for r.pos < len(r.src) && r.src[r.pos] == ' ' {
			r.pos++
		}
		column = r.pos - start
	}
	return count, column
}

// folded replaces line breaks between words: a single one by a space, several by one
// less.
func folded(breaks int) string {
	if breaks == 1 {
		return " "
	}
	return strings.Repeat("\n", breaks-1)
}

// numberForm is reported for numbers that YAML parsers read in different ways.
const numberForm = "must be a decimal number as 12, -3 or 0.25; put it in quotes if it is text"

// The patterns are compiled when they are first used: not every start of a program reads a document.
var (
	jsonNumber = pattern(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	numberLike = pattern(`^[-+]?_*(\.[0-9_]*[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9_]*)?$` +
		`|^[-+]?_*0_*[xXoObB][0-9a-fA-F_]*$|^[-+]?(?i:\.(inf|nan))$`)
	decimal = pattern(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`) // without sign or exponent
)

func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// resolve sets the kind of plain text.
func (r *yamlReader) resolve(n *Node, text string) *Node {
	n.Kind, n.Text = String, text
	switch text {
	case "~", "null", "Null", "NULL":
		n.Kind, n.Text = Null, ""
	case "true", "True", "TRUE", "false", "False", "FALSE":
		n.Kind, n.Text = Bool, strings.ToLower(text)
	}
	switch {
	case text == "" || strings.IndexByte("+-._0123456789", text[0]) < 0: // a number begins so
	case jsonNumber().MatchString(text):
		n.Kind = Number
	case numberLike().MatchString(text):
		r.found.add(n.At, numberForm)
	}
	return n
}
