package shell

import (
	"regexp"
	"strings"
)

// reader reads the arguments of a program that a list of options does not describe.
type reader func(s *scan, p *program, args []arg)

// readers have the names that the descriptions use.
var readers map[string]reader

// It is filled in init, because readers read programs that have readers.
func init() {
	readers = map[string]reader{
		"cd": changeDir, "test": testFile, "shell": shellCall, "othershell": otherShell, "find": find, "xargs": xargs,
		"database": database, "containers": containers, "gitconfig": gitConfig, "edit": edit,
		"eval": func(s *scan, _ *program, args []arg) { s.evaluate(args[1:]) },
		"echo": func(*scan, *program, []arg) {}, // none of its arguments is an option that does more
	}
}

// changeDir reads cd, pushd and popd.
func changeDir(s *scan, p *program, args []arg) {
	s.dynamic = s.dynamic || s.deferred // a function may write there
	targets := operands(args)
	s.opaque = s.opaque || len(targets) < len(args)-1 || len(targets) > 1 // options, or the previous directory
	if len(targets) == 0 {
		targets = s.args.list(s.lit("~"))
	}
	s.dir.lost = s.dir.lost || len(targets) > 1 || p.name == "pushd"
	for _, a := range targets[:1] {
		s.opaque = s.opaque || a.text() == "-"
		s.readFile(a)
		s.dir = s.dir.cd(a)
	}
}

// testFile reads test and [. Their other operators evaluate text, and are not described.
func testFile(s *scan, p *program, args []arg) {
	words := args[1:]
	for _, a := range words {
		s.use(p, "subscript", a)
	}
	if args[0].text() == "[" && len(words) > 0 {
		words = words[:len(words)-1]
	}
	if len(words) > 0 && words[0].text() == "!" {
		words = words[1:]
	}
	switch {
	case len(words) <= 1:
	case len(words) == 2 && testsFile[words[0].text()]:
		s.readFile(words[1])
	case len(words) == 2 && (words[0].text() == "-n" || words[0].text() == "-z"):
	case len(words) == 3 && comparisons[words[1].text()]:
	default:
		s.unknown.add(p.name + " with these operators")
	}
}

var (
	testsFile   = names("-e -f -d -r -w -x -s -L -h -b -c -p -S")
	comparisons = names("= == != -eq -ne -lt -le -gt -ge")
)

// shellTakesText are the options before text with which a shell is plain.
var shellTakesText = names("-c -ec -uc -euc")

// shellCall reads a shell: the text after -c, a script, or its input. Only sh -c 'text'
// is plain.
func shellCall(s *scan, p *program, args []arg) {
	given, rest := s.input, args[1:]
	takesText, unclear := false, false
	for ; len(rest) > 0 && len(rest[0].text()) > 1 && strings.ContainsAny(rest[0].text()[:1], "-+"); rest = rest[1:] {
		option := rest[0].text()
		takesText = takesText || !strings.HasPrefix(option, "--") && strings.Contains(option, "c")
		// Others read files of the person, or say where the text is.
		unclear = unclear || !rest[0].exact || strings.Trim(option, "-+euxcn") != ""
	}
	if len(args) != 3 || len(rest) != 1 || !shellTakesText[args[1].text()] {
		s.scripts.add(p.name)
	}
	if len(rest) > 0 && rest[0].text() == "-" {
		rest = rest[1:]
	}
	switch {
	case unclear:
		s.dynamic = s.dynamic || args[1].text() != "--version"
		for _, a := range rest {
			s.inner([]arg{a})
		}
	case takesText && len(rest) > 0:
		s.inner(rest[:1])
		return
	case len(rest) > 0:
		s.script(rest[0])
		return
	}
	s.dynamic = s.dynamic || !given.known
	s.subshell(func() { s.text(given.text) })
}

// otherShell reads shells with another language, whose text we do not read.
func otherShell(s *scan, _ *program, args []arg) {
	if len(args) > 1 && !strings.HasPrefix(args[1].text(), "-") {
		s.script(args[1])
		return
	}
	s.dynamic = s.dynamic || len(args) != 2 || args[1].text() != "--version"
	for _, a := range args[1:] {
		if strings.ContainsAny(a.text(), " \t\n") {
			s.tolerant(a.text())
		}
	}
}

var (
	sqlReaches = regexp.MustCompile(`(?i)\\[!owg]|\\copy|program|system|load_extension|edit\(|\||(^|[\n;])\s*\.[a-z]`)
	// sqliteAsks are the commands of sqlite that only print.
	sqliteAsks = regexp.MustCompile(`(?im)^\s*\.(tables|schema|headers|mode|indexes|databases|help|quit|exit|dump|width` +
		`|fullschema)\b`)
)

// database reads a client whose statements can reach a shell.
func database(s *scan, _ *program, args []arg) {
	for _, a := range args[1:] {
		s.dynamic = s.dynamic || sqlReaches.MatchString(sqliteAsks.ReplaceAllString(a.text(), ""))
	}
	s.dynamic = s.dynamic || s.input.given && !s.input.file && (!s.input.known || sqlReaches.MatchString(s.input.text))
}

// containers reads the command that is started in a container, like a local one.
func containers(s *scan, p *program, args []arg) {
	if r := s.arguments(p, args); r.sub != nil {
		s.apply(&r)
		return
	}
	s.unknown.add(p.name)
	s.shellsWithin(args)
	for i := 1; i+1 < len(args); i++ {
		if args[i].text() == "--" && args[i].exact { // kubectl exec pod -- command
			s.subshell(func() { s.call(args[i+1:]) })
			return
		}
	}
}

// gitConfig reads git config. Only asking for settings is described; a setting that is
// set has effect from then on.
func gitConfig(s *scan, p *program, args []arg) {
	words, first := operands(args), ""
	if len(args) > 1 {
		first = args[1].text()
	}
	switch {
	case len(args) == 2 && (first == "--list" || first == "-l" || len(words) == 1):
		return
	case len(args) == 3 && (first == "--get" || first == "--get-all" || first == "get"):
		return
	}
	s.unknown.add(p.name + " with these operands")
	if len(words) > 0 && words[0].text() == "set" {
		words = words[1:]
	}
	switch {
	case len(words) >= 2 && words[0].text() != "unset":
		s.gitSetting(s.follow(s.follow(words[0], s.lit("=")), words[1]))
	case first == "-e" || first == "--edit" || len(args) > 2 && !strings.HasPrefix(first, "--"):
		s.dynamic = true
	}
}

// edit reads sed. Where -i takes the next word, the script is the operand behind the one
// that we take for it.
func edit(s *scan, p *program, args []arg) {
	r := s.arguments(p, args)
	s.opaque = s.opaque || r.on&p.modes["inplace"] != 0 && len(r.operands) > 2 &&
		strings.ContainsAny(r.operands[1].text(), "wWrR")
	s.apply(&r)
}

// operands are the arguments that are not options.
func operands(args []arg) (found []arg) {
	for i, a := range args[1:] {
		switch text := a.text(); {
		case text == "--" && a.plain():
			return append(found, args[i+2:]...)
		case len(text) < 2 || text[0] != '-':
			found = append(found, a)
		}
	}
	return found
}
