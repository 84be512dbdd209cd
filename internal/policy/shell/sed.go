package shell

import "strings"

// sedScript reads a script of sed. It is plain if it has only the commands of sedPlain.
// Of other scripts we look for commands that run or write something. Unknown parts of a
// script are left out: they can be text of a pattern, but not a command unless they are
// where one begins.
func (s *scan) sedScript(script arg) {
	for _, text := range script.alternatives {
		if !script.exact || !sedPlain(text) {
			s.opaque = true
			s.sedActs(text, false)
			if strings.Contains(text, "[") { // some versions end a pattern within brackets
				s.sedActs(text, true)
			}
		}
	}
	if !script.exact && !strings.HasPrefix(script.text(), "s") && !strings.HasPrefix(script.text(), "/") &&
		!strings.HasSuffix(script.text(), "p") && !strings.HasSuffix(script.text(), "d") {
		s.dynamic = true
	}
}

func (s *scan) sedActs(text string, brackets bool) {
	r := &sedReader{text: text, brackets: brackets}
	s.dynamic = s.dynamic || !r.read()
	for _, file := range r.writes {
		s.write(literal(file))
	}
	for _, file := range r.reads {
		s.words.add(file)
		s.readFile(literal(file))
	}
}

// sedPlain reports whether a script is one or more of: an address and p, d, q or =; and
// s with the flags g, i, I, p and a number. Brackets can hold the delimiter, which
// versions of sed read differently, so that a script with one is a single command.
func sedPlain(text string) bool {
	commands := []string{text}
	if !strings.Contains(text, "[") {
		commands = strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' })
	}
	for _, command := range commands {
		rest := sedAddress(strings.TrimSpace(command))
		if len(rest) != 1 || strings.IndexByte("pdq=", rest[0]) < 0 {
			if !sedSubstitutes(rest) {
				return false
			}
		}
	}
	return len(commands) > 0
}

// sedAddress is what follows the address of a command: 3, $, 2,5, /text/, /a/,/b/.
func sedAddress(text string) string {
	for {
		switch {
		case text == "":
			return ""
		case text[0] == '/':
			end := strings.IndexByte(text[1:], '/')
			if end < 0 || strings.ContainsAny(text[1:end+1], `\[`) {
				return ""
			}
			text = text[end+2:]
		case text[0] == '$':
			text = text[1:]
		case text[0] >= '0' && text[0] <= '9':
			text = strings.TrimLeft(text, "0123456789")
		default:
			return text
		}
		if rest, ok := strings.CutPrefix(text, ","); ok {
			text = strings.TrimPrefix(rest, "+")
			continue
		}
		return strings.TrimLeft(text, "! ")
	}
}

// sedSubstitutes reports whether a command is s with harmless flags and nothing behind.
func sedSubstitutes(text string) bool {
	if len(text) < 4 || text[0] != 's' || strings.IndexByte("/|,#:@%!_", text[1]) < 0 || strings.Contains(text, "\n") {
		return false
	}
	delimiters, last := 0, 0
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[1]:
			delimiters, last = delimiters+1, i
		}
	}
	return delimiters == 3 && strings.Trim(text[last+1:], "giIp0123456789") == ""
}

type sedReader struct {
	text          string
	at            int
	brackets      bool // a delimiter in brackets is none
	writes, reads []string
}

func (r *sedReader) next() byte {
	if r.at >= len(r.text) {
		return 0
	}
	r.at++
	return r.text[r.at-1]
}

func (r *sedReader) skip(set string) {
	for r.at < len(r.text) && strings.IndexByte(set, r.text[r.at]) >= 0 {
		r.at++
	}
}

// until skips past the next delimiter that is not escaped.
func (r *sedReader) until(delimiter byte) bool {
	for r.at < len(r.text) {
		switch r.next() {
		case '[':
			if r.brackets {
				r.bracket()
			}
		case '\\':
			r.at++
		case delimiter:
			return true
		}
	}
	return false
}

// bracket skips past the end of a bracket expression.
func (r *sedReader) bracket() {
	r.skip("^")
	if r.at < len(r.text) && r.text[r.at] == ']' {
		r.at++
	}
	if end := strings.IndexByte(r.text[min(r.at, len(r.text)):], ']'); end >= 0 {
		r.at += end + 1
	}
}

func (r *sedReader) line() string {
	rest := r.text[min(r.at, len(r.text)):]
	line, _, _ := strings.Cut(rest, "\n")
	r.at += len(line)
	return strings.TrimSpace(line)
}

// read reads all commands. It fails on those that run something, and on what it does
// not understand.
func (r *sedReader) read() bool {
	for {
		r.skip(" \t\n;{}")
		if r.at >= len(r.text) {
			return true
		}
		if !r.address() || !r.command() {
			return false
		}
	}
}

// address skips the addresses of a command.
func (r *sedReader) address() bool {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == '/':
			r.at++
			if !r.until('/') {
				return false
			}
			r.skip("IM")
		case c == '\\':
			r.at++
			if d := r.next(); d == 0 || !r.until(d) {
				return false
			}
			r.skip("IM")
		case strings.IndexByte("0123456789$,+~! \t", c) >= 0:
			r.at++
		default:
			return true
		}
	}
	return true
}

func (r *sedReader) command() bool {
	switch c := r.next(); c {
	case 's':
		return r.substitute()
	case 'y':
		d := r.next()
		return d != 0 && r.until(d) && r.until(d)
	case 'w', 'W':
		r.writes = append(r.writes, r.line())
		return true
	case 'r', 'R':
		r.reads = append(r.reads, r.line())
		return true
	case ':', 'b', 't', 'T': // a label, which ends before the next command
		r.skip(" \t")
		for r.at < len(r.text) && strings.IndexByte("; \t}\n", r.text[r.at]) < 0 {
			r.at++
		}
		return true
	case 'a', 'i', 'c', '#':
		line := r.line()
		for strings.HasSuffix(line, `\`) && r.at < len(r.text) { // text goes on
			r.at++
			line = r.line()
		}
		return true
	case 0, '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'l', 'n', 'N', 'p', 'P', 'q', 'Q', 'x', 'z', 'F':
		r.skip("0123456789 ")
		return true
	default: // e, or not a command
		return false
	}
}

func (r *sedReader) substitute() bool {
	d := r.next()
	if d == 0 || d == '\n' || d == '\\' || !r.until(d) || !r.until(d) {
		return false
	}
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case strings.IndexByte("gpiImM0123456789", c) >= 0:
			r.at++
		case c == 'w':
			r.at++
			r.writes = append(r.writes, r.line())
			return true
		case c == 'e':
			return false
		default:
			return true
		}
	}
	return true
}
