package shell

import "strings"

// find reads the roots and the tests of find. What it finds stands for the names that
// -exec and -delete get.
func find(s *scan, p *program, args []arg) {
	roots, rest := s.args.room(len(args)), args[1:]
	for len(rest) > 0 && (rest[0].text() == "-H" || rest[0].text() == "-P") {
		rest = rest[1:]
	}
	for len(rest) > 0 && !strings.HasPrefix(rest[0].text(), "-") && !findSigns[rest[0].text()] {
		s.readFile(rest[0])
		roots, rest = append(roots, rest[0]), rest[1:]
	}
	if len(roots) == 0 {
		roots = append(roots, s.lit("."))
	}
	for i := 0; i < len(rest); i++ {
		switch text := rest[i].text(); {
		case findSigns[text]:
		case text == "-delete":
			for _, file := range s.below(roots, rest) {
				s.write(file)
			}
		case strings.HasPrefix(text, "-exec") || strings.HasPrefix(text, "-ok"):
			i = s.findExec(rest, i, s.below(roots, rest))
		default:
			i = s.findTest(p, rest, i)
		}
	}
}

var findSigns = names("( ) ! ,")

// findTest reads one of the described tests, and is the index of its last word.
func (s *scan) findTest(p *program, rest []arg, i int) int {
	o, whole := p.option(rest[i].text())
	if !whole {
		s.undescribed(p, rest[i].text())
		return i
	}
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

// below is what find can find: everything below its roots, or the name it matches. What
// follows an action does not restrict it.
func (s *scan) below(roots, tests []arg) []arg {
	suffix, names := "/**", 0
	for i, test := range tests {
		text := test.text()
		if text == "-delete" || strings.HasPrefix(text, "-exec") || strings.HasPrefix(text, "-ok") {
			break
		}
		if text == "-name" {
			if names++; i+1 < len(tests) && tests[i+1].exact {
				suffix = "/**/" + tests[i+1].text()
			}
		}
	}
	for _, test := range tests {
		if text := test.text(); findSigns[text] || text == "-o" || text == "-or" || text == "-not" {
			names = 2 // not only files with that name
		}
	}
	if names != 1 {
		suffix = "/**"
	}
	found := s.args.room(len(roots))
	for _, root := range roots {
		found = append(found, s.follow(root, s.lit(suffix)))
	}
	return found
}

// started reads a command in which a mark stands for file names.
func (s *scan) started(command []arg, mark string, found []arg) {
	args := s.args.room(len(command) + len(found))
	for i, a := range command {
		switch {
		case a.text() == mark && a.exact && i > 0:
			args = append(args, found...)
		case mark != "" && strings.Contains(a.text(), mark): // the mark is part of code or a path
			a.exact, s.opaque = false, true
			args = append(args, a)
		default:
			args = append(args, a)
		}
	}
	if len(args) > 0 {
		s.subshell(func() { s.call(args) })
	}
}

// xargs reads the command that gets the input as arguments, which are never known.
func xargs(s *scan, p *program, args []arg) {
	r := s.arguments(p, args)
	mark := ""
	if r.on >= firstOwnMode {
		mark = "{}"
	}
	for _, v := range r.values {
		if v.option.kind == "mark" {
			mark = v.text()
		}
	}
	command, names := r.operands, s.args.list(unknown)
	if mark == "" && len(command) > 0 {
		command = append(command, unknown) // the operands are fewer than the arguments
	}
	s.started(command, mark, names)
}
