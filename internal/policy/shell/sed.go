package shell

import "strings"

// sed reads sed scripts, which can run commands (e) and write files (w), and the files
// that are edited in place.
func sed(s *scan, args []arg) {
	files := operands(args, "efl", "--expression", "--file", "--line-length")
	scripts, scriptFiles := values(args, 'e', "--expression"), values(args, 'f', "--file")
	for _, file := range scriptFiles {
		s.script(file)
	}
	if len(scripts) == 0 && len(scriptFiles) == 0 {
		if len(files) == 0 {
			return
		}
		scripts, files = files[:1], files[1:]
	}
	for _, script := range scripts {
		s.sedScript(script)
	}
	for _, a := range args[1:] {
		text := a.text()
		if strings.HasPrefix(text, "--in") ||
			strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.Contains(text, "i") {
			s.writeAll(files)
			return
		}
	}
}

// sedScript reads a script for commands that run or write something. Unknown parts of a
// script are left out: they can be text of a pattern, but not a command unless they are
// where one begins.
func (s *scan) sedScript(script arg) {
	for _, text := range script.alternatives {
		r := &sedReader{text: text}
		if !r.read() {
			s.dynamic = true
		}
		for _, file := range r.writes {
			s.write(literal(file))
		}
		for _, file := range r.reads {
			s.words[file] = true
		}
	}
	if !script.exact && !strings.HasPrefix(script.text(), "s") && !strings.HasPrefix(script.text(), "/") &&
		!strings.HasSuffix(script.text(), "p") && !strings.HasSuffix(script.text(), "d") {
		s.dynamic = true
	}
}

type sedReader struct {
	text          string
	at            int
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
		case '\\':
			r.at++
		case delimiter:
			return true
		}
	}
	return false
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
	case 'a', 'i', 'c', ':', 'b', 't', 'T', '#':
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
