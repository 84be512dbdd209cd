package node

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// quoteEnd is the offset after the quoted text that begins here, or -1 if it is
// longer than max.
func (r *yamlReader) quoteEnd(max int) int {
	quote := r.src[r.pos]
	for i := r.pos + 1; i < r.pos+max; i++ {
		switch {
		case r.src[i] == '\\' && quote == '"':
			i++
		case r.src[i] == quote && quote == '\'' && i+1 < len(r.src) && r.src[i+1] == quote:
			i++
		case r.src[i] == quote:
			return i + 1
		}
	}
	return -1
}

// quoted reads text in quotes. All lines but the first must be indented more than
// column outer.
func (r *yamlReader) quoted(outer int) string {
	start, quote, end := r.pos, r.src[r.pos], r.quoteEnd(len(r.src)-r.pos)
	if end < 0 {
		r.fail(start, "must end with %q", quote)
	}
	var b strings.Builder
	for r.pos++; r.pos < end-1; {
		switch c := r.src[r.pos]; {
		case c == '\'' && quote == '\'':
			b.WriteByte(c)
			r.pos += 2
		case c == '\\' && quote == '"':
			r.escape(&b, outer)
		case c == ' ' || c == '\n':
			r.gap(&b, outer)
		default:
			b.WriteByte(c)
			r.pos++
		}
	}
	r.pos = end
	return b.String()
}

// gap reads spaces and line breaks within quotes. Spaces around a break are dropped.
func (r *yamlReader) gap(b *strings.Builder, outer int) {
	start := r.pos
	r.spaces()
	if r.src[r.pos] != '\n' {
		b.WriteString(r.src[start:r.pos])
		return
	}
	count, column := r.breaks()
	r.further(column, outer)
	b.WriteString(folded(count))
}

func (r *yamlReader) further(column, outer int) {
	if column <= outer {
		r.fail(r.pos, "must be indented more than the key that the text belongs to")
	}
}

// escapes are those of JSON, and those of YAML that stand for visible characters.
var escapes = map[byte]string{
	'"': `"`, '\\': `\`, '/': "/", ' ': " ",
	'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t",
}

// digits is how many hexadecimal digits follow an escape.
var digits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

func (r *yamlReader) escape(b *strings.Builder, outer int) {
	at, c := r.pos, r.src[r.pos+1]
	r.pos += 2
	if text, ok := escapes[c]; ok {
		b.WriteString(text)
		return
	}
	if c == '\n' {
		r.pos--
		count, column := r.breaks()
		r.further(column, outer)
		b.WriteString(strings.Repeat("\n", count-1))
		return
	}
	count, ok := digits[c]
	if !ok || r.pos+count > len(r.src) {
		r.fail(at, `must be an escape of YAML, as \n, \", \\ or \u00e9`)
	}
	code, err := strconv.ParseUint(r.src[r.pos:r.pos+count], 16, 32)
	if err != nil || !utf8.ValidRune(rune(code)) {
		r.fail(at, "must be the hexadecimal number of a character")
	}
	b.WriteRune(rune(code))
	r.pos += count
}
