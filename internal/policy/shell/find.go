package shell

import "strings"

// find reads the roots and the tests of find. What it finds stands for the names that
// -exec and -delete get.
func find(s *scan, p *program, args []arg) {
	roots, rest := []arg{}, args[1:]
	for len(rest) > 0 && (rest[0].text() == "-H" || rest[0].text() == "-P") {
		rest = rest[1:]
	}
	for len(rest) > 0 && !beginsTests(rest[0].text()) {
		roots, rest = append(roots, rest[0]), rest[1:]
	}
	for _, root := range roots {
		s.readFile(root)
	}
	if len(roots) == 0 {
		roots = []arg{literal(".")}
	}
	found := below(roots, rest)
	for i := 0; i < len(rest); i++ {
		switch text := rest[i].text(); text {
		case "(", ")", "!", ",":
		case "-delete":
			s.writeAll(found)
		case "-fprintf":
			s.writeAll(rest[min(i+1, len(rest)):min(i+2, len(rest))])
			i += 2
		case "-exec", "-execdir", "-ok", "-okdir":
			i = s.findExec(rest, i, found)
		default:
			i = s.findTest(p, rest, i)
		}
	}
}

func beginsTests(text string) bool {
	return strings.HasPrefix(text, "-") || text == "(" || text == ")" || text == "!" || text == ","
}

// findTest reads one of the described tests, and is the index of its last word.
func (s *scan) findTest(p *program, rest []arg, i int) int {
	o, whole := p.option(rest[i].text())
	if !whole {
		s.undescribed(p, rest[i].text())
		return i
	}
	s.dynamic = s.dynamic || o.on&modeDynamic != 0
	s.opaque = s.opaque || o.on&modeOpaque != 0
	if o.form == noValue {
		return i
	}
	if i++; i < len(rest) {
		s.use(p, o.kind, rest[i])
	}
	return i
}

// findExec reads the command of -exec, and is the index of its end. In its directory
// relative names mean other files.
func (s *scan) findExec(rest []arg, i int, found []arg) int {
	end := i + 1
	for end < len(rest) && rest[end].text() != ";" && (rest[end].text() != "+" || rest[end-1].text() != "{}") {
		end++
	}
	before := s.dir
	s.dir.lost = s.dir.lost || strings.HasSuffix(rest[i].text(), "dir")
	s.opaque = s.opaque || s.dir.lost || end == len(rest)
	s.started(rest[i+1:end], "{}", found)
	s.dir = before
	return end
}

// below is what find can find: everything below its roots, or the names it matches.
func below(roots, tests []arg) []arg {
	name, plain := "", true
	acts := false // what follows an action does not restrict it
	for i, test := range tests {
		text := test.text()
		acts = acts || text == "-delete" || strings.HasPrefix(text, "-exec") || strings.HasPrefix(text, "-ok")
		switch text {
		case "-name":
			if acts {
				continue
			}
			plain = plain && name == "" && i+1 < len(tests) && tests[i+1].exact
			if plain {
				name = tests[i+1].text()
			}
		case "-o", "-or", "!", "-not", "(", ",":
			plain = false
		}
	}
	found := make([]arg, 0, len(roots))
	for _, root := range roots {
		suffix := "/**"
		if plain && name != "" {
			suffix += "/" + name
		}
		found = append(found, root.followed(literal(suffix)))
	}
	return found
}

// started reads a command in which a mark stands for file names.
func (s *scan) started(command []arg, mark string, found []arg) {
	var args []arg
	for i, a := range command {
		switch {
		case a.text() == mark && a.exact && i > 0:
			args = append(args, found...)
		case mark != "" && strings.Contains(a.text(), mark): // a name becomes part of code or a path
			a.exact, s.opaque = false, true
			args = append(args, a)
		default:
			args = append(args, a)
		}
	}
	if len(args) == 0 {
		return
	}
	s.subshell(func() { s.call(args) })
}

func (s *scan) writeAll(targets []arg) {
	for _, target := range targets {
		s.write(target)
	}
}

// fd reads -x and -X: the rest is a command.
func fd(s *scan, _ *program, args []arg) {
	for i, a := range args {
		text := a.text()
		if text == "-x" || text == "-X" || text == "--exec" || text == "--exec-batch" {
			s.started(append(append([]arg{}, args[i+1:]...), unknown), "{}", []arg{unknown})
			return
		}
		if strings.HasPrefix(text, "--exec") || i > 0 && strings.HasPrefix(text, "-x") {
			s.dynamic = true
		}
	}
}

// xargs reads the command that gets the input as arguments, which are never known.
func xargs(s *scan, p *program, args []arg) {
	s.opaque = true
	s.mentionInput()
	r := s.arguments(p, args)
	if len(r.operands) == 0 { // echo
		return
	}
	mark := ""
	for _, v := range r.values {
		if v.option.kind == kindMark {
			mark = v.text()
		}
	}
	if mark == "" && r.on >= firstOwnMode {
		mark = "{}"
	}
	command := append([]arg{}, r.operands...)
	if mark == "" {
		command = append(command, unknown)
	}
	s.started(command, mark, []arg{unknown})
}

// parallel reads a command, or commands from the input or after :::.
func parallel(s *scan, p *program, args []arg) {
	command, texts := s.arguments(p, args).operands, []arg(nil)
	for i, a := range command {
		if strings.HasPrefix(a.text(), ":::") {
			command, texts = command[:i], command[i+1:]
			break
		}
	}
	if len(command) == 0 {
		s.dynamic = true
		for _, a := range texts {
			s.inner([]arg{a})
		}
		return
	}
	s.inner(command)
	s.started(append(append([]arg{}, command...), unknown), "{}", []arg{unknown})
}
