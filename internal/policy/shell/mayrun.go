package shell

import (
	"path"
	"strings"
)

// beforeName are signs that stand before a program's name in a word: !rm, --exec=rm, exec:rm.
const beforeName = "=:,!@+"

// mayStart records what a program without a description may start: whatever its words name. Most programs start
// none of their words, so these are not in programs, and only who forbids looks at them.
func (s *scan) mayStart(args []arg) {
	for _, a := range args {
		for _, text := range a.alternatives {
			s.mayStartText(text)
		}
	}
}

func (s *scan) mayStartText(text string) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return
	}
	first, _, _ := strings.Cut(strings.Map(spaced, fields[0]), " ")
	s.mayStartWord(first)
	if len(fields) > 1 || strings.ContainsFunc(text, separates) || strings.ContainsAny(text, `'"\$`) {
		s.mayStartLine(text)
	}
}

// spaced is a space instead of what separates commands.
func spaced(r rune) rune {
	if separates(r) {
		return ' '
	}
	return r
}

// mayStartWord records the names in one word.
func (s *scan) mayStartWord(word string) {
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		s.mayStartWord(word[2:]) // the value of a short option
	}
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(beforeName, r) }) {
		if name := path.Base(part); name[0] != '-' && name != "/" && name != "." {
			s.possible.add(name)
		}
	}
}

// mayStartLine reads a word that may be a command line itself. Its words count too, but not what it would read and
// write: most such words are only text.
func (s *scan) mayStartLine(line string) {
	if s.depth >= maxTexts || s.steps > maxSteps || s.lines >= maxLines {
		s.mayStartAny(line)
		return
	}
	inner := newScan()
	inner.depth, inner.steps, inner.lines = s.depth+1, s.steps, s.lines+1
	inner.text(line)
	s.steps, s.lines = inner.steps, inner.lines
	if inner.dynamic { // its lists may lack something
		s.mayStartAny(line)
	}
	for _, list := range []list{inner.programs, inner.possible} {
		for _, name := range list {
			s.mayStartWord(name)
		}
	}
	for _, word := range inner.words {
		s.words.add(word)
	}
	scans.Put(inner) // not after a panic
}

// mayStartAny records every name in a text that is not read as a command.
func (s *scan) mayStartAny(text string) {
	for segment := range strings.FieldsFuncSeq(text, separates) {
		for word := range strings.FieldsSeq(tolerantUnquote.Replace(segment)) {
			s.words.add(word)
			s.mayStartWord(word)
		}
	}
}
