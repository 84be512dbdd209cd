package shell

import "strings"

// find reads -exec and -delete. The name that it matches stands for what it finds.
func find(s *scan, args []arg) {
	roots, rest := []arg{}, args[1:]
	for len(rest) > 0 && (names("-H -L -P -O0 -O1 -O2 -O3")[rest[0].text()] || rest[0].text() == "-D") {
		if rest[0].text() == "-D" && len(rest) > 1 {
			rest = rest[1:]
		}
		rest = rest[1:]
	}
	for len(rest) > 0 && !strings.HasPrefix(rest[0].text(), "-") && rest[0].text() != "(" && rest[0].text() != "!" {
		roots, rest = append(roots, rest[0]), rest[1:]
	}
	if len(roots) == 0 {
		roots = []arg{literal(".")}
	}
	found := below(roots, rest)
	for i := 0; i < len(rest); i++ {
		switch rest[i].text() {
		case "-delete":
			s.writeAll(found)
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(rest) {
				s.write(rest[i+1])
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(rest) && rest[end].text() != ";" && (rest[end].text() != "+" || rest[end-1].text() != "{}") {
				end++
			}
			before := s.dir
			s.dir.lost = s.dir.lost || strings.HasSuffix(rest[i].text(), "dir")
			s.started(rest[i+1:end], "{}", found)
			s.dir = before
			i = end
		case "-files0-from":
			s.dynamic = true
		}
	}
}

// below is what find can find: everything below its roots, or the names it matches.
func below(roots, tests []arg) []arg {
	name, plain := "", true
	for i, test := range tests {
		switch test.text() {
		case "-name", "-iname":
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
			a.exact = false
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
func fd(s *scan, args []arg) {
	for i, a := range args {
		switch a.text() {
		case "-x", "-X", "--exec", "--exec-batch":
			command := args[i+1:]
			s.started(append(append([]arg{}, command...), unknown), "{}", []arg{unknown})
			return
		}
		if text := a.text(); strings.HasPrefix(text, "--exec") || i > 0 && strings.HasPrefix(text, "-x") {
			s.dynamic = true
		}
	}
}

// xargs reads the command that gets the input as arguments.
func xargs(s *scan, args []arg) {
	w := wrapper{
		short: "0rtxpoeila:d:E:I:J:L:n:P:R:S:s:",
		long:  "null arg-file= delimiter= eof= replace= max-lines= max-args= max-procs= interactive no-run-if-empty max-chars= verbose show-limits exit open-tty process-slot-var=",
	}
	s.mentionInput()
	at, _ := w.skip(s, args)
	if at >= len(args) { // echo
		return
	}
	mark := ""
	for _, value := range append(values(args[:at], 'I', "--replace"), values(args[:at], 'J', "")...) {
		mark = value.text()
	}
	for _, a := range args[1:at] {
		if text := a.text(); text == "-i" || text == "--replace" {
			mark = "{}"
		}
	}
	command := append([]arg{}, args[at:]...)
	if mark == "" {
		command = append(command, unknown)
	}
	s.started(command, mark, []arg{unknown})
}

// parallel reads a command, or commands from the input or after :::.
func parallel(s *scan, args []arg) {
	w := wrapper{
		short: "0kjuvXmn:N:P:L:l:d:C:I:S:a:t",
		long:  "jobs= keep-order dry-run bar progress null max-args= colsep= sshlogin= arg-file= halt= joblog= will-cite tag eta verbose line-buffer ungroup no-notice",
	}
	at, _ := w.skip(s, args)
	end := at
	for end < len(args) && !strings.HasPrefix(args[end].text(), ":::") {
		end++
	}
	if at == end {
		s.dynamic = true
		for _, a := range args[min(end+1, len(args)):] {
			s.inner([]arg{a})
		}
		return
	}
	command := append([]arg{}, args[at:end]...)
	s.inner(command)
	s.started(append(command, unknown), "{}", []arg{unknown})
}
