package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// tolerant collects what it can from text that we cannot parse, which is Dynamic. Every
// word where a command could begin counts as a program. It ignores quotes, so it finds
// too much rather than too little.
func (s *scan) tolerant(text string) {
	s.dynamic, s.opaque = true, true
	text = strings.ToValidUTF8(text[:min(len(text), maxBytes)], "")
	for segment := range strings.FieldsFuncSeq(text, separates) {
		begins := true
		for word := range strings.FieldsSeq(segment) {
			word = tolerantUnquote.Replace(word)
			if word == "" {
				continue
			}
			s.words.add(word)
			name := path.Base(word)
			if !begins || syntax.IsKeyword(word) || strings.Contains(word, "=") || name == "/" || name == "." {
				continue
			}
			s.programs.add(name)
			p, _ := programNamed(name)
			begins = p != nil && p.takes.starts && len(p.takes.before) < 2 // the program that it wraps follows
		}
	}
}

// tolerantUnquote removes what quoting leaves in a word.
var tolerantUnquote = strings.NewReplacer(`"`, "", `'`, "", `\`, "", "\x00", "", "$", "")

// nestsDeeply reports whether text nests too deeply for a recursive parser. It ignores
// quotes.
func nestsDeeply(text string) bool {
	if len(text) <= maxNest {
		return false
	}
	open := 0
	for i := 0; i < len(text) && open <= maxNest; i++ {
		switch text[i] {
		case '(', '{', '[':
			open++
		case ')', '}', ']':
			open = max(open-1, 0)
		}
	}
	compound := 0
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return separates(r) || r == ' ' || r == '\t' }) {
		switch word {
		case "if", "while", "until", "for", "case", "select", "time", "coproc":
			compound++
		case "fi", "done", "esac":
			compound--
		}
		if compound = max(compound, 0); compound > maxNest {
			break
		}
	}
	return open > maxNest || compound > maxNest
}

func separates(r rune) bool { return strings.ContainsRune(";|&\n\r(){}`<>", r) }
