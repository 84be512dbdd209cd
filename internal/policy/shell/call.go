package shell

import (
	"path"
	"strings"
)

// handler reads the arguments of one program, of which the first is the program
// itself, for what it starts and writes.
type handler func(s *scan, args []arg)

// handlers are the programs that we know. It is filled in init, because handlers call
// each other through it.
var handlers map[string]handler

func init() {
	handlers = map[string]handler{}
	for name := range shells {
		handlers[name] = shellCall
	}
	for name := range otherShells {
		handlers[name] = otherShell
	}
	for name, w := range wrappers {
		handlers[name] = w.read
	}
	for name, in := range interpreters {
		handlers[name] = in.read
	}
	for _, table := range []map[string]handler{builtinHandlers, launcherHandlers, writerHandlers} {
		for programs, h := range table {
			for name := range strings.FieldsSeq(programs) {
				handlers[name] = h
			}
		}
	}
}

// printers only print their arguments, which are not names of files unless something
// uses the output.
var printers = names("echo printf print")

func (s *scan) call(args []arg) {
	if s.steps++; s.steps > maxSteps || s.wraps >= maxWraps {
		s.dynamic = true
		return
	}
	s.wraps++
	defer func() { s.wraps-- }()
	program := args[0]
	if !program.plain() || program.variable {
		s.dynamic = true
	}
	for _, text := range program.alternatives {
		s.program(text, args)
	}
}

// program reads one of the names that the program can have.
func (s *scan) program(text string, args []arg) {
	if fields := strings.Fields(text); args[0].splits && len(fields) > 1 {
		args = append([]arg{literal(fields[0])}, append(literals(fields[1:]), args[1:]...)...)
		text = fields[0]
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
	s.programs[name] = true
	if strings.Contains(text, "/") {
		s.words[text], s.paths[text] = true, true
		s.run(text)
	}
	if !printers[name] || s.captured {
		for _, a := range args[1:] {
			s.mention(a)
		}
	}
	key := handlerName(name)
	h, known := handlers[key]
	if !known {
		s.shellsWithin(args)
		return
	}
	if lower := strings.ToLower(name); lower != name { // some file systems ignore case
		s.programs[lower] = true
	}
	h(s, args)
}

// handlerName is the name of a program's handler: python for python3.12 and
// Python.exe.
func handlerName(name string) string {
	lower := strings.TrimSuffix(strings.ToLower(name), ".exe")
	if _, known := handlers[lower]; known {
		return lower
	}
	return strings.TrimRight(lower, "0123456789.-")
}

// shellsWithin looks for a shell that an unknown program starts: docker run image sh -c
// '…'.
func (s *scan) shellsWithin(args []arg) {
	for i := 1; i+1 < len(args); i++ {
		if name := path.Base(args[i].text()); !shells[name] && !otherShells[name] || !args[i].plain() {
			continue
		}
		if next := args[i+1].text(); strings.HasPrefix(next, "-") && strings.Contains(next, "c") {
			s.call(args[i:])
			return
		}
	}
}

func literals(texts []string) []arg {
	args := make([]arg, len(texts))
	for i, text := range texts {
		args[i] = literal(text)
	}
	return args
}

// inner reads arguments that are joined by spaces and passed to a shell.
func (s *scan) inner(args []arg) { s.subshell(func() { s.evaluate(args) }) }
