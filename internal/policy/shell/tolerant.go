package shell

import (
	"path"
	"strings"
)

// tolerant collects what it can from text that we cannot parse, which is Dynamic. Every
// word where a command could begin counts as a program. It ignores quotes, so it finds
// too much rather than too little.
func (s *scan) tolerant(text string) {
	s.dynamic, s.opaque = true, true
	if len(text) > maxBytes {
		text = text[:maxBytes]
	}
	text = strings.ToValidUTF8(text, "")
	for segment := range strings.FieldsFuncSeq(text, separates) {
		s.tolerantCommand(segment)
	}
}

func separates(r rune) bool { return strings.ContainsRune(";|&\n\r(){}`<>", r) }

// tolerantUnquote removes what quoting leaves in a word.
var tolerantUnquote = strings.NewReplacer(`"`, "", `'`, "", `\`, "", "\x00", "", "$", "")

var keywords = names("if then elif else fi do done while until for case esac in select function time coproc ! [[ ]]")

func (s *scan) tolerantCommand(segment string) {
	begins := true
	for word := range strings.FieldsSeq(segment) {
		word = tolerantUnquote.Replace(word)
		if word == "" {
			continue
		}
		s.words.add(word)
		if begins && (keywords[word] || strings.Contains(word, "=")) {
			continue
		}
		if name := path.Base(word); begins && name != "/" && name != "." {
			s.programs.add(name)
			begins = false
			if p, _ := programNamed(name); p != nil && p.takes.starts && len(p.takes.before) < 2 {
				begins = true // the program that it wraps follows
			}
		}
	}
}

// nestsDeeply reports whether text nests too deeply for a recursive parser. It ignores
// quotes.
func nestsDeeply(text string) bool {
	if len(text) <= maxNest {
		return false
	}
	open, keyword := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			open++
		case ')', '}', ']':
			open = max(open-1, 0)
		}
		if open > maxNest {
			return true
		}
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return separates(r) || r == ' ' || r == '\t' }) {
		switch word {
		case "if", "while", "until", "for", "case", "select", "time", "coproc":
			keyword++
		case "fi", "done", "esac":
			keyword = max(keyword-1, 0)
		}
		if keyword > maxNest {
			return true
		}
	}
	return false
}
