package shell

import "strings"

// builtins are names that a function must not have, because it would change what the
// rest of the command means.
var builtins = names(`. : [ alias bg bind break builtin caller cd command compgen complete continue declare dirs disown
	echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf
	pushd pwd read readarray readonly return set shift shopt source suspend test time times trap true type typeset ulimit
	umask unalias unset wait ls cat cp mv rm grep sed awk find git sudo curl wget mkdir touch chmod head tail sort`)

func names(text string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(text) {
		set[name] = true
	}
	return set
}

// readers are the programs that a list of options does not describe, by the names that
// the descriptions use.
var readers map[string]reader

// It is filled in init, because readers read programs that have readers.
func init() {
	readers = map[string]reader{
		"cd": changeDir, "lost": loseDir, "eval": evaluate, "source": source, "define": defining, "trap": trap,
		"set": setOption, "subscript": subscripts, "input": readInput, "printf": printTo, "export": exported,
		"test": testFile, "shell": shellCall, "othershell": otherShell, "find": find, "fd": fd, "xargs": xargs,
		"parallel": parallel, "dd": dd, "database": database, "containers": containers,
		"chmod": chmod, "gitconfig": gitConfig, "echo": echo,
		"edit": edit, "date": date, "ps": ps,
		"link": link, "whole": searchHere, "here": changeHere, "unzip": unzip,
	}
}

func changeDir(s *scan, _ *program, args []arg) {
	if s.deferred { // a function may write there
		s.dynamic = true
	}
	targets := operands(args)
	if len(args) > 1 && len(targets) < len(args)-1 || len(targets) > 1 { // cd -, or with options
		s.opaque = true
	}
	for _, a := range args[1:] {
		if a.text() == "-" { // the previous directory, which we do not track
			s.dir.lost, s.opaque = true, true
			return
		}
	}
	switch len(targets) {
	case 0:
		s.readFile(literal("~"))
		s.dir = s.dir.cd(literal("~"))
	case 1:
		s.readFile(targets[0])
		s.dir = s.dir.cd(targets[0])
	default:
		s.dir.lost = true
	}
}

func loseDir(s *scan, _ *program, _ []arg) { s.dir.lost = true }

func evaluate(s *scan, _ *program, args []arg) { s.evaluate(args[1:]) }

// readInput reads the builtin read.
func readInput(s *scan, p *program, args []arg) {
	subscripts(s, p, args)
	s.mentionInput()
	s.opaque = true
}

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

// source runs a file in the current shell. The file can redefine everything, and is
// unknown except for the script that activates a Python environment.
func source(s *scan, _ *program, args []arg) {
	if len(args) != 2 || !args[1].plain() {
		s.dynamic = true
		return
	}
	file := args[1].text()
	s.run(file)
	if !strings.HasSuffix(file, "/bin/activate") || strings.HasPrefix(file, "/") || strings.HasPrefix(file, "~") ||
		strings.Contains(file, "..") {
		s.dynamic = true
	}
}

// defining reads a builtin that lists or makes definitions.
func defining(s *scan, _ *program, args []arg) {
	for _, a := range args[1:] {
		if text := a.text(); !a.exact ||
			text != "-p" && text != "-r" && text != "-l" && strings.Trim(text, "0123456789") != "" {
			s.dynamic = true
		}
	}
}

// trap reads code that runs later.
func trap(s *scan, _ *program, args []arg) {
	code := operands(args)
	if len(code) < 2 || code[0].plain() && (code[0].text() == "-" || code[0].text() == "") {
		return
	}
	s.dynamic = true
	s.inner(code[:1])
}

// setOption reads options that change how the shell reads what follows. Those for
// errors are plain.
func setOption(s *scan, p *program, args []arg) {
	s.opaque = s.opaque || len(args) == 1 // prints all variables
	for _, a := range args[1:] {
		text := a.text()
		letters, isOption := strings.CutPrefix(text, "-")
		switch {
		case p.name == "set" && (isOption && strings.Trim(letters, "eux") == "" || isOption && letters == "euo"):
		case p.name == "set" && (text == "-o" || text == "pipefail" || text == "errexit" || text == "nounset"):
		case !a.exact, text == "dotglob", text == "extglob", text == "expand_aliases", text == "lastpipe",
			text == "keyword", text == "cdable_vars", isOption && strings.Contains(letters, "k"):
			s.dynamic = true
		default:
			s.unknown.add(p.name + " " + text)
		}
	}
}

// echo prints its arguments: none of them is an option that does more.
func echo(*scan, *program, []arg) {}

// printTo reads printf. With -v it sets a variable.
func printTo(s *scan, p *program, args []arg) {
	for _, a := range args[1:] { // zsh computes what is printed as a number
		s.opaque = s.opaque || substitutes(a.text())
	}
	for _, a := range args[1:min(3, len(args))] {
		if storesLength(a.text()) {
			s.unknown.add("printf %n")
		}
	}
	if len(args) < 2 || !strings.HasPrefix(args[1].text(), "-") || args[1].text() == "--" {
		return
	}
	subscripts(s, p, args)
	s.unknown.add("printf " + args[1].text())
	if strings.HasPrefix(args[1].text(), "-v") || !args[1].exact {
		s.sets(args[2:min(3, len(args))])
		s.sets([]arg{args[1].without(2)})
	}
}

// storesLength reports whether a format has %n, which sets a variable.
func storesLength(format string) bool {
	format = strings.ReplaceAll(format, "%%", "")
	for _, rest := range strings.Split(format, "%")[1:] {
		if strings.HasPrefix(strings.TrimLeft(rest, "-+ #0123456789.*hlLjztq'"), "n") {
			return true
		}
	}
	return false
}

// sets reads variables whose values we do not track.
func (s *scan) sets(named []arg) {
	for _, name := range named {
		if !name.plain() || influenceOf(name.text()) != harmless {
			s.dynamic = true
		}
	}
}

// exported reads export and the like where the parser sees a simple command, as after
// command or builtin.
func exported(s *scan, _ *program, args []arg) {
	for _, a := range args[1:] {
		name, value, found := strings.Cut(a.text(), "=")
		if found {
			s.environment(name, arg{alternatives: []string{value}, exact: a.exact})
		}
	}
}
