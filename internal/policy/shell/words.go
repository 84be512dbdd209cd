package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// arg is a word as a program receives it.
type arg struct {
	// alternatives are the texts that it can be, at least one, without parts that are
	// unknown.
	alternatives []string
	exact        bool // no part is unknown
	glob         bool // it is a pattern that file names replace
	variable     bool // it has a variable
	splits       bool // the variable is not quoted, so that it can become several words
	process      bool // <( ) or >( )
}

func (a arg) text() string { return a.alternatives[0] }

// plain reports whether the arg is a single, fully known text.
func (a arg) plain() bool { return a.exact && !a.glob && len(a.alternatives) == 1 }

func literal(text string) arg { return arg{alternatives: []string{text}, exact: true} }

// room is memory for n arguments.
func (s *scan) room(n int) []arg {
	if cap(s.free)-len(s.free) < n {
		s.free = make([]arg, 0, max(n, 256))
	}
	at := len(s.free)
	s.free = s.free[:at+n]
	return s.free[at : at : at+n]
}

// lit is literal with memory that the scan already has.
func (s *scan) lit(text string) arg {
	s.args = append(s.args, text)
	n := len(s.args)
	return arg{alternatives: s.args[n-1 : n : n], exact: true}
}

var unknown = arg{alternatives: []string{""}}

// expand turns words into arguments. Braces, and unquoted variables with spaces, become
// several.
func (s *scan) expand(words []*syntax.Word) []arg {
	args := s.room(len(words))
	for _, word := range words {
		if a, ok := s.simpleWord(word); ok {
			args = append(args, a)
			continue
		}
		s.spelled(word)
		for _, one := range s.braces(word) {
			a := s.parts(one)
			if a.splits && len(a.alternatives) == 1 && strings.ContainsAny(a.text(), " \t\n") {
				for field := range strings.FieldsSeq(a.text()) {
					piece := a
					piece.alternatives = []string{field}
					args = append(args, piece)
				}
				continue
			}
			if a.splits && strings.ContainsAny(strings.Join(a.alternatives, ""), " \t\n") {
				a.exact = false
			}
			args = append(args, a)
		}
	}
	return args
}

// braces expands a{b,c}. It counts the words first, because every brace multiplies
// them.
func (s *scan) braces(word *syntax.Word) []*syntax.Word {
	if !hasBrace(word) || !syntax.SplitBraces(word) {
		return []*syntax.Word{word}
	}
	if countBraces(word.Parts) > maxBrace {
		s.dynamic = true
		return []*syntax.Word{word}
	}
	var words []*syntax.Word
	for one, err := range expand.BracesSeq(nil, word) {
		if err != nil {
			s.dynamic = true
			break
		}
		words = append(words, one)
	}
	return words
}

// hasBrace reports whether a word may have a brace expansion: {} and @{1} have none.
func hasBrace(word *syntax.Word) bool {
	brace, separator := false, false
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b, sep, _ := signs(lit.Value, false, false)
			brace, separator = brace || b, separator || sep
		}
	}
	return brace && separator
}

// countBraces is the number of words of an expansion, up to maxBrace+1.
func countBraces(parts []syntax.WordPart) int {
	product := 1
	for _, part := range parts {
		brace, ok := part.(*syntax.BraceExp)
		if !ok {
			continue
		}
		sum := 0
		if brace.Sequence {
			sum = countSequence(brace)
		} else {
			for _, elem := range brace.Elems {
				sum = min(sum+countBraces(elem.Parts), maxBrace+1)
			}
		}
		product = min(product*max(sum, 2), maxBrace+1)
	}
	return product
}

func countSequence(brace *syntax.BraceExp) int {
	a, b := brace.Elems[0].Lit(), brace.Elems[1].Lit()
	from, err1 := strconv.ParseInt(a, 10, 32)
	to, err2 := strconv.ParseInt(b, 10, 32)
	switch {
	case err1 == nil && err2 == nil:
		return int(min(max(from-to, to-from), maxBrace) + 1)
	case len(a) == 1 && len(b) == 1: // letters
		return int(max(a[0], b[0])-min(a[0], b[0])) + 1
	}
	return maxBrace + 1
}

// simpleWord is the argument of a word that is a single literal without special signs.
func (s *scan) simpleWord(word *syntax.Word) (arg, bool) {
	if len(word.Parts) != 1 {
		return arg{}, false
	}
	text, special := "", ""
	switch part := word.Parts[0].(type) {
	case *syntax.Lit:
		text, special = part.Value, "\\*?[{~="
	case *syntax.SglQuoted:
		if text = part.Value; part.Dollar || strings.HasPrefix(text, "~") {
			return arg{}, false
		}
	case *syntax.DblQuoted:
		if lit, ok := onlyLiteral(part); ok {
			text, special = lit, "\\~"
		} else {
			return arg{}, false
		}
	default:
		return arg{}, false
	}
	if strings.ContainsAny(text, special) {
		return arg{}, false
	}
	return s.lit(text), true
}

