package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect reads >file, <file, <<here and their like.
func (s *scan) redirect(r *syntax.Redirect) {
	s.inside(r.Word)
	if r.Hdoc != nil {
		s.inside(r.Hdoc)
	}
	target := s.expandWord(r.Word)
	switch r.Op {
	case syntax.RdrIn:
		s.input = input{
			given: true, file: target.plain() && !target.process && !strings.HasPrefix(target.text(), "/dev/"),
		}
		s.read(target)
	case syntax.DplIn, syntax.DplOut:
		if isDescriptor(target.text()) && target.exact {
			return
		}
		if r.Op == syntax.DplIn {
			s.input = input{given: true}
			s.read(target)
			return
		}
		s.write(target)
	case syntax.WordHdoc:
		s.mention(target)
		s.input = input{given: true, known: target.exact && len(target.alternatives) == 1, text: target.text()}
	case syntax.Hdoc, syntax.DashHdoc:
		s.input = s.document(r)
	case syntax.RdrInOut:
		s.input = input{given: true}
		s.write(target)
	default:
		s.write(target)
	}
}

// document is the body of a here-document. Its text is taken as it is where the
// end mark is quoted.
func (s *scan) document(r *syntax.Redirect) input {
	if r.Hdoc == nil {
		return input{given: true, known: true}
	}
	raw := false
	for _, part := range r.Word.Parts {
		lit, ok := part.(*syntax.Lit)
		raw = raw || !ok || strings.Contains(lit.Value, `\`)
	}
	body := arg{alternatives: []string{""}, exact: true}
	for _, part := range r.Hdoc.Parts {
		if lit, ok := part.(*syntax.Lit); ok && raw {
			body = body.followed(literal(lit.Value))
			continue
		}
		body = s.part(body, part, true)
	}
	return input{given: true, known: body.exact && len(body.alternatives) == 1, text: body.text()}
}

// isDescriptor reports what >& and <& copy or close: 2, - or 3-.
func isDescriptor(text string) bool {
	digits := strings.TrimSuffix(text, "-")
	return text != "" && strings.Trim(digits, "0123456789") == ""
}

// devices that take output and keep nothing.
var devices = map[string]bool{
	"/dev/null": true, "/dev/stdout": true, "/dev/stderr": true, "/dev/tty": true, "/dev/full": true,
	"/dev/fd/1": true, "/dev/fd/2": true,
}

// read takes note of a file that is read.
func (s *scan) read(a arg) {
	if !a.process {
		s.mention(a)
	}
}

// mentionInput takes note of the words a program reads from the command itself
// and takes for names.
func (s *scan) mentionInput() {
	if s.input.known {
		for field := range strings.FieldsSeq(s.input.text) {
			s.mention(literal(field))
		}
	}
}

// mention takes note of the texts of an argument.
func (s *scan) mention(a arg) {
	for _, text := range a.alternatives {
		if text == "" {
			continue
		}
		s.words[text] = true
		// A path by another spelling is the same path.
		if strings.Contains(text, "//") || strings.Contains(text, "/.") {
			if cleaned := clean(text); !strings.Contains(text, "://") {
				s.words[cleaned] = true
			}
		}
	}
}

// write takes note of a path that gets other contents, or is removed.
func (s *scan) write(a arg) {
	for _, target := range a.alternatives {
		for _, dir := range s.place.dirs {
			s.made[join(dir, target)] = true
		}
	}
	s.change(a)
}

// change takes note of a path of which anything changes.
func (s *scan) change(a arg) {
	if a.process {
		return
	}
	if !a.exact {
		s.dynamic = true
	}
	for _, target := range a.alternatives {
		if target == "" || a.exact && !a.glob && devices[target] {
			continue
		}
		if strings.HasPrefix(target, "~+") || strings.HasPrefix(target, "~-") || a.glob && !tame(target) {
			s.dynamic = true
		}
		if !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "~") {
			s.relative++
			s.dynamic = s.dynamic || s.place.lost
		}
		for _, dir := range s.place.dirs {
			s.writes[join(dir, target)] = true
		}
	}
}

// tame reports a pattern that cannot reach far: it begins below the present
// directory and touches nothing hidden, which a star does not match.
func tame(pattern string) bool {
	if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~") {
		return false
	}
	for component := range strings.SplitSeq(path.Clean(pattern), "/") {
		if strings.HasPrefix(component, ".") || strings.HasPrefix(component, "[") {
			return false
		}
	}
	return true
}

// operands are the arguments that are no options. Letters and names that take
// a value of their own are left out with it.
func operands(args []arg, short string, long ...string) []arg {
	var found []arg
	for i := 1; i < len(args); i++ {
		text := args[i].text()
		switch {
		case text == "--" && args[i].plain():
			return append(found, args[i+1:]...)
		case strings.HasPrefix(text, "--"):
			if takesValue(text, long) {
				i++
			}
		case strings.HasPrefix(text, "-") && len(text) > 1:
			if at := strings.IndexAny(text[1:], short); short != "" && at == len(text)-2 {
				i++
			}
		default:
			found = append(found, args[i])
		}
	}
	return found
}

// takesValue reports a long option, perhaps shortened, whose value follows.
func takesValue(option string, long []string) bool {
	for _, name := range long {
		if abbreviates(option, name) && !strings.Contains(option, "=") {
			return true
		}
	}
	return false
}

// abbreviates reports whether an argument is a long option or a shortened form
// of it, as getopt accepts them.
func abbreviates(argument, option string) bool {
	name, _, _ := strings.Cut(argument, "=")
	return len(name) > 2 && strings.HasPrefix(option, name)
}

// value finds the values of an option: -o value, -ovalue, --long=value,
// --long value.
func values(args []arg, letter byte, long string) []arg {
	var found []arg
	for i := 1; i < len(args); i++ {
		text := args[i].text()
		switch {
		case strings.HasPrefix(text, "--"):
			if long == "" || !abbreviates(text, long) {
				continue
			}
			if name, _, joined := strings.Cut(text, "="); joined {
				found = append(found, args[i].without(len(name)+1))
			} else if i+1 < len(args) {
				found = append(found, args[i+1])
			}
		case strings.HasPrefix(text, "-") && letter != 0:
			at := strings.IndexByte(text, letter)
			switch {
			case at < 1:
			case at < len(text)-1:
				found = append(found, args[i].without(at+1))
			case !args[i].exact: // -o"$x"
				found = append(found, unknown)
			case i+1 < len(args):
				found = append(found, args[i+1])
			}
		}
	}
	return found
}

// without is the arg without its first bytes.
func (a arg) without(n int) arg {
	rest := make([]string, len(a.alternatives))
	for i, text := range a.alternatives {
		rest[i] = text[min(n, len(text)):]
	}
	a.alternatives = rest
	return a
}
