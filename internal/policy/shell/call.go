package shell

import (
	"path"
	"strings"
)

// printers only print their arguments, which are not names of files unless something
// uses the output.
var printers = names("echo printf print")

func (s *scan) call(args []arg) {
	if s.steps++; s.steps > maxSteps || s.wraps >= maxWraps {
		s.dynamic = true
		return
	}
	s.wraps++
	program := args[0]
	if !program.plain() || program.variable {
		s.dynamic = true
	}
	for _, text := range program.alternatives {
		s.program(text, args)
	}
	s.wraps--
}

// program reads one of the names that the program can have.
func (s *scan) program(text string, args []arg) {
	if fields := fieldsOf(args[0], text); len(fields) > 1 {
		words := s.args.room(len(fields) + len(args))
		for _, field := range fields {
			words = append(words, s.lit(field))
		}
		args, text = append(words, args[1:]...), fields[0]
	}
	if strings.HasPrefix(text, "=") { // zsh: the path of a program
		s.dynamic = true
		text = text[1:]
	}
	name := path.Base(text)
	if text == "" || name == "/" {
		s.dynamic = true
		return
	}
	s.programs.add(name)
	if strings.Contains(text, "/") {
		s.calledByPath(text)
	}
	if !printers[name] || s.captured {
		for _, a := range args[1:] {
			s.mention(a)
		}
	}
	p, whole := programNamed(name)
	if !whole && name == text {
		s.unknown.add(name)
	}
	if p == nil {
		s.mayStart(args[1:])
		s.shellsWithin(args)
		return
	}
	if lower := strings.ToLower(name); lower != name { // some file systems ignore case
		s.programs.add(lower)
	}
	s.describe(p, args)
}

// fieldsOf are the words that a program's name splits into, if it is an unquoted variable.
func fieldsOf(name arg, text string) []string {
	if !name.splits {
		return nil
	}
	return strings.Fields(text)
}

// calledByPath records a program that is not looked up in PATH. A relative path leads to
// a file of the workspace.
func (s *scan) calledByPath(text string) {
	s.words.add(text)
	s.paths.add(text)
	s.run(text)
	switch dir := text[:strings.LastIndexByte(text, '/')]; {
	case dir == "/bin" || dir == "/usr/bin":
	case text[0] == '/' || text[0] == '~':
		s.unknown.add(text)
	default:
		s.scripts.add(text)
	}
}

// programNamed finds the description of a program, and reports whether it has exactly
// this name: python3.12 and Python.exe are read as python.
func programNamed(name string) (p *program, whole bool) {
	all := described()
	if p = all[name]; p != nil {
		return p, true
	}
	lower := strings.TrimSuffix(strings.ToLower(name), ".exe")
	if p = all[lower]; p != nil {
		return p, false
	}
	return all[strings.TrimRight(lower, "0123456789.-")], false
}

var shells = names(`sh bash dash ash zsh ksh ksh93 mksh pdksh rbash yash posh fish csh tcsh rc es nu elvish xonsh pwsh
	powershell cmd`)

// shellsWithin looks for a shell that an unknown program starts: docker run image sh -c
// '…'.
func (s *scan) shellsWithin(args []arg) {
	for i := 1; i+1 < len(args); i++ {
		if name := path.Base(args[i].text()); !shells[name] || !args[i].plain() {
			continue
		}
		if next := args[i+1].text(); strings.HasPrefix(next, "-") && strings.Contains(next, "c") {
			s.call(args[i:])
			return
		}
	}
}

// inner reads arguments that are joined by spaces and passed to a shell.
func (s *scan) inner(args []arg) { s.subshell(func() { s.evaluate(args) }) }

// evaluate reads arguments that are joined by spaces and run by the current shell, so
// that a cd in them lasts.
func (s *scan) evaluate(args []arg) {
	texts := make([]string, len(args))
	for i, a := range args {
		if !a.exact || len(a.alternatives) != 1 {
			s.dynamic = true
		}
		texts[i] = a.text()
	}
	s.text(strings.Join(texts, " "))
}
