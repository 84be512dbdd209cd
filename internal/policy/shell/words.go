package shell

import (
	"slices"
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

// lit is an argument of this text.
func (s *scan) lit(text string) arg { return arg{alternatives: s.texts.list(text), exact: true} }

// nothing is the text of an empty word. Nobody may change it.
var nothing = []string{""}

var unknown = arg{alternatives: nothing}

// expand turns words into arguments. Braces, and unquoted variables with spaces, become
// several.
func (s *scan) expand(words []*syntax.Word) []arg {
	args := s.args.room(len(words))
	for _, word := range words {
		if a, ok := s.simpleWord(word); ok {
			args = append(args, a)
			continue
		}
		bare := s.spelled(word)
		many := strings.Count(bare, "{") > maxBraces // each multiplies the words, and the work
		if s.dynamic = s.dynamic || many; !many && syntax.SplitBraces(word) {
			args = s.braces(args, word)
		} else {
			args = s.split(args, s.parts(word))
		}
	}
	return args
}

// braces appends the words that a{b,c} stands for.
func (s *scan) braces(args []arg, word *syntax.Word) []arg {
	count := 0
	for one, err := range expand.BracesSeq(nil, word) {
		if count++; err != nil || count > maxBrace {
			s.dynamic = true
			break
		}
		args = s.split(args, s.parts(one))
	}
	return args
}

// split appends the words that an unquoted variable may become.
func (s *scan) split(args []arg, a arg) []arg {
	spaced := func(text string) bool { return strings.ContainsAny(text, " \t\n") }
	if !a.splits || !slices.ContainsFunc(a.alternatives, spaced) {
		return append(args, a)
	}
	a.exact = false
	if len(a.alternatives) > 1 {
		return append(args, a)
	}
	for field := range strings.FieldsSeq(a.text()) {
		piece := a
		piece.alternatives = s.texts.list(field)
		args = append(args, piece)
	}
	return args
}

// simpleWord is the argument of a word that is a single literal without special signs.
func (s *scan) simpleWord(word *syntax.Word) (arg, bool) {
	if len(word.Parts) != 1 {
		return arg{}, false
	}
	switch part := word.Parts[0].(type) {
	case *syntax.Lit:
		return s.lit(part.Value), !containsAny(part.Value, &bareSigns)
	case *syntax.SglQuoted:
		return s.lit(part.Value), !part.Dollar && !strings.HasPrefix(part.Value, "~")
	case *syntax.DblQuoted:
		text, ok := onlyLiteral(part)
		return s.lit(text), ok && !containsAny(text, &quotedSigns)
	}
	return arg{}, false
}

// bareSigns and quotedSigns have a meaning of their own in words.
var bareSigns, quotedSigns = signs(`\*?[{~=`), signs(`\~`)

func signs(text string) (set [256]bool) {
	for i := range len(text) {
		set[text[i]] = true
	}
	return set
}

func containsAny(text string, set *[256]bool) bool {
	for i := range len(text) {
		if set[text[i]] {
			return true
		}
	}
	return false
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
// the one that is written, and returns what is not quoted.
func (s *scan) spelled(word *syntax.Word) (bare string) {
	alone := len(word.Parts) == 1
	for i, part := range word.Parts {
		unclear := true
		switch part := part.(type) {
		case *syntax.Lit:
			bare += part.Value
			unclear = expands(part.Value, i == 0, alone) && !(alone && part.Value == "[")
		case *syntax.SglQuoted:
			unclear = part.Dollar || i == 0 && strings.HasPrefix(part.Value, "~")
		case *syntax.DblQuoted:
			text, _ := onlyLiteral(part)
			unclear = part.Dollar || !isLiteral(part.Parts) || i == 0 && strings.HasPrefix(text, "~")
		}
		s.opaque = s.opaque || unclear
	}
	s.opaque = s.opaque || strings.Contains(bare, "{") && (strings.Contains(bare, ",") || strings.Contains(bare, ".."))
	return bare
}

// expands looks for signs of expansions, other than braces, in an unquoted literal.
func expands(text string, first, alone bool) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; first && i == 1 && strings.HasPrefix(text[1:], "~") {
				return true
			}
		case '*', '?', '[':
			return true
		case '~':
			home := i == 0 && first && (text == "~" && alone || strings.HasPrefix(text, "~/"))
			if !home && (i == 0 || text[i-1] == '=' || text[i-1] == ':') {
				return true
			}
		case '=':
			if i == 0 && first && len(text) > 1 {
				return true
			}
		}
	}
	return false
}

func (s *scan) expandWord(word *syntax.Word) arg {
	if a, ok := s.simpleWord(word); ok {
		return a
	}
	s.spelled(word)
	return s.parts(word)
}

func (s *scan) parts(word *syntax.Word) arg {
	a := arg{alternatives: nothing, exact: true}
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
		return s.follow(a, s.lit(text))
	case *syntax.SglQuoted:
		if !p.Dollar {
			return s.follow(a, s.lit(p.Value))
		}
		// Nil would be a configuration that all share and all write.
		text, _, err := expand.Format(&expand.Config{}, p.Value, nil)
		if err != nil || strings.Contains(p.Value, `\c`) || strings.Contains(text, "\x00") {
			return s.follow(a, unknown)
		}
		return s.follow(a, s.lit(text))
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
		return s.follow(a, value)
	case *syntax.ExtGlob:
		a.glob = true
		return s.follow(a, unknown)
	case *syntax.ProcSubst:
		a.process = true
		return s.follow(a, unknown)
	default: // a substitution, arithmetic, or too many braces
		a.splits = a.splits || !quoted
		return s.follow(a, unknown)
	}
}

// follow is every alternative of a followed by every one of b.
func (s *scan) follow(a, b arg) arg {
	a.exact = a.exact && b.exact
	single := len(a.alternatives) == 1
	switch left, right := a.text(), b.text(); {
	case single && left == "":
		a.alternatives = b.alternatives
		return a
	case len(b.alternatives) == 1 && right == "":
		return a
	case single && len(b.alternatives) == 1 && len(left)+len(right) <= maxBytes:
		a.alternatives = s.texts.list(left + right)
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
	value := s.meaning(p.Param.Value)
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
