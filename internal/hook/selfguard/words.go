package selfguard

import "strings"

// word is one of a shell command, without its quotes.
type word struct {
	text    string
	begins  bool // a simple command
	written bool // it is the target of a redirection that writes
	quoted  bool // some of it was
}

// separators end a word and, but for spaces, begin another command.
const separators = " \t\r\n;&|()`<>"

// split reads the words of a shell command, roughly: quotes are taken off, and whatever begins another command begins
// one here, also inside double quotes. It knows less than a shell and so sees more words than there are.
// Comments are left out only where the text is sure to be a shell's.
func split(text string, comments bool) []word {
	l := lexer{text: text, begins: true, comments: comments}
	for l.at < len(l.text) {
		l.next()
	}
	l.end()
	return l.words
}

type lexer struct {
	text    string
	at      int
	words   []word
	current strings.Builder
	inWord  bool
	double  bool // inside double quotes
	quoted  bool
	begins  bool
	written bool

	comments bool
}

func (l *lexer) end() {
	if l.inWord {
		l.words = append(l.words, word{l.current.String(), l.begins, l.written, l.quoted})
		l.begins, l.written = false, false
	}
	l.current.Reset()
	l.inWord, l.quoted = false, false
}

// next reads one character, or what belongs to it.
func (l *lexer) next() {
	c := l.text[l.at]
	switch {
	case c == '\\':
		l.escape()
	case c == '"':
		l.double, l.inWord, l.quoted = !l.double, true, true
	case c == '\'' && !l.double:
		l.single()
	case c == '$' && !l.double && strings.HasPrefix(l.text[l.at:], "$'"):
		l.ansi()
	case c == '$' && strings.HasPrefix(l.text[l.at:], "$("), c == '`':
		l.at += strings.IndexAny(l.text[l.at:], "(`")
		l.command()
	case l.double:
		l.add(c)
	case c == '#' && !l.inWord && l.comments:
		l.comment()
		return
	case strings.IndexByte(separators, c) >= 0:
		l.separate(c)
	default:
		l.add(c)
	}
	l.at++
}

func (l *lexer) add(c byte) {
	l.current.WriteByte(c)
	l.inWord = true
}

// comment passes over a comment. What is in it is text, and a later line is a command again. In a here-document the
// same line is none: there the shell runs the commands in it.
func (l *lexer) comment() {
	end := strings.IndexByte(l.text[l.at:], '\n')
	if end < 0 {
		end = len(l.text) - l.at
	}
	if line := l.text[l.at : l.at+end]; strings.Contains(line, "$(") || strings.Contains(line, "`") {
		l.at++
		return
	}
	l.at += end
}

// escape takes the next character as it is. A line that goes on has none.
func (l *lexer) escape() {
	l.at++
	if l.at < len(l.text) && l.text[l.at] != '\n' {
		l.add(l.text[l.at])
	}
}

func (l *lexer) single() {
	l.inWord, l.quoted = true, true
	for l.at++; l.at < len(l.text) && l.text[l.at] != '\''; l.at++ {
		l.add(l.text[l.at])
	}
}

// ansi reads $'...', whose escapes are characters by number.
func (l *lexer) ansi() {
	l.inWord, l.quoted = true, true
	for l.at += 2; l.at < len(l.text) && l.text[l.at] != '\''; l.at++ {
		if l.text[l.at] != '\\' || l.at+1 == len(l.text) {
			l.add(l.text[l.at])
			continue
		}
		l.at++
		l.ansiEscape()
	}
}

func (l *lexer) ansiEscape() {
	base, digits := 0, 0
	switch c := l.text[l.at]; {
	case c == 'x':
		base, digits = 16, 2
	case c == 'u':
		base, digits = 16, 4
	case c == 'U':
		base, digits = 16, 8
	case '0' <= c && c <= '7':
		base, digits = 8, 3
		l.at-- // it is the first digit
	default:
		l.add(c)
		return
	}
	value := 0
	for ; digits > 0 && l.at+1 < len(l.text); digits-- {
		digit := strings.IndexByte(hexDigits[:base], lower(l.text[l.at+1]))
		if digit < 0 {
			break
		}
		value = value*base + digit
		l.at++
	}
	l.current.WriteRune(rune(value))
}

// command begins another command.
func (l *lexer) command() {
	l.end()
	l.begins, l.written = true, false
}

func (l *lexer) separate(c byte) {
	if c == '>' && l.inWord && strings.Trim(l.current.String(), "0123456789") == "" {
		l.current.Reset() // 2> is a number and no word
		l.inWord = false
	}
	l.end()
	switch c {
	case ' ', '\t', '\r':
	case '>':
		l.written = true
	case '<':
		l.written = strings.HasPrefix(l.text[l.at:], "<>")
	case '&':
		// >& and &> belong to a redirection.
		if l.at > 0 && (l.text[l.at-1] == '>' || l.text[l.at-1] == '<') || strings.HasPrefix(l.text[l.at:], "&>") {
			return
		}
		l.command()
	case '|':
		if l.at > 0 && l.text[l.at-1] == '>' { // >| writes
			return
		}
		l.command()
	default:
		l.command()
	}
}