func onlyLiteral(part *syntax.DblQuoted) (string, bool) {
	if part.Dollar || len(part.Parts) != 1 {
		return "", false
	}
	lit, ok := part.Parts[0].(*syntax.Lit)
	if !ok {
		return "", false
	}
	return lit.Value, true
}

// spelled notes whether the shell, or the system, may take a word for another text than
// the one that is written.
func (s *scan) spelled(word *syntax.Word) {
	brace, separator := false, false
	for i, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if i == 0 && len(word.Parts) == 1 && part.Value == "[" {
				return
			}
			b, sep, unclear := signs(part.Value, i == 0, len(word.Parts) == 1)
			brace, separator = brace || b, separator || sep
			s.opaque = s.opaque || unclear
		case *syntax.SglQuoted:
			s.opaque = s.opaque || part.Dollar || i == 0 && strings.HasPrefix(part.Value, "~")
		case *syntax.DblQuoted:
			text, _ := onlyLiteral(part)
			s.opaque = s.opaque || part.Dollar || !isLiteral(part.Parts) || i == 0 && strings.HasPrefix(text, "~")
		default:
			s.opaque = true
		}
	}
	s.opaque = s.opaque || brace && separator
}

// signs looks for signs of braces and of other expansions in an unquoted literal.
func signs(text string, first, alone bool) (brace, separator, unclear bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
			unclear = unclear || first && i == 1 && strings.HasPrefix(text[1:], "~")
		case '*', '?', '[':
			unclear = true
		case '{':
			brace = true
		case ',':
			separator = true
		case '.':
			separator = separator || strings.HasPrefix(text[i:], "..")
		case '~':
			if i == 0 && first {
				unclear = unclear || text != "~" && !strings.HasPrefix(text, "~/") || text == "~" && !alone
				continue
			}
			unclear = unclear || i == 0 || text[i-1] == '=' || text[i-1] == ':'
		case '=':
			unclear = unclear || i == 0 && first && len(text) > 1
		}
	}
	return brace, separator, unclear
}

func (s *scan) expandWord(word *syntax.Word) arg {
	if a, ok := s.simpleWord(word); ok {
		return a
	}
	s.spelled(word)
	return s.parts(word)
}

func (s *scan) parts(word *syntax.Word) arg {
	a := arg{alternatives: []string{""}, exact: true}
	for _, part := range word.Parts {
		a = s.part(a, part, false)
	}
	return a
}

func (s *scan) part(a arg, part syntax.WordPart, quoted bool) arg {
	switch p := part.(type) {
	case *syntax.Lit:
		text, glob := unescape(p.Value, quoted)
		a.glob = a.glob || glob
		return a.followed(s.lit(text))
	case *syntax.SglQuoted:
		if !p.Dollar {
			return a.followed(s.lit(p.Value))
		}
		text, _, err := expand.Format(nil, p.Value, nil)
		if err != nil || strings.Contains(p.Value, `\c`) || strings.Contains(text, "\x00") {
			return a.followed(unknown)
		}
		return a.followed(literal(text))
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			a = s.part(a, inner, true)
		}
		return a
	case *syntax.ParamExp:
		value := s.parameter(p)
		a.variable = true
		a.glob = a.glob || value.glob && !quoted
		a.splits = a.splits || !quoted
		return a.followed(value)
	case *syntax.ExtGlob:
		a.glob = true
		return a.followed(unknown)
	case *syntax.ProcSubst:
		a.process = true
		return a.followed(unknown)
	default: // a substitution, arithmetic, or too many braces
		a.splits = a.splits || !quoted
		return a.followed(unknown)
	}
}

// followed is every alternative of a followed by every one of b.
func (a arg) followed(b arg) arg {
	a.exact = a.exact && b.exact
	if len(a.alternatives) == 1 && a.alternatives[0] == "" {
		a.alternatives = b.alternatives
		return a
	}
	var joined []string
	for _, left := range a.alternatives {
		for _, right := range b.alternatives {
			if len(joined) == maxAlts || len(left)+len(right) > maxBytes {
				a.exact = false
				continue
			}
			joined = append(joined, left+right)
		}
	}
	a.alternatives = unique(joined)
	return a
}

func (s *scan) parameter(p *syntax.ParamExp) arg {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil ||
		p.Names != 0 || p.Flags != nil {
		return unknown
	}
	value := s.meaning(p.Param.Value, p.Pos().Offset())
	if p.Exp == nil {
		return value
	}
	value.exact = false
	if p.Exp.Word != nil { // ${x:-word}: one more alternative
		value.alternatives = unique(append(value.alternatives, s.expandWord(p.Exp.Word).alternatives...))
	}
	return value
}

// unescape removes the backslashes of a literal and reports whether it has a pattern.
func unescape(text string, quoted bool) (plain string, glob bool) {
	if !strings.ContainsAny(text, `\*?[`) {
		return text, false
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0):
			i++
			if text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case !quoted && (c == '*' || c == '?' || c == '[' && strings.IndexByte(text[i:], ']') > 0):
			glob = true
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), glob
}
